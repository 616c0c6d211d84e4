"""What a leader does with a marker, taken to pieces and done in a given order.

For a lesson only:

    markers partitions=1 order.marker=append,index,lso,answer 'app=init; …; abort'

    append   write the marker to the log
    index    of an abort: note the transaction in the .txnindex, which fetches are answered from
    lso      let the LSO move past the transaction
    answer   tell the coordinator that the marker is here

In Kafka one append does the first two, and the high watermark, passing the marker, releases the
other two (UnifiedLog#append, #maybeIncrementFirstUnstableOffset). So `lso` and `answer` wait for
the high watermark where a marker was appended before them; without one there is nothing to wait
for. Between two pieces the leader takes a breath: readers may ask, and it may die.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

from ....kafka import KafkaSystem
from ....kafka.claims import reads
from ....kafka.leader import Leader, LeaderRequest
from ....kafka.log.role import append_marker
from ....kafka.messages import WriteTxnMarkers, WriteTxnMarkersResponse
from ....kafka.picture.view import read_world
from ....kafka.states import COMPLETED
from ....kernel import Append, Caller, Disk, Effects, NodeSpec, Property, Reply, Send, Words, World
from ....kernel.options import Order
from ...roles import put_roles

STEP = "marker"
PIECES = ("append", "index", "lso", "answer")
NEVER = 2**62  # the offset of a marker whose transaction the high watermark does not release
MARKED = Words("a transaction that is complete has its markers in the logs")


@dataclass(frozen=True, slots=True)
class Rest:
    """The leader's note to itself: what is left to do with a marker, and for whom. `first`: where
    the transaction begins (-1: it is over); `entry`: what an abort has to note in the index;
    `end`: where the high watermark has passed the marker (-1: it is not appended)."""

    ask: WriteTxnMarkers
    caller: Caller
    todo: tuple[str, ...]
    first: int
    entry: tuple[Append, ...] = ()
    end: int = -1

    def __str__(self) -> str:
        return f"then {', '.join(self.todo)}"


@dataclass(frozen=True, slots=True)
class MarkingLeader(Leader):
    """`held`: the rest that waits for the high watermark."""

    held: tuple[Rest, ...] = ()

    def handle_request(
        self, body: LeaderRequest | Rest, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        match body:
            case WriteTxnMarkers() if not self.part.check_marker(body):
                order = dict(self.config.order)[STEP]
                _, effects, _ = append_marker(self.part, self.name, body, disk, at_ms)
                entry = tuple(e for e in effects if isinstance(e, Append) and e.log != self.name)
                known = self.part.producers.get(body.pid)
                first = known.txn_first if known is not None else -1
                return self._goes_on(Rest(body, caller, order, first, entry), disk, at_ms)
            case Rest():
                return self._goes_on(body, disk, at_ms)
        return Leader.handle_request(self, body, caller, disk, at_ms)

    def _goes_on(self, rest: Rest, disk: Disk, at_ms: int) -> tuple[Leader, Effects]:
        """The next piece, and a note to do the others."""
        if not rest.todo:
            return self, ()
        piece, *left = rest.todo
        if piece in ("lso", "answer") and rest.end > self.part.hw:
            return replace(self, held=(*self.held, rest)), ()
        new, effects, end = self._piece(piece, rest, disk, at_ms)
        note = Send(self.name, replace(rest, todo=tuple(left), end=end))
        return new, (*effects, *((note,) if left else ()))

    def _piece(self, piece: str, rest: Rest, disk: Disk, at_ms: int) -> tuple[Leader, Effects, int]:
        ask = rest.ask
        if piece == "answer":
            done = WriteTxnMarkersResponse(ask.txn_id, ask.pid, epoch=ask.epoch)
            return self, (Reply(rest.caller, done),), rest.end
        if piece == "lso":
            return self._released(rest.first), (), rest.end
        if piece == "index":
            return self, rest.entry, rest.end
        part, effects, marker = append_marker(self.part, self.name, ask, disk, at_ms)
        waiting = tuple((f, NEVER if f == rest.first else at) for f, at in part.unreplicated)
        appended = tuple(e for e in effects if isinstance(e, Append) and e.log == self.name)
        new = replace(self, part=replace(part, unreplicated=waiting))
        return new, appended, marker.last + 1

    def _released(self, first: int) -> MarkingLeader:
        part = self.part
        still_open = tuple(one for one in part.open if one[0] != first)
        waiting = tuple(one for one in part.unreplicated if one[0] != first)
        return replace(self, part=replace(part, open=still_open, unreplicated=waiting))

    def finish_appends(self, end: int) -> tuple[Leader, Effects]:
        new, effects = Leader.finish_appends(self, end)
        assert isinstance(new, MarkingLeader)
        ready = tuple(Send(self.name, rest) for rest in self.held if rest.end <= end)
        left = tuple(rest for rest in self.held if rest.end > end)
        return replace(new, held=left), (*effects, *ready)


@dataclass(frozen=True)
class MarkerSystem(KafkaSystem):
    """Kafka whose leaders do the pieces of a marker in the order given; Kafka's own without."""

    order: Order = ((STEP, PIECES),)

    name = "markers"

    orderable: ClassVar = {STEP: PIECES}
    most_replicas = 1

    def nodes(self) -> tuple[NodeSpec, ...]:
        leader = partial(MarkingLeader.recover, self.config)
        return put_roles(
            super().nodes(), {name: partial(leader, name) for name in self.cluster.partitions}
        )

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        seen = partial(reads, self.cluster)
        marked = Property("marked", MARKED(), self._marked, "always", seen)
        return (*super()._properties, marked)

    def _marked(self, world: World) -> bool:
        return not any(
            txn is not None and txn.state in COMPLETED and not outcome
            for rows in read_world(self.cluster, world).rows.values()
            for _, txn, outcome in rows
        )
