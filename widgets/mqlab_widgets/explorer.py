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

from mqlab.explore import Budget, Counterexample, Search, Verdict
from mqlab.kernel import Property, System
from mqlab.kernel.text import Lang, Text, Words

from .lives import deflate
from .payload import Look, build, refuse
from .player import Player
from .style import page_css
from .widget import PictureWidget, join_modules

KNOWN = ("budget", "properties", "title", "lang", "scale", "panels")
SLICE_S = 0.1
TELL_S = 0.25  # between two reports to the browser

WORDS = {
    "title": Text("Every schedule", "所有可能的执行"),
    "start": Text("Search", "开始搜索"),
    "again": Text("Search again", "重新搜索"),
    "stop": Text("Stop", "停止"),
    "states": Text("states", "个状态"),
    "depth": Text("choices deep", "步深"),
    "rate": Text("states/s", "个状态/秒"),
    "levels": Text("states at each depth", "每一深度的状态数"),
    "claim": Text("claim", "命题"),
    "kind": Text("must hold", "要求"),
    "result": Text("result", "结果"),
    "always": Text("always", "始终"),
    "sometimes": Text("sometimes", "有时"),
    "can_always": Text("can always", "始终可达"),
    "show": Text("show the run", "显示这次运行"),
    "shown": Text("The shortest run that breaks “{name}”:", "推翻“{name}”的最短运行："),
}
READY = Text("Nothing has been searched yet.", "尚未搜索。")
RUNNING = Text("Searching …", "正在搜索 …")
COMPLETE = Words(
    "Complete: nothing is violated in any of {n} states.", "已搜完：{n} 个状态中没有发现违反。"
)
VIOLATED = Words(
    "{broken} of {all} claims are violated; {n} states were searched.",
    "{all} 个命题中有 {broken} 个被违反；搜索了 {n} 个状态。",
)
STOPPED = Words(
    "Not exhaustive: no violation in the {n} states that were searched.",
    "未搜完：已搜索的 {n} 个状态中没有违反。",
)
WITHIN = Words("within: {budget}", "范围：{budget}")
RESULTS = {
    "open": Words("not violated so far", "目前未被违反"),
    "held": Words("held", "成立"),
    "violated": Words("violated in {n} choices", "{n} 步内被违反"),
    "reached": Words("reached in {n} choices", "{n} 步内到达"),
    "unreached": Words("not reached so far", "目前未到达"),
    "never": Words("never reached", "从未到达"),
    "later": Words("known at the end", "搜完才知道"),
}
GOOD, BAD = ("held", "reached"), ("violated", "never")


class Explorer(PictureWidget):
    """A search with its button, its progress, its verdict and the run that refutes a claim.

    `verdict` is what was found so far, as text too. `start()` and `stop()` do what the
    button does; `run()` searches to the end before it returns.
    """

    _esm = join_modules("explorer.js")
    _css = page_css("explorer.css")

    def __init__(
        self,
        system: System,
        budget: Budget = Budget(),
        properties: tuple[Property, ...] | None = None,
        *,
        title: str | None = None,
        lang: Lang = "en",
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        **unknown: object,
    ) -> None:
        refuse("Explorer", unknown, KNOWN)
        self._look = Look.of(title, lang, scale, panels)
        self._asked_for = (system, budget, properties)
        self._phase = "ready"
        self._error = ""
        self._shown = ""
        self._told = 0.0
        self._task: asyncio.Task[None] | None = None
        self._search: Search | None = Search(*self._asked_for)
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
        self._phase, self._error, self._shown = "running", "", ""
        self._search = search = Search(*self._asked_for)
        self._keep(search)
        self._show()
        return search

    async def _beside(self, search: Search) -> None:
        while self._slice(search):
            await asyncio.sleep(0)

    def _slice(self, search: Search) -> bool:
        """A little of the search; whether there is more. A claim that raises an error ends
        it, and says so where the search is shown: there is no cell to fail."""
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
        broken = self._verdict.counterexamples
        self._shown = min(broken, key=lambda name: len(broken[name].schedule), default="")
        self._show()

    def _keep(self, search: Search) -> None:
        """What is shown of a search, so that the search itself need not be kept."""
        self._levels = list(search.levels)
        self._told = time.monotonic()
        self._verdict = verdict = search.verdict()
        self._results = [
            _result(prop, verdict, search.choices(i)) for i, prop in enumerate(search.properties)
        ]
        self._properties = search.properties

    # -- showing -------------------------------------------------------------------------

    def counterexample(self, name: str = "") -> Counterexample | None:
        """The run that is shown, or that of the claim with this name; None where there is
        none."""
        return self._verdict.counterexamples.get(name or self._shown)

    def player(self, name: str = "") -> Player | None:
        """The same as a player that needs no kernel."""
        found = self.counterexample(name)
        if found is None:
            return None
        look = self._look
        return Player(
            found.trace(), title=look.title, lang=look.lang, scale=look.scale, panels=look.panels
        )

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
            return VIOLATED(broken=broken, all=len(self._results), n=states).of(lang)
        return (COMPLETE if verdict.complete else STOPPED)(n=states).of(lang)

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
        return WITHIN(budget=self._verdict.budget.text).of(self._look.lang)

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        match message:
            case {"type": "start"}:
                self.start()
            case {"type": "stop"}:
                self.stop()
            case {"type": "show", "name": str(name)} if self.counterexample(name):
                self._shown = name
                self._show()

    def _show(self) -> None:
        lang, verdict, player = self._look.lang, self._verdict, None
        if self._phase == "done":
            player = self.player()
        with self.hold_sync():
            if player is None:
                self.payload = b""
            else:
                self.payload = deflate(build(player.trace, len(player.trace), self._look))
            self.ui = {
                "kind": "explorer",
                "still": self._name,
                "lang": lang,
                "scale": self._look.scale,
                "title": self._heading(),
                "system": verdict.system.label().of(lang),
                "within": self._within(),
                "phase": self._phase,
                "states": verdict.states,
                "depth": max(len(self._levels) - 1, 0),
                "rate": round(verdict.states / verdict.seconds) if verdict.seconds else 0,
                "levels": self._levels,
                "sentence": self.sentence,
                "mood": self._mood(),
                "rows": self.rows(),
                "shown": self._shown,
                "words": {name: text.of(lang) for name, text in WORDS.items()},
            }

    def _mood(self) -> str:
        if self._error or (self._phase == "done" and not self._verdict.ok):
            return "bad"
        return "good" if self._phase == "done" and self._verdict.complete else ""


def _result(prop: Property, verdict: Verdict, choices: int | None) -> tuple[str, int]:
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
