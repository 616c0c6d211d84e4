"""The live trace as lines of JSON: a Snapshot, then a fact and a change a line.

Nobody may be asking, so nothing is drawn in advance. When somebody does, the newest steps in
the ring become facts; their lines are kept, so that several may follow. A server works
faster than its picture can be drawn (and faster than anybody reads): a follower gets the
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
from typing import Any

from ...kernel import Effects, Fact, Text
from ...kernel.trace import diff, patch, sparse
from .observer import Observer
from .recorder import BYTES, KEPT, TOGETHER, Recorder, Step

log = logging.getLogger("mqlab.serve")

FIRST = 1_000  # facts for somebody who has just come
NEWEST = 500  # steps for somebody who has some already: half a second of a busy server
ALL = KEPT + TOGETHER  # steps, at most, that nobody has asked for yet
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
    """`lines`: (number of the fact, change, line) of the facts drawn last, `_before` the
    Snapshot before them, `_now` the one after."""

    def __init__(
        self,
        system: str,
        title: Text,
        observer: Observer,
        weigh: Callable[[Effects], int],
    ) -> None:
        self.recorder = Recorder(self._forget, weigh)
        self.observer = observer
        self.system = system
        self.title = title
        self._lines: deque[tuple[int, Any, bytes]] = deque()
        self._before: Any = self.observer.draw()
        self._now: Any = self._before
        self._after = 0  # the number of the fact before the first line
        self._size = 0  # bytes of the lines
        self._gap = False
        self._failed = False
        self._drawing = asyncio.Lock()
        self._whole_until = 0.0  # the moment until which no step is passed over

    # -- steps into lines ----------------------------------------------------------------------

    def _forget(self, step: Step) -> None:
        """A step leaves the ring undrawn: a picture can begin only behind it."""
        self._survive(lambda: self.observer.skip(step))
        self._gap = True

    def _survive(self, draw: Callable[[], Any], instead: Any = None) -> Any:
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
        self._before = self._now = self._survive(self.observer.draw, self._now)
        self._after = self.observer.facts
        self._gap = False

    def _keep(self, fact: Fact) -> None:
        new = self._survive(self.observer.draw, self._now)
        change = diff(self._now, new)
        line = json.dumps({"fact": sparse(fact), "change": change}, ensure_ascii=False)
        data = line.encode(errors="backslashreplace") + b"\n"
        self._lines.append((fact.index, change, data))
        self._size += len(data)
        self._now = new
        while len(self._lines) > KEPT or self._size > BYTES:
            self._after, gone, data = self._lines.popleft()
            self._size -= len(data)
            self._before = patch(self._before, gone)

    async def catch_up(self, most: int) -> None:
        """Draw what has happened: the newest steps, as many as are asked for."""
        async with self._drawing:
            recorder, turn = self.recorder, Turn()
            passed = max(0, len(recorder.steps) - most)
            left = len(recorder.steps) - passed
            while passed > 0 and recorder.steps:
                self._forget(recorder.take())
                passed -= 1
                await turn.give_way()
            while left > 0 and recorder.steps:
                if self._gap:
                    self._begin_anew()
                self._survive(partial(self.observer.take, recorder.take(), self._keep))
                left -= 1
                await turn.give_way()
            if self._gap:
                self._begin_anew()

    # -- answers -------------------------------------------------------------------------------

    async def lines(
        self, after: int, last: int = 0, more: Callable[[], dict[str, Any]] = dict
    ) -> list[bytes]:
        """What is kept behind fact number `after`, at most the `last` newest facts: a Snapshot,
        then a line for each. From the oldest kept if `after` is older, or of a server that was
        here before. The lines are the very ones that are kept, not copies.
        `more`: what else to say beside the Snapshot."""
        now = asyncio.get_running_loop().time()
        if last:
            self._whole_until = now + PATIENCE_S
        # A question that names no number takes nothing from those that do.
        await self.catch_up(ALL if now < self._whole_until else NEWEST if after else FIRST)
        if not self._after <= after <= self.observer.facts:
            after = self._after
        kept = [(index, line) for index, _, line in self._lines if index > after]
        most = last or FIRST
        if len(kept) > most:
            del kept[: len(kept) - most]
            after = kept[0][0] - 1
        head = {
            "snapshot": self._at(after, len(kept)),
            "system": self.system,
            "title": self.title.json(),
            "after": after,
            **more(),
        }
        first = json.dumps(head, ensure_ascii=False).encode() + b"\n"
        return [first, *(line for _, line in kept)]

    def _at(self, after: int, lines: int) -> Any:
        """The Snapshot after a fact."""
        if not lines:
            return self._now
        snapshot = self._before
        for index, change, _ in self._lines:
            if index > after:
                break
            snapshot = patch(snapshot, change)
        return snapshot
