"""A broker whose check round is a learner's function, and what a round may say.

Storing, ending and asking are the engine's. The function is given a `Round` and says what is to be
done; that is looked at first, for what cannot be at all, and written as the real round writes it
(TransactionalMessageServiceImpl#check, 5.5.0).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....kernel import Disk, Effects, Event, Send, Text, Words, replace, tr
from ....rocketmq import check as stored_halves
from ....rocketmq.broker import Broker
from ....rocketmq.broker.timer import CHECK, read_progress
from ....rocketmq.check import parse_op
from ....rocketmq.config import RocketMQConfig
from ....rocketmq.log import HALF_KEY, HALF_QUEUE, OP_KEY, OP_QUEUE, Stored, Writer, read_queue
from ....rocketmq.messages import PGROUP
from ...roles import recover_as
from ..host import Broken, FunctionHost
from ..trial import say_death
from .api import Ask, Half, Op, Park, PutBack, Round

ACTIONS = (Ask, Park, PutBack)
PARKED_AND_BACK = Words(
    "half message {} is set aside and put back in one round: it is set aside when no question is "
    "left"
)
PARKED_AND_ASKED = Words(
    "half message {} is set aside and asked about in one round: it is set aside when no question "
    "is left"
)
Actions = tuple[Ask | Park | PutBack, ...]


class RoundHost(FunctionHost):
    """The process with the round of `source`."""

    noun = tr("a check round")
    page = "mqlab.lessons.builder.check_round.api"
    file = "check_round.py"
    needs = ("check",)

    def recover(self, config: RocketMQConfig, disk: Disk, at_ms: int) -> tuple[Any, Effects]:
        """The broker after a start, which takes longer than a half message is young."""
        more = {"host": self, "aged": disk.log(HALF_QUEUE).end}
        return recover_as(BuiltBroker, Broker.recover, more, config, disk, at_ms)

    def ask(self, seen: Round) -> tuple[Actions, int, int]:
        """What the function makes of a round; Broken where that cannot be."""
        reply = self.call("check", seen)
        if not (isinstance(reply, tuple) and len(reply) == 3 and isinstance(reply[0], tuple)):
            raise Broken("`check` must return three values: actions, half_offset, op_offset")
        check_round(seen, *reply)
        return reply


@dataclass(frozen=True, slots=True)
class BuiltBroker(Broker):
    """`broken`: why its round does no more; None while it does. `aged`: half messages before this
    place of the half topic are old. A search has no clock, and there are 30 s between two rounds:
    what a round has met is older than transactionTimeOut, 6 s, in the next one."""

    broken: Text | None = None
    aged: int = 0
    host: RoundHost = field(compare=False, repr=False, kw_only=True)

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        return (self, ()) if self.broken else Broker.step(self, event, disk)

    def describe_changes(self, old: Broker | None) -> tuple[Text, ...]:
        return say_death(old, self) or Broker.describe_changes(self, old)

    def _handle_timer(self, timer: str, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        if timer != CHECK:
            return Broker._handle_timer(self, timer, disk, at_ms)
        try:
            return make_round(self, disk, at_ms)
        except Broken as error:
            return replace(self, broken=error.args[0]), ()


def make_round(broker: BuiltBroker, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
    """Do a round of the check of half messages as the learner's function decides, and return the
    broker and the effects. The function's `half_to` and `op_to`, the offsets from which the next
    round reads, are noted last (a timer of the broker writes them). Raises Broken where the
    function fails, or decides what no round does."""
    shown = read_round(broker, disk)
    actions, half_to, op_to = broker.host.ask(shown)
    stored = {one.queue_offset: one for one in read_queue(disk, HALF_QUEUE, shown.half_offset)}
    copies: dict[int, Stored] = {}
    writer, producers = Writer(disk, at_ms), broker.producers
    for action in actions:
        half = stored[action.half]
        match action:
            case PutBack():
                copy = stored_halves.build_copy(half, half.message.check_times + 1)
                copies[action.half] = writer.put(copy)
            case Park():
                writer.put(stored_halves.build_parked(half))
            case Ask():
                producers, client = producers.choose(half.message.get(PGROUP) or "")
                if client is not None:
                    # the question names the copy, if the half message was put back
                    current = copies.get(action.half, half)
                    writer.add(Send(client, stored_halves.build_question(half, current)))
    offsets = broker.offsets
    if half_to != shown.half_offset:
        offsets = offsets.set(HALF_KEY, half_to)
    if op_to != shown.op_offset:
        offsets = offsets.set(OP_KEY, op_to)
    # what is in the half topic by now is old enough to be asked about in the next round
    aged = disk.log(HALF_QUEUE).end
    return replace(broker, offsets=offsets, producers=producers, aged=aged), writer.effects


def read_round(broker: BuiltBroker, disk: Disk) -> Round:
    """What is in both topics after where the last round stopped."""
    half_at, op_at = read_progress(broker.offsets)
    return Round(
        half_at,
        op_at,
        broker.config.check_max,
        tuple(
            Half(one.queue_offset, one.message.check_times, is_young(broker, one))
            for one in read_queue(disk, HALF_QUEUE, half_at)
        ),
        tuple(Op(one.queue_offset, parse_op(one)) for one in read_queue(disk, OP_QUEUE, op_at)),
    )


def is_young(broker: BuiltBroker, half: Stored) -> bool:
    """Whether transactionTimeOut has not passed; a copy is as old as its half."""
    new = half.queue_offset >= broker.aged and not half.message.check_times
    return new and broker.config.timeout_ms > 0


def check_round(seen: Round, actions: Any, half_to: Any, op_to: Any) -> None:
    """Refuse (Broken) what no round of the check does: an action on a half message that the round
    was not given, actions that do not fit each other, an offset outside of the round, an end before
    a half message that is old, and an op record (it names half messages that have ended) that every
    round would read again. `seen`: what the round was given; `half_to`, `op_to`: where the next one
    begins to read the half messages and the op records."""
    halves = {half.offset: half for half in seen.halves}
    for action in actions:
        if not isinstance(action, ACTIONS):
            raise Broken("{!r:.80} is no action: those are PutBack, Ask and Park", action)
        if action.half not in halves:
            raise Broken("{} names no half message of this round", action)
    _check_actions(seen, actions)
    for name, stop, start, count in (
        ("half_offset", half_to, seen.half_offset, len(seen.halves)),
        ("op_offset", op_to, seen.op_offset, len(seen.ops)),
    ):
        # `type`, as True is an int too
        if type(stop) is not int or not start <= stop <= start + count:
            raise Broken("`{}` {!r} is no place of this round: {} to {}",
                         name, stop, start, start + count)  # fmt: skip
    _check_stop(seen, halves.get(half_to), actions)
    unread = next((op for op in seen.ops if op.offset == op_to), None)
    if unread is not None and all(half < half_to for half in unread.ends):
        raise Broken(
            "op record {} names only half messages that are passed, and the op offset stays "
            "before it: every round reads it again, and the op topic grows for ever",
            unread.offset,
        )


def _check_actions(seen: Round, actions: Actions) -> None:
    """Refuse (Broken) actions that do not fit a half message: one twice; setting it aside where it
    has ended or gets another action too; a question before its copy is written; a copy without a
    question; and a copy or a question of a young one. A question alone, about the half message
    itself, is allowed."""
    ended = {half for op in seen.ops for half in op.ends}
    # `young`: it has not been there for the transaction timeout yet
    for half in seen.halves:
        own = [action for action in actions if action.half == half.offset]
        kinds = [type(action) for action in own]
        repeated = next((one for one in own if own.count(one) > 1), None)
        if repeated is not None:
            raise Broken("{} is done twice in one round", repeated)
        if Park in kinds and len(kinds) > 1:
            raise Broken((PARKED_AND_BACK if PutBack in kinds else PARKED_AND_ASKED)(half.offset))
        if Park in kinds and half.offset in ended:
            raise Broken(
                "half message {} is set aside, and an op record of this round says that it has "
                "ended: it is passed over",
                half.offset,
            )
        if kinds == [Ask, PutBack]:
            raise Broken(
                "{} comes before {}, so the question names a half message that is passed over, "
                "and its answer would end that one: put the half message back first, then ask, so "
                "that the question names the copy",
                *own,
            )
        if kinds == [PutBack]:
            raise Broken(
                "{} is done without Ask({}): `PutBack` only writes a copy, which "
                "counts as one more check; `Ask` is the question",
                own[0],
                half.offset,
            )
        if kinds and half.young and Park not in kinds:
            raise Broken(
                "half message {} is asked about while it is young, and its producer still at "
                "work: the round ends there, and its offset stays there",
                half.offset,
            )


def _check_stop(seen: Round, stop: Half | None, actions: Actions) -> None:
    """Refuse (Broken) a round that stops at a half message (`stop`; None: it went to the end) which
    has ended or is not young, and a round that has acted on this half message or a later one: the
    next round would do it again."""
    if stop is None:
        return
    again = [action for action in actions if action.half >= stop.offset]
    if again:
        raise Broken(
            "{} is done, and `half_offset` stays at {}: the next round finds the same half "
            "message and does it again",
            again[0],
            stop.offset,
        )
    if any(stop.offset in op.ends for op in seen.ops):
        raise Broken(
            "the round stops at half message {}, which has ended: what has ended is passed over, "
            "young or not",
            stop.offset,
        )
    if not stop.young:
        raise Broken(
            "the round stops at half message {}, which nobody has ended and which is not "
            "young: that is the one to ask about",
            stop.offset,
        )
