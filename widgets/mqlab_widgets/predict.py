"""`Predict`: a question that must be answered before the trace goes on.

The learner chooses, locks the choice, and runs: the trace plays to the asked moment, what answers
the question is marked there, and only then the verdict is beside it. Until then the browser
holds neither the answer nor the rest of the trace. What was answered is in the notebook: the still
in the output before the widget says it where no kernel runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import traitlets

from mqlab.kernel.text import NOTHING, Lang, Text, spoken, tr
from mqlab.kernel.trace import Fact, FactKind, Trace

from .encoding import pack
from .payload import Look, position, refuse
from .player import Player
from .scene import Node
from .style import page_css
from .views import PANELS
from .views.common import say_words
from .widget import SET_BY_READER, PictureWidget, find_running_cell, join_modules, say

KNOWN = (
    *("trace", "step", "until", "shows", "name", "chosen", "revealed", "told"),
    *("title", "lang", "scale", "panels", "level"),
)
NOW = "now"

WORDS = {
    "lock": tr("Lock my answer"),
    "run": tr("Run"),
    "mine": tr("Your answer:"),
    "right": tr("Right."),
    "wrong": tr("Not so."),
    "answer": tr("Instead:"),
    "unkept": tr("Run this cell again to keep your answer in the notebook."),
}


class Predict(PictureWidget):
    """`answer` is one of the options, or its index; `explanations` one for each option.

    The picture is at `step`, with nothing that comes after it. `until` is the asked moment,
    to which the trace plays: words of a later line of the narration, a position, or "now", which is
    `step` itself; default the last position. `shows`: what answers there, besides the row: names
    of panels ("readers"), or of a line in one by its words ("readers: read_committed"). `panels`
    are those that are seen while the question is open (see `Player`), `told` those that are seen
    afterwards, default all: a lab's first questions give both, so that the picture grows with the
    text: `panels=("diagram", "readers"), told=("diagram", "readers", "money")`.

    `chosen` (index, -1 for none), `locked` and `revealed` can be read in the next cell. Given
    with the call, they are what was answered before; the browser writes them into the call that
    begins with `name`.
    """

    _esm = join_modules("predict.js")
    _css = page_css("predict.css")
    chosen = traitlets.Int(-1).tag(**SET_BY_READER)
    locked = traitlets.Bool(False).tag(**SET_BY_READER)
    revealed = traitlets.Bool(False).tag(sync=True)
    kept = traitlets.Bool(True).tag(**SET_BY_READER)

    def __init__(
        self,
        question: str | Text,
        options: Sequence[str | Text],
        answer: int | str,
        explanations: Sequence[str | Text] = (),
        *,
        trace: Trace | None = None,
        step: int = 0,
        until: int | str | None = None,
        shows: Sequence[str] = (),
        name: str = "",
        chosen: int = -1,
        revealed: bool = False,
        title: str | None = None,
        lang: Lang | None = None,
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        told: Sequence[str] | None = None,
        level: str = "everything",
        **unknown: object,
    ) -> None:
        """Check the question, its options and the trace that answers it, and show it open, or,
        where the call has `chosen` (an option's index), as it was answered before. The class
        explains `step`, `until`, `shows`, `panels` and `told`. ValueError where `answer` is none
        of the options, `until` no step from `step` on, or where options and explanations are not
        as many."""
        refuse("Predict", unknown, KNOWN)
        lang = lang or spoken()
        self.question = say(question, lang)
        self.options = [say(option, lang) for option in options]
        self.answer = _index(answer, options)
        self.explanations = [say(text, lang) for text in explanations] or [""] * len(options)
        if len(self.explanations) != len(self.options):
            raise ValueError(
                f"{len(self.options)} options need as many explanations, not "
                f"{len(self.explanations)}; say nothing with an empty string"
            )
        self._lang: Lang = lang
        self._run = None
        if trace is not None:
            # How the trace is shown while the question is open, and once it is answered.
            looks = [Look.of(title, lang, scale, which, level) for which in (panels, told)]
            self._run = AskedRun.of(trace, position(trace, step), until, shows, *looks)
        self.name, self._cell = name, find_running_cell()
        super().__init__()
        if chosen != -1:  # -1: not answered yet
            self.chosen, self.locked, self.revealed = chosen, True, revealed
        self._show()
        self.observe(self._answered, ["locked", "revealed"])
        self.on_msg(self._asked)

    @property
    def right(self) -> bool | None:
        """If the locked answer is right; None while the question is open."""
        return self.chosen == self.answer if self.locked else None

    @property
    def is_told(self) -> bool:
        """Locked and run: the verdict may be seen."""
        return self.locked and self.revealed

    @traitlets.validate("chosen")
    def _is_an_option(self, proposal: dict[str, Any]) -> int:
        chosen = int(proposal["value"])
        if not -1 <= chosen < len(self.options):
            last = len(self.options) - 1
            raise traitlets.TraitError(f"chosen={chosen}: the options are 0 to {last}")
        return chosen

    def player(self) -> Player | None:
        """The run as far as it may be seen; None where the question has none."""
        if self._run is None:
            return None
        return self._run.told() if self.is_told else self._run.open()

    def verdict(self) -> list[tuple[bool, str, str, str]]:
        """The verdict: is it right, the word for that, the option, its explanation; of the
        learner's option and, where it is wrong, of the right one."""
        if not self.is_told:
            return []
        word = {key: WORDS[key].of(self._lang) for key in ("right", "wrong", "answer")}
        lines = [(bool(self.right), word["right" if self.right else "wrong"], self.chosen)]
        if not self.right:
            lines.append((True, word["answer"], self.answer))
        return [
            (ok, judgement, self.options[i], self.explanations[i]) for ok, judgement, i in lines
        ]

    def still_html(self) -> str:
        mine = escape(WORDS["mine"].of(self._lang))
        items = [escape(option) for option in self.options]
        if self.locked:
            items[self.chosen] = f"<b>{mine}</b> {items[self.chosen]}"
        verdict = "".join(
            f"<p><b>{escape(word)}</b> {escape(f'“{option}” {why}')}</p>"
            for _, word, option, why in self.verdict()
        )
        player = self.player()
        return (
            f"<p><b>{escape(self.question)}</b></p><ol><li>{'</li><li>'.join(items)}</li></ol>"
            f"{verdict}{player.still_html() if player else ''}"
        )

    def narration(self) -> str:
        player = self.player()
        return "\n".join([*self._in_words(), *([player.narration()] if player else [])])

    def summary(self) -> str:
        player = self.player()
        return "\n".join([*self._in_words(), *([player.caption] if player else [])])

    def _in_words(self) -> Iterator[str]:
        yield self.question
        yield from (f"  {i}. {text}" for i, text in enumerate(self.options, 1))
        if self.locked:
            yield f"{WORDS['mine'].of(self._lang)} {self.options[self.chosen]}"
        yield from (f"{word} “{option}” {why}" for _, word, option, why in self.verdict())

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        match message:
            case {"type": "set", "traits": dict(traits)}:
                self.take(traits)
            case {"type": "run"} if self.locked:
                self.revealed = True

    def _answered(self, _change: object) -> None:
        """The picture that may be seen now, and the still that stays in the notebook."""
        self._show()
        self.keep_still()

    def _show(self) -> None:
        """Send the browser, by assigning `payload` and `ui`, the question and, once it is answered
        and run, the verdict, the step that answers (`until`) and what to mark there (`shows`)."""
        player = self.player()
        with self.hold_sync():
            # no player: a question without a trace
            self.payload = pack(player.payload) if player else b""
            self.ui = {
                "kind": "predict",
                "still": self._name,
                "cell": self._cell,
                "name": self.name,
                "lang": self._lang,
                "question": self.question,
                "options": self.options,
                "verdict": [list(line) for line in self.verdict()],
                "until": self._run.until if self._run and self.is_told else None,
                "shows": self._run.lines() if self._run and self.is_told else [],
                "words": {name: text.of(self._lang) for name, text in WORDS.items()},
            }


def _index(answer: int | str, options: Sequence[str | Text]) -> int:
    names = [str(option) for option in options]
    if isinstance(answer, str) and answer in names:
        return names.index(answer)
    if isinstance(answer, int) and 0 <= answer < len(names):
        return answer
    raise ValueError(f"answer={answer!r} is none of the options; give one of {names} or its index")


# --- the trace of a question ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskedRun:
    """`step`: where the question is asked; `until`: where the trace answers it; `shows`: the panels
    that answer, each with words of one line of it, or none."""

    trace: Trace
    step: int
    until: int
    shows: tuple[tuple[str, str], ...]
    look: Look
    later: Look

    @staticmethod
    def of(
        trace: Trace,
        step: int,
        until: int | str | None,
        shows: Sequence[str],
        look: Look,
        later: Look,
    ) -> AskedRun:
        pairs = tuple((name.strip(), words.strip()) for name, _, words in _parted(shows))
        run = AskedRun(trace, step, find_step(trace, step, until), pairs, look, later)
        run.lines()  # a mistake is reported where it was made
        return run

    def open(self) -> Player:
        """As far as `step`, without what may tell the answer: the title of the story, what articles
        say, and the reason of the step that the question is about."""
        facts = [fact.plain or fact for fact in self.trace.facts[: self.step]]
        if facts and not facts[-1].fold:  # of a folded step it says why it is folded
            facts[-1] = replace(facts[-1], why=NOTHING)
        seen = replace(
            self.trace, facts=tuple(facts), snapshots=self.trace.snapshots[: self.step + 1]
        )
        return Player.of(seen, replace(self.look, title=self.look.title or ""))

    def told(self) -> Player:
        """All of it, with the panels of afterwards."""
        return Player.of(self.trace, self.later, self.until)

    def lines(self) -> list[dict[str, str]]:
        """What answers at `until`: panels, and the keys of what is drawn there, "" for all."""
        return [{"panel": name, "key": self._key(name, words)} for name, words in self.shows]

    def _key(self, name: str, words: str) -> str:
        Look.of(None, "en", 1, [name])  # ValueError where there is no such panel
        if not PANELS[name].shows(self.trace):
            raise ValueError(f"shows={name!r}: this run has nothing for that panel")
        if not words:
            return ""
        trace = say_words(self.trace, self.look.lang)
        scene = PANELS[name].view(trace, self.until, lang=self.look.lang)
        key = _key_of(scene.nodes, words)
        if key is None:
            raise ValueError(f"shows: nothing in the panel {name!r} says {words!r} at that step")
        return key


def _parted(shows: Sequence[str]) -> list[tuple[str, str, str]]:
    return [one.partition(":") for one in ([shows] if isinstance(shows, str) else shows)]


def _key_of(nodes: Sequence[Node], words: str) -> str | None:
    """The first group that has a text with `words`, the innermost one."""
    for node in nodes:
        inside = _key_of([child for child in node.children if child.children], words)
        if inside is not None:
            return inside
        if any(words in one.text for one in (node, *node.children)):
            return node.key
    return None


def find_step(trace: Trace, after: int, until: int | str | None) -> int:
    """The position that `until` means; ValueError where it is none, or comes before `after`."""
    if until is None:
        return len(trace)
    if until == NOW:
        return after
    if isinstance(until, int):
        if position(trace, until) < after:
            raise ValueError(f"until={until} comes before the step of the question, {after}")
        return position(trace, until)
    for place, fact in enumerate(trace.facts[after:], after + 1):
        if until in " ".join(fact.line("en").split()):
            return place
    raise ValueError(f"until={until!r}: no step after {after} says that")


# ---- What of a live trace is drawn: its story ----------------------------------------
#
# A client polls, sends a request again until it is answered, and says hello before that. In a live
# trace such facts are most of all, and none is news. The server marks them as folded (`Fact.fold`),
# and a request that was sent again is found here: it is in one row with its first, which counts
# them and names the answer that they got. Everything is one switch away: then each fact has a row.
#
# After a fault (a request that was lost, a node that was killed) what is sent again has a row of
# its
# own. A lane that is hidden takes with it what it sends and what is sent to it.

Row = tuple[int, Fact]
FAULTS = (FactKind.BREAK, FactKind.KILL)


@dataclass
class _Exchange:
    """A request in row `row`, as often as it was `sent`; `answers`: folded ones, by
    what they say."""

    fact: Fact
    row: int
    sent: int = 1
    answers: Counter[Text] = field(default_factory=Counter)
    why: dict[Text, Text] = field(default_factory=dict)

    def is_again(self, fact: Fact) -> bool:
        """If it says the same, whatever its transaction: one that asks to begin is known by the
        transaction before until it is let in, and then by its own."""
        return (fact.node, fact.text) == (self.fact.node, self.fact.text)

    def sum_up(self) -> Fact:
        """The row: what was sent, how often, and what it was answered most."""
        if self.sent == 1:
            return self.fact
        fact, times = self.fact, f" ×{self.sent}"
        suffix, why = times, fact.why
        if self.answers:
            label, often = self.answers.most_common(1)[0]
            suffix, why = f"{times} ⇄ {label.en} ×{often}", self.why[label]
        label = fact.label if fact.label.en else fact.text
        return replace(fact, text=_add(fact.text, suffix), label=_add(label, times), why=why)


def _add(text: Text, more: str) -> Text:
    return Text(text.en + more, text.zh + more)


def choose(
    facts: Sequence[Fact], hidden: Collection[str] = (), everything: bool = False
) -> list[Row]:
    """Choose the facts of a live trace that get a row, each with its place in `facts`: none of the
    lanes in `hidden`, none that are folded, and a repeated request in one row with its
    first, which counts the requests. `everything`: each fact that is not of a hidden lane has a row
    of its own."""
    rows: list[Row] = []
    latest: dict[frozenset[str], _Exchange] = {}  # the last request between two nodes
    for at, fact in enumerate(facts):
        if fact.node in hidden or fact.peer in hidden:
            continue
        if everything:
            rows.append((at, replace(fact, fold=False)))
            continue
        if fact.kind in FAULTS:  # what is sent again after a fault is news: it gets its own row
            latest.clear()
        pair = frozenset((fact.node, fact.peer))  # the same for a request and its answer
        exchange = latest.get(pair)
        if fact.kind is FactKind.SEND and not fact.fold:
            if exchange is not None and exchange.is_again(fact):  # counted in the first one's row
                exchange.sent += 1
                exchange.fact = replace(exchange.fact, txn=fact.txn)  # the newest's (`is_again`)
                rows[exchange.row] = (rows[exchange.row][0], exchange.sum_up())
                continue
            latest[pair] = _Exchange(fact, len(rows))
        # A folded answer is counted in its request's row; a pushed one is a message of its own.
        elif fact.kind is FactKind.REPLY and not fact.pushed and fact.fold and exchange is not None:
            exchange.answers[fact.label] += 1
            exchange.why[fact.label] = fact.why
            rows[exchange.row] = (rows[exchange.row][0], exchange.sum_up())
        if not fact.fold:
            rows.append((at, fact))
    return rows
