"""The live trace as lines of JSON: a Snapshot, then a fact and a change a line.

There may be no follower, so nothing is drawn in advance. When one asks, the newest steps in
the ring become facts; their lines are kept, so that several may follow. A server works
faster than its picture can be drawn (and faster than it can be read): a follower gets the
newest facts, and a Snapshot of what was before them. A follower that wants all asks for `last`,
with any number: then none is passed over, by the question of another one neither, as long as the
follower comes back within a minute.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ...kernel import Caller, ConnectionLost, Effects, Event, Fact, Text, frozen
from ...kernel.text import NOTHING
from ...kernel.trace import diff, patch, sparse

# What a live trace shows that is no step of a role: it has come from outside. In a step of the
# recorder one of these is where the role would be.
#
# Held      a request waits at the gate (`serve/gate.py`), and the step is what it would be
# Dropped   a request was lost there, and its connection with it
# Killed    the node has died; every role on it forgets what was not written


@frozen
class Held:
    """`role`: the front as it would be."""

    role: Any


@frozen
class Dropped:
    """`to`: the role that the request was for, `text`: what it said."""

    to: str
    text: Text


@frozen
class Killed:
    """Every connection has broken, too. `unanswered`: the request that was done by then, and whose
    answer did not leave; empty where there is none."""

    unanswered: Text = NOTHING


Outside = Dropped | Killed


# ---- The ring of the last steps: light enough to be kept always, rich enough for a picture
#
# A step is kept as it came: when, which role, the role afterwards, the event, the effects. All
# of these are values that never change, so keeping them is keeping references; what they
# mean is worked out only on request, or when a step leaves the ring.
#
# What is referred to may be large, and may be held by nothing else: a batch that was
# refused, records of a topic that was deleted. So the ring is bounded by bytes too: a step
# weighs what its request took on the wire, and what its effects hand out (`weigh`, which the
# broker's adapter says: batches to a reader).

KEPT = 10_000
BYTES = 64 << 20  # that may be referred to by steps in the ring
TOGETHER = 500  # steps that leave the ring at once: cheaper than one by one

Step = tuple[int, str, Any, Event | None, Effects]


class Recorder:
    """`forget` is called with each step that was not asked about and must go;
    `weigh(effects)` says how many bytes they keep alive."""

    def __init__(self, forget: Callable[[Step], None], weigh: Callable[[Effects], int]) -> None:
        self.steps: deque[Step] = deque()
        self.bytes = 0
        self.forget = forget
        self.weigh = weigh
        self._weights: deque[int] = deque()

    def record_step(
        self, at_ms: int, name: str, new: Any, event: Event, effects: Effects, size: int = 0
    ) -> None:
        """`size`: of the client's request that this step handles, in bytes."""
        self._keep((at_ms, name, new, event, effects), size + self.weigh(effects))

    def record_start(self, at_ms: int, name: str, role: Any, effects: Effects) -> None:
        """A role has started. Its appends are among what it found: they are not shown."""
        self._keep((at_ms, name, role, None, effects))

    def record_end(self, at_ms: int, client: str) -> None:
        """A client's connection has closed."""
        self._keep((at_ms, client, None, ConnectionLost(client, at_ms), ()))

    def record_outside(self, at_ms: int, name: str, what: Outside) -> None:
        """What was done at the gate: to a client's request, or to the node of a role."""
        self._keep((at_ms, name, what, None, ()))

    def take(self) -> Step:
        """The oldest step, which leaves the ring."""
        self.bytes -= self._weights.popleft()
        return self.steps.popleft()

    def clear(self) -> None:
        """Forget everything: what the steps refer to is to be freed."""
        while self.steps:
            self.forget(self.take())

    def _keep(self, step: Step, weight: int = 0) -> None:
        self.steps.append(step)
        self._weights.append(weight)
        self.bytes += weight
        if len(self.steps) > KEPT + TOGETHER:
            for _ in range(TOGETHER):
                self.forget(self.take())
        while self.bytes > BYTES:
            self.forget(self.take())


# ---- Who makes a picture of steps: a broker's adapter brings one, and `live.py` asks it -


class Observer(Protocol):
    """`facts`: how many there were so far; `held`: by who has asked, the number of the fact that
    tells of a request which waits at the gate."""

    facts: int
    held: dict[Caller, int]

    def take(self, step: Step, listener: Callable[[Fact], None] | None = None) -> None:
        """The next step; `listener` is called with each of its facts, the picture being as it was
        just then."""

    def skip(self, step: Step) -> None:
        """A step that is never shown: only what a later picture needs is noted.
        It counts as one fact, so that a follower sees by the numbers that it missed some."""

    def draw(self) -> Any:
        """The Snapshot as it is now, as plain JSON values. Parts that have not changed should
        stay the same objects: a comparison sees that at once."""


log = logging.getLogger("mqlab.serve")

FIRST = 1_000  # facts for a follower that has just come
NEWEST = 500  # steps for a follower that has some already: half a second of a busy server
ALL = KEPT + TOGETHER  # steps, at most, not asked for yet
TURN_S = 0.01  # that steps are drawn before the server's clients have their turn
PATIENCE_S = 60.0  # a follower that wants all and has not asked for so long has gone


class Turn:
    """Time that is spent on a picture while others wait."""

    def __init__(self) -> None:
        self._until = time.monotonic() + TURN_S

    async def give_way(self) -> None:
        """To those who wait, when the turn is over."""
        if time.monotonic() >= self._until:
            await asyncio.sleep(0)
            self._until = time.monotonic() + TURN_S


class Live:
    """The live trace of a server: steps of its roles in a ring, drawn into lines for those who
    follow it."""

    def __init__(
        self, system: str, title: Text, observer: Observer, weigh: Callable[[Effects], int]
    ) -> None:
        """Begin the live trace of a server that has done nothing yet: steps go into a ring
        (`recorder`), and are drawn into lines only on request. `weigh(effects)`: how many
        bytes of memory a step's effects keep in use."""
        self.recorder = Recorder(self._forget, weigh)
        self.observer = observer
        self.system = system
        self.title = title
        self._lines: deque[tuple[int, Any, bytes]] = deque()  # (number of the fact, change, line)
        self._kept_from: Any = self.observer.draw()  # the Snapshot before the first line
        self._drawn: Any = self._kept_from  # the Snapshot after the last line
        self._last_forgotten = 0  # the number of the fact before the first line
        self._size = 0  # bytes of the lines
        self._has_gap = False  # a step left the ring undrawn: the lines must begin after it
        self._failed = False  # a step could not be drawn, which is logged once
        self._drawing = asyncio.Lock()
        self._whole_until = 0.0  # loop time until which a follower wants every step drawn

    # -- steps into lines ----------------------------------------------------------------------

    def _forget(self, step: Step) -> None:
        """A step leaves the ring undrawn: a picture can begin only after it."""
        self._run_guarded(lambda: self.observer.skip(step))
        self._has_gap = True

    def _run_guarded(self, draw: Callable[[], Any], instead: Any = None) -> Any:
        """What cannot be drawn is left out, and said once: clients are served all the same."""
        try:
            return draw()
        except Exception:
            if not self._failed:
                log.exception("a step cannot be drawn, the live trace leaves it out (said once)")
            self._failed = True
            return instead

    def _begin_anew(self) -> None:
        self._lines.clear()
        self._size = 0
        self._kept_from = self._drawn = self._run_guarded(self.observer.draw, self._drawn)
        self._last_forgotten = self.observer.facts
        self._has_gap = False

    def _keep(self, fact: Fact) -> None:
        new = self._run_guarded(self.observer.draw, self._drawn)
        change = diff(self._drawn, new)
        line = json.dumps({"fact": sparse(fact), "change": change}, ensure_ascii=False)
        data = line.encode(errors="backslashreplace") + b"\n"
        self._lines.append((fact.index, change, data))
        self._size += len(data)
        self._drawn = new
        while len(self._lines) > KEPT or self._size > BYTES:
            self._last_forgotten, gone, data = self._lines.popleft()
            self._size -= len(data)
            self._kept_from = patch(self._kept_from, gone)

    async def catch_up(self, most: int) -> None:
        """Draw the newest `most` of the recorded steps into lines; older ones leave the ring
        undrawn. Gives way to the server's clients every few milliseconds."""
        async with self._drawing:
            recorder, turn = self.recorder, Turn()
            # counted beforehand: more steps may come while others have their turn
            to_skip = max(0, len(recorder.steps) - most)
            to_draw = len(recorder.steps) - to_skip
            while to_skip > 0 and recorder.steps:
                self._forget(recorder.take())
                to_skip -= 1
                await turn.give_way()
            while to_draw > 0 and recorder.steps:
                if self._has_gap:  # steps left undrawn: the lines begin after them, by a Snapshot
                    self._begin_anew()
                self._run_guarded(partial(self.observer.take, recorder.take(), self._keep))
                to_draw -= 1
                await turn.give_way()
            if self._has_gap:
                self._begin_anew()

    # -- answers -------------------------------------------------------------------------------

    async def lines(
        self, after: int, last: int = 0, more: Callable[[], dict[str, Any]] = dict
    ) -> list[bytes]:
        """Return the live trace after fact number `after` as JSON lines: first a Snapshot, then a
        line for each fact, the newest `last` at most (0: FIRST). Begins at the oldest fact kept
        where `after` is older, or is the number of an earlier server's fact. `more()` gives further
        entries of the first line, by default none."""
        now = asyncio.get_running_loop().time()
        if last:
            self._whole_until = now + PATIENCE_S
        # A client that asked for `last` facts wants every step; a follower, the newest; a new one,
        # enough for a picture, without taking steps from those that want them all.
        await self.catch_up(ALL if now < self._whole_until else NEWEST if after else FIRST)
        if not self._last_forgotten <= after <= self.observer.facts:
            after = self._last_forgotten
        kept = [(index, line) for index, _, line in self._lines if index > after]
        max_facts = last or FIRST
        if len(kept) > max_facts:
            del kept[: len(kept) - max_facts]
            after = kept[0][0] - 1
        head = {
            "snapshot": self._picture_at(after, len(kept)),
            "system": self.system,
            "title": self.title.json(),
            "after": after,
            **more(),
        }
        first = json.dumps(head, ensure_ascii=False).encode() + b"\n"
        return [first, *(line for _, line in kept)]

    def _picture_at(self, after: int, lines: int) -> Any:
        """The Snapshot after a fact."""
        if not lines:
            return self._drawn
        snapshot = self._kept_from
        for index, change, _ in self._lines:
            if index > after:
                break
            snapshot = patch(snapshot, change)
        return snapshot
