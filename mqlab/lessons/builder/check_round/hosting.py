"""A broker whose check round is a learner's function, and what a round may say.

Storing, ending and asking are the engine's. The function is given a `Round` and says what is to be
done; that is looked at first, for what cannot be at all, and written as the real round writes it
(TransactionalMessageServiceImpl#check, 5.5.0).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....kernel import Disk, Effects, Event, Send, replace
from ....rocketmq import check as stored_halves
from ....rocketmq.broker import Broker
from ....rocketmq.broker.timer import CHECK, read_progress
from ....rocketmq.check import parse_op
from ....rocketmq.config import RocketMQConfig
from ....rocketmq.log import HALF_KEY, HALF_QUEUE, OP_KEY, OP_QUEUE, Stored, Writer, read_queue
from ....rocketmq.messages import PGROUP
from ...roles import recover_as
from ..host import Broken, FunctionHost
from .api import Ask, Half, Op, Park, PutBack, Round

ACTIONS = (Ask, Park, PutBack)
Actions = tuple[Ask | Park | PutBack, ...]


class RoundHost(FunctionHost):
    """The process with the round of `source`."""

    noun = "a check round"
    page = "mqlab.lessons.builder.check_round.api"
    file = "check_round.py"
    needs = ("check",)

    def recover(self, config: RocketMQConfig, disk: Disk, at_ms: int) -> tuple[Any, Effects]:
        """The broker after a start."""
        return recover_as(BuiltBroker, Broker.recover, {"host": self}, config, disk, at_ms)

    def ask(self, seen: Round) -> tuple[Actions, int, int]:
        """What the function makes of a round; Broken where that cannot be."""
        reply = self.call("check", seen)
        if not (isinstance(reply, tuple) and len(reply) == 3 and isinstance(reply[0], tuple)):
            raise Broken("`check` must return three values: actions, half_offset, op_offset")
        check_round(seen, *reply)
        return reply


@dataclass(frozen=True, slots=True)
class BuiltBroker(Broker):
    """`broken`: why its round does no more; empty while it does."""

    broken: str = ""
    host: RoundHost = field(compare=False, repr=False, kw_only=True)

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        return (self, ()) if self.broken else Broker.step(self, event, disk)

    def _handle_timer(self, timer: str, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        if timer != CHECK:
            return Broker._handle_timer(self, timer, disk, at_ms)
        try:
            return make_round(self, disk, at_ms)
        except Broken as error:
            return replace(self, broken=str(error)), ()


def make_round(broker: BuiltBroker, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
    """One round; how far it came is noted last."""
    seen = read_round(broker, disk, at_ms)
    actions, half_to, op_to = broker.host.ask(seen)
    stored = {one.queue_offset: one for one in read_queue(disk, HALF_QUEUE, seen.half_offset)}
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
                producers, client = producers.choose(half.message.get(PGROUP) or "", None)
                if client is not None:
                    current = copies.get(action.half, half)
                    writer.add(Send(client, stored_halves.build_question(half, current)))
    offsets = broker.offsets
    if half_to != seen.half_offset:
        offsets = offsets.set(HALF_KEY, half_to)
    if op_to != seen.op_offset:
        offsets = offsets.set(OP_KEY, op_to)
    return replace(broker, offsets=offsets, producers=producers), writer.effects


def read_round(broker: Broker, disk: Disk, at_ms: int) -> Round:
    """What lies in both topics behind where the last round stopped."""
    half_at, op_at = read_progress(broker.offsets)
    return Round(
        half_at,
        op_at,
        broker.config.check_max,
        tuple(
            Half(one.queue_offset, one.message.check_times, is_young(broker.config, one, at_ms))
            for one in read_queue(disk, HALF_QUEUE, half_at)
        ),
        tuple(Op(one.queue_offset, parse_op(one)) for one in read_queue(disk, OP_QUEUE, op_at)),
    )


def is_young(config: RocketMQConfig, half: Stored, at_ms: int) -> bool:
    """Whether transactionTimeOut has not passed; at exactly that age 5.5 still calls it young."""
    age, timeout = at_ms - half.message.born_ms, config.timeout_ms
    return bool(timeout) and (age < timeout or (age == timeout and config.release != "4.9"))


def check_round(seen: Round, actions: Any, half_to: Any, op_to: Any) -> None:
    """Broken for what no round does: an action without a half, an offset that is no place, and an
    end before all is done."""
    halves = {half.offset: half for half in seen.halves}
    for action in actions:
        if not isinstance(action, ACTIONS):
            raise Broken(f"{action!r:.80} is no action: those are PutBack, Ask and Park")
        if action.half not in halves:
            raise Broken(f"{action} names no half of this round")
    for name, at, start, count in (
        ("half_offset", half_to, seen.half_offset, len(seen.halves)),
        ("op_offset", op_to, seen.op_offset, len(seen.ops)),
    ):
        if type(at) is not int or not start <= at <= start + count:
            raise Broken(f"`{name}` {at!r} is no place of this round: {start} to {start + count}")
    _check_stop(seen, halves.get(half_to), actions)
    late = next((op for op in seen.ops if op.offset == op_to), None)
    if late is not None and all(half < half_to for half in late.ends):
        raise Broken(
            f"op record {late.offset} names only halves that are passed, and the op offset stays "
            "before it: every round reads it again, and the op topic grows for ever"
        )


def _check_stop(seen: Round, stop: Half | None, actions: Actions) -> None:
    """A round goes on to the first half that is young."""
    if stop is None:
        return
    again = [action for action in actions if action.half >= stop.offset]
    if again:
        raise Broken(
            f"{again[0]} is done, and the half offset stays at {stop.offset}: the next round finds "
            "the same half and does it again"
        )
    if any(stop.offset in op.ends for op in seen.ops):
        raise Broken(
            f"the round stops at half {stop.offset}, which has ended: it is passed over, or "
            "nothing behind it is ever looked at"
        )
    if not stop.young:
        raise Broken(
            f"the round stops at half {stop.offset}, which nobody has ended and which is not "
            "young: that is the one to ask about"
        )
