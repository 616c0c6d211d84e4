"""What a leader does with a batch, taken to pieces and done in the order it is told.

For a lesson only. Kafka's order is

    duplicate   is it one of the last five of this epoch? then answer ok with its offset
    fence       is its epoch older than the one known? then refuse it
    sequence    is it not the next in order? then refuse it
    append      write it to the log
    answer      tell the producer ok, as soon as what was appended is safe

An answer that stands before its append cannot wait for it: it leaves at once, and what is
left is a step of its own, before which a leader may die. All else is the leader's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....kafka.errors import Error
from ....kafka.leader import Leader, LeaderRequest, append
from ....kafka.log import Batch
from ....kafka.log.partition import Partition
from ....kafka.messages import Produce, ProduceResponse
from ....kernel import Append, Caller, Disk, Effects, Reply, Send

STEP = "produce"
PIECES = ("duplicate", "fence", "sequence", "append", "answer")


@dataclass(frozen=True, slots=True)
class Rest:
    """The leader's note to itself: what is left to do once the producer was answered."""

    ask: Produce
    todo: tuple[str, ...]

    def __str__(self) -> str:
        return f"then {', '.join(self.todo)}"


@dataclass(frozen=True, slots=True)
class PiecewiseLeader(Leader):
    """A leader for producers without transactions."""

    def handle_request(
        self, body: LeaderRequest | Rest, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        match body:
            case Produce():
                return self._pieces(body, dict(self.config.order)[STEP], caller, disk)
            case Rest(ask=ask, todo=todo):
                return self._pieces(ask, todo, None, disk)
        return Leader.handle_request(self, body, caller, disk, at_ms)

    def _pieces(
        self, ask: Produce, todo: tuple[str, ...], caller: Caller | None, disk: Disk
    ) -> tuple[Leader, Effects]:
        """`caller` None: the producer has had its answer, whatever is found out now."""
        leader: Leader = self
        batch = replace(ask.batch, base=disk.log(self.name).end)
        appended: Effects = ()
        for i, piece in enumerate(todo):
            if piece == "append":
                leader = replace(leader, part=leader.part.with_data(batch))
                appended = (Append(self.name, batch),)
            elif piece == "answer" and caller is not None:
                ok = ProduceResponse(Error.NONE, batch.base)
                if not appended:
                    rest = Send(self.name, Rest(ask, todo[i + 1 :]))
                    return leader, (Reply(caller, ok), rest)
                ack = (batch.base + batch.count, caller, ok)
                leader = replace(leader, acks=(*leader.acks, ack))
                caller = None
            elif piece == "duplicate" and leader.part.find_duplicate(batch) is not None:
                if caller is None:
                    return leader, appended
                known, answered = append(leader, ask, caller, None, disk)
                return known, (*appended, *answered)
            elif error := _refusal(piece, leader.part, batch):
                refused = (Reply(caller, ProduceResponse(error)),) if caller is not None else ()
                return leader, (*appended, *refused)
        return leader, appended


def _refusal(piece: str, part: Partition, batch: Batch) -> Error:
    """What one check alone says; NONE where it has nothing against the batch."""
    if piece == "fence":
        return Error.INVALID_PRODUCER_EPOCH if part.is_stale(batch) else Error.NONE
    if piece == "sequence":
        unfenced = replace(part.config, on=part.config.on - {"epoch_fencing"})
        return replace(part, config=unfenced).check_data(batch, None)
    return Error.NONE
