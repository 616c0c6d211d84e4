"""`Explorer`: every schedule of a system, searched while one watches.

The search runs in Python, a tenth of a second at a time, and between two slices the kernel
does whatever else it is asked: other cells run, and the button that stops it works.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from html import escape
from typing import Any

from mqlab.explore import Budget, Counterexample, Sample, Search, Verdict, take_sample
from mqlab.explore.verdict import say_idle
from mqlab.kernel import Property, System, parse, replay
from mqlab.kernel.text import Lang
from mqlab.kernel.trace import Trace

from .encoding import pack
from .payload import Look, build, refuse
from .player import Player
from .search_words import (
    COMPLETE,
    READY,
    RESULTS,
    RUNNING,
    SHOWN,
    STOPPED,
    VIOLATED,
    VISITED,
    WITHIN,
    WORDS,
    describe_bounds,
    describe_choice,
    name_nodes,
)
from .style import page_css
from .widget import PictureWidget, join_modules

KNOWN = ("budget", "properties", "title", "lang", "scale", "panels", "level")
SLICE_S = 0.1
TELL_S = 0.25  # between two reports to the browser

GOOD, BAD = ("held", "reached"), ("violated", "never")


class Explorer(PictureWidget):
    """A search with its button, its progress, its verdict and the trace that refutes a claim.

    `verdict` is what was found so far, as text too. `start()` and `stop()` do what the
    button does; `run()` searches to the end before it returns.
    """

    _esm = join_modules("search_tree.js", "explorer.js")
    _css = page_css("explorer.css")

    def __init__(
        self,
        system: System,
        budget: Budget = Budget(),
        properties: tuple[Property, ...] | None = None,
        *,
        title: str | None = None,
        lang: Lang | None = None,
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        level: str = "everything",
        **unknown: object,
    ) -> None:
        """Prepare a search of `system` within `budget` for the `properties` (None: all that the
        system has), and show its empty panel. `title` to `level`: how its traces are shown, as for
        a player; TypeError for `unknown` arguments."""
        refuse("Explorer", unknown, KNOWN)
        self._look = Look.of(title, lang, scale, panels, level)
        lang = self._look.lang
        self._asked_for = (system, budget, properties)
        self._phase = "ready"  # then "running", "done"
        self._error = ""
        self._shown = ""  # the claim whose counterexample is played
        self._visited: int | None = None  # the state, by its number, whose trace is played
        self._told = 0.0  # when the browser last got the search's progress
        self._task: asyncio.Task[None] | None = None
        self._search: Search | None = Search(*self._asked_for)  # None once it has ended
        self._names = name_nodes(system, lang)
        self._told_choices = {"": ""}  # each choice in words; the same few lead to many states
        self._bounds = describe_bounds(system, budget, self._names, lang)
        super().__init__()
        self._keep(self._search)
        self._show()
        self.on_msg(self._asked)

    # -- searching -----------------------------------------------------------------------

    @property
    def verdict(self) -> Verdict:
        """What was found so far; it says whether that was all."""
        return self._verdict if self._search is None else self._search.verdict()

    def start(self) -> None:
        """Search from the beginning, beside whatever else the notebook does. Where nothing
        could run beside it (a plain Python program), this is `run()`."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.run()
            return
        self._task = loop.create_task(self._beside(self._begin()))

    def run(self) -> Verdict:
        """Search to the end; an interrupt ends it early and keeps what was found."""
        search = self._begin()
        while self._slice(search):
            pass
        return self.verdict

    def stop(self) -> None:
        """End the search; what was found stays."""
        if self._search is not None and self._phase == "running":
            self._search.stop()
            self._end(self._search)

    def _begin(self) -> Search:
        self.stop()
        self._phase, self._error = "running", ""
        self._search = search = Search(*self._asked_for)
        self._keep(search)
        self._play("", None)
        return search

    async def _beside(self, search: Search) -> None:
        while self._slice(search):
            await asyncio.sleep(0)

    def _slice(self, search: Search) -> bool:
        """Search for SLICE_S seconds, report to the browser at times, and return whether there is
        more to search: not after an interrupt. An error in a claim ends the search and is shown in
        the widget, because no cell may be running that could fail."""
        if self._search is not search:
            return False  # stopped, or begun again
        try:
            more = search.advance(SLICE_S)
        except KeyboardInterrupt:
            more = False
        except Exception as error:
            self._error, more = f"{type(error).__name__}: {error}", False
        if not more:
            search.stop()
            self._end(search)
        elif time.monotonic() - self._told > TELL_S:
            self._keep(search)
            self._show()
        return more

    def _end(self, search: Search) -> None:
        self._keep(search)
        self._phase, self._search = "done", None  # a million states are given back
        if self.payload or not self._shortest():
            self._show()  # the learner already plays a trace, or there is none
        else:
            self._play(self._shortest(), None)

    def _shortest(self) -> str:
        """The claim that is refuted in the fewest choices so far."""
        broken = self._verdict.counterexamples
        return min(broken, key=lambda name: len(broken[name].schedule), default="")

    def _keep(self, search: Search) -> None:
        """What is shown of a search, so that the search itself need not be kept."""
        self._sample: Sample = take_sample(search)
        self._told = time.monotonic()
        self._verdict = verdict = search.verdict()
        self._results = [
            _judge(prop, verdict, search.choices(i)) for i, prop in enumerate(search.properties)
        ]
        self._properties = search.properties

    # -- showing -------------------------------------------------------------------------

    def counterexample(self, name: str = "") -> Counterexample | None:
        """The trace that is shown, or that of the claim with this name; None where there is
        none."""
        return self._verdict.counterexamples.get(name or self._shown)

    def player(self, name: str = "") -> Player | None:
        """The same as a player that needs no kernel."""
        counterexample = self.counterexample(name)
        if counterexample is None:
            return None
        trace = counterexample.trace()
        return Player.of(trace, self._look, first_red(trace))

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        verdict, lang = self._verdict, self._look.lang
        broken = len(verdict.counterexamples) + len(verdict.missing)
        states = f"{verdict.states:,}"
        if self._error:
            return self._error
        if self._phase != "done":
            return (READY if self._phase == "ready" else RUNNING).of(lang)
        if broken:
            words = VIOLATED[broken == 1]
            return words(broken=broken, all=len(self._results), n=states).of(lang)
        said = (COMPLETE if verdict.complete else STOPPED)(n=states).of(lang)
        idle = say_idle(verdict.system).of(lang)
        return f"{said} {idle}" if idle else said

    def rows(self) -> list[dict[str, Any]]:
        """The table of claims: name, sentence, kind, result in words, "good" | "bad" | ""."""
        lang, out = self._look.lang, []
        for prop, (result, n) in zip(self._properties, self._results, strict=True):
            mood = "good" if result in GOOD else "bad" if result in BAD else ""
            row = {"name": prop.name, "sentence": prop.sentence.of(lang), "mood": mood}
            row |= {"kind": WORDS[prop.kind].of(lang), "result": RESULTS[result](n=n).of(lang)}
            out.append(row | {"shows": prop.name in self._verdict.counterexamples})
        return out

    def still_html(self) -> str:
        cells = ("name", "sentence", "kind", "result")
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(row[cell])}</td>" for cell in cells) + "</tr>"
            for row in self.rows()
        )
        return (
            f"<p><b>{escape(self.sentence)}</b> {escape(self._within())}</p><table>{rows}</table>"
        )

    def narration(self) -> str:
        rows = self.rows()
        wide = max((len(row["name"]) for row in rows), default=0)
        lines = [self._heading(), self._within(), self.sentence]
        return "\n".join([*lines, *(f"  {r['name']:<{wide}}  {r['result']}" for r in rows)])

    def _heading(self) -> str:
        return self._look.title or WORDS["title"].of(self._look.lang)

    def _within(self) -> str:
        return WITHIN(bounds=self._bounds).of(self._look.lang)

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        match message:
            case {"type": "start"}:
                self.start()
            case {"type": "stop"}:
                self.stop()
            case {"type": "show", "name": str(name)} if self._verdict.counterexamples.get(name):
                self._play(name, None)
            case {"type": "visit", "number": int(number)} if number in self._sample.worlds:
                here = (name for name, at in self._sample.found.items() if at == number)
                refuted = [name for name in here if name in self._verdict.counterexamples]
                self._play(refuted[0] if refuted else "", None if refuted else number)

    def _play(self, name: str, number: int | None) -> None:
        """Give the browser another trace: of a refuted claim, to a state, or none."""
        self._shown, self._visited = name, number
        trace: Trace | None = None
        if name:
            trace = self._verdict.counterexamples[name].trace()
        elif number is not None:
            trace = replay(self._asked_for[0], self._sample.schedule(number))
        with self.hold_sync():
            if trace is None:
                self.payload = b""
            else:
                at = first_red(trace) if name else len(trace)
                self.payload = pack(build(trace, at, self._look))
            self._show()

    def _show(self) -> None:
        """Send the browser, by assigning `ui`, the search as it is now: progress, the tree of
        states, the table of claims, the verdict, and in words which run is played."""
        lang, verdict = self._look.lang, self._verdict
        self.ui = {
            "kind": "explorer",
            "still": self._name,  # of the still in the output, whose place the picture takes
            "lang": lang,
            "scale": self._look.scale,
            "title": self._heading(),
            "system": verdict.system.label().of(lang),
            "within": self._within(),
            "phase": self._phase,
            "states": verdict.states,
            "depth": max(len(self._sample.sizes) - 1, 0),
            "rate": round(verdict.states / verdict.seconds) if verdict.seconds else 0,
            "tree": self._tree(),
            "sentence": self.sentence,
            "mood": self._mood(),
            "rows": self.rows(),
            "shown": self._shown,
            "run": self._run_in_words(),
            "words": {name: text.of(lang) for name, text in WORDS.items()},
        }

    def _run_in_words(self) -> str:
        lang = self._look.lang
        if self._visited is not None:
            return VISITED().of(lang)
        return SHOWN(name=self._shown).of(lang) if self._shown else ""

    def _tree(self) -> dict[str, Any]:
        """The sampled states as a tree, for the browser: of each its number, its parent's, its
        depth, its rank among those of its depth, and the choice that leads to it, in words; the
        states that claims are about; the state that is played."""
        sample, lang = self._sample, self._look.lang

        def describe(choice: str) -> str:
            if choice not in self._told_choices:
                self._told_choices[choice] = describe_choice(parse(choice), self._names, lang)
            return self._told_choices[choice]

        broken = self._verdict.counterexamples
        played = self._visited
        if played is None:  # then a counterexample is played, or nothing
            played = sample.found.get(self._shown or self._shortest())
        return {
            "sizes": list(sample.sizes),
            "states": [
                [state.number, state.parent, state.depth, state.rank, describe(state.choice)]
                for state in sample.worlds.values()
            ],
            # Of each claim: its name, the number of the state, whether the claim is refuted there.
            "found": [[name, state, name in broken] for name, state in sample.found.items()],
            "at": played,
        }

    def _mood(self) -> str:
        if self._error or (self._phase == "done" and not self._verdict.ok):
            return "bad"
        return "good" if self._phase == "done" and self._verdict.complete else ""


def first_red(trace: Trace) -> int:
    """The position at which the first light turns red, the last one where it does not."""
    red = (i for i, s in enumerate(trace.snapshots) if s.lights and not s.lights[0].ok)
    return next(red, len(trace))


def _judge(prop: Property, verdict: Verdict, choices: int | None) -> tuple[str, int]:
    """What became of a claim, and in how many choices."""
    example = verdict.counterexamples.get(prop.name)
    if example is not None:
        return "violated", len(example.schedule)
    if prop.kind == "sometimes":
        if choices is not None:
            return "reached", choices
        return ("never" if verdict.complete else "unreached"), 0
    if verdict.complete:
        return "held", 0
    return ("open" if prop.kind == "always" else "later"), 0
