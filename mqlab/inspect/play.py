"""What happens next: a broker that was read goes on in the engine.

    Reading  →  Taken (a system whose roles recover from the records that were read)  →  answers

A broker's package makes the `Taken`: which of the records are on which node's disk, what was left
out, and what one wants to know. A `Wish` is what a reader of the report waits for; a `Way` is what
may happen meanwhile, a clock that runs, an administrator. Each pair is a search of every order of
events from there. By hand it is an ordinary playground.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..explore import Budget, Search
from ..kernel import Map, MemoryDisk, Play, Property, Run, System, Text, Trace, Words, World, frozen
from ..kernel.disk import MemoryLog
from ..kernel.options import NAME
from ..kernel.text import tr
from .reading import Gap

STATES = 20_000  # of one search: a second or two
STILL = Budget(states=STATES, restartable=(), retries=1)
MORE = Words("{n} more")
LATER = Words("offsets {first} to {last} were not imported")
REACHED = Words("yes (steps: {n})")
NEVER = Words("no (states that can follow: {n:,}, all searched)")
UNKNOWN = Words("not in the first {n:,} states; the search was ended there")
ALREADY = tr("yes, at once")
WITH = Words("; but that breaks this: {what}")
BY_HAND = tr("what may happen next, from the records of your broker")
SPAN = Words("{log}: offsets {first} to {last}")
ONLY_END = Words("{log}: nothing but its end, {end}")
IDLE = tr("Nothing in the imported state waits.")


@frozen
class Wish:
    """What a client waits for: `says`, in words; `holds`: whether a world has it."""

    says: Text
    holds: Callable[[World], bool]


@frozen
class Way:
    """What may happen meanwhile: `says`, in words. `name`: for programs; `system`: with the calls
    for it, on the same disks; `budget`: how many faults a search of it may use."""

    name: str
    says: Text
    system: System
    budget: Budget = Budget()


@frozen
class Taken:
    """`system`: all of it, to be played by hand, after the choices `start`; `took` and `left`:
    which records the engine continues from, and what it does not know. `asked`: each wish, with the
    ways in which it may come true."""

    system: System
    start: tuple[str, ...] = ()
    asked: tuple[tuple[Wish, tuple[Way, ...]], ...] = ()
    took: tuple[Text, ...] = ()
    left: tuple[Gap, ...] = ()


@frozen
class Answer:
    """`schedule`: a shortest schedule to the wish, after `Taken.start`; None where none was found
    among the `states`. `complete`: the search has ended, so a *no* is certain. `broken`: the claims
    that this schedule breaks."""

    wish: Text
    way: Way
    schedule: tuple[str, ...] | None
    states: int
    complete: bool
    trace: Trace | None = None
    broken: tuple[Text, ...] = ()

    @property
    def says(self) -> Text:
        if self.schedule is None:
            return (NEVER if self.complete else UNKNOWN)(n=self.states)
        found: Text = REACHED(n=len(self.schedule)) if self.schedule else ALREADY
        for what in self.broken:
            found = Text(found.en + WITH(what=what).en, found.of("zh") + WITH(what=what).of("zh"))
        return found


@frozen
class Future:
    """What was taken over, and the `answers` of the searches from there."""

    taken: Taken
    answers: tuple[Answer, ...]

    def play(self) -> Play:
        """By hand, from what was read."""
        return Play(self.taken.system, self.taken.start, BY_HAND)


class LeftOut(list[Gap]):
    """What is not taken over, as it turns out."""

    def note(self, what: str | Text, why: Text) -> None:
        self.append(Gap(Text(what) if isinstance(what, str) else what, why))

    def note_end(self, log: str, taken: int, end: int) -> None:
        """Up to where a log was taken over, and where it ends."""
        if taken < end:
            self.note(log, LATER(first=taken, last=end - 1))

    def cut(self, of: Sequence[Any], most: int, what: Text) -> list[Any]:
        """The first ones; how many more there are is noted."""
        if len(of) > most:
            self.note(what, MORE(n=len(of) - most))
        return list(of[:most])


def make_disk(
    logs: Mapping[str, Sequence[Any]],
    tables: Mapping[str, Mapping[Any, Any]] | None = None,
    ends: Mapping[str, int] | None = None,
) -> MemoryDisk:
    """All of it flushed. `ends`: where an empty log begins."""
    kept = {name: MemoryLog((), 0, end) for name, end in (ends or {}).items()}
    for name, of in logs.items():
        if of:
            kept[name] = MemoryLog(tuple(of), len(of), of[0].base)
    rows = Map((name, Map(table.items())) for name, table in (tables or {}).items())
    return MemoryDisk(Map(kept.items()), rows, rows)


def make_name(text: str) -> str:
    """As a name in a system: of letters, digits and . _ - only."""
    return text if NAME.fullmatch(text) else re.sub(r"[^\w.-]", "_", text) or "_"


def say_span(log: str, start: int, end: int) -> Text:
    """What was taken over of a log."""
    if start < end:
        return SPAN(log=log, first=start, last=end - 1)
    return ONLY_END(log=log, end=end)


def look_ahead(taken: Taken) -> Future:
    """Answer every question."""
    return Future(taken, tuple(one for pair in taken.asked for one in _answers(taken, *pair)))


def _answers(taken: Taken, wish: Wish, ways: tuple[Way, ...]) -> Iterator[Answer]:
    """Of each way; of the first alone, which is what happens in any case, where that is enough."""
    for number, way in enumerate(ways):
        answer = _answer(taken, wish, way)
        yield answer
        if not number and answer.schedule is not None:
            return


def _answer(taken: Taken, wish: Wish, way: Way) -> Answer:
    claim = Property("reached", wish.says, wish.holds, "sometimes")
    search = Search(way.system, way.budget, (claim,), taken.start)
    while search.choices(0) is None and search.advance():
        pass
    if 0 not in search.found:
        return Answer(wish.says, way, None, search.states, search.complete)
    schedule = search.schedule(search.found[0])
    run = Run(way.system, wish.says)
    kept = [c for c in way.system.properties() if c.kind == "always" and c.holds(run.world)]
    for choice in (*taken.start, *schedule):
        run.do(choice)
    broken = tuple(claim.sentence for claim in kept if not claim.holds(run.world))
    return Answer(wish.says, way, schedule, search.states, True, run.trace, broken)


def list_rows(future: Future) -> Iterator[tuple[str, str, str]]:
    """The rows of its table: the wish, where it is another one, the way, the answer."""
    last = ""
    for one in future.answers:
        wish = str(one.wish)
        yield "" if wish == last else wish, str(one.way.says), str(one.says)
        last = wish
