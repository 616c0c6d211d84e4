"""A broker's disk with messages in it, and what stands in a queue, for tests of single rooms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mqlab.kernel import Disk, Effects, MemoryDisk
from mqlab.rocketmq.check import build_half, build_op
from mqlab.rocketmq.config import SAFEGUARDS, RocketMQConfig
from mqlab.rocketmq.log import Stored, Writer, read_queue
from mqlab.rocketmq.messages import KEYS, PGROUP, TRAN_MSG, UNIQ_KEY, Message

GROUP = "order-service"
HALF, OP = "RMQ_SYS_TRANS_HALF_TOPIC-0", "RMQ_SYS_TRANS_OP_HALF_TOPIC-0"
DISCARD = "TRANS_CHECK_MAX_TIME_TOPIC-0"


def make_config(**changes: Any) -> RocketMQConfig:
    """Everything on, at most three checks."""
    options: dict[str, Any] = {"on": frozenset(SAFEGUARDS), "check_max": 3, **changes}
    return RocketMQConfig(**options)


def apply_all(disk: MemoryDisk, effects: Effects) -> MemoryDisk:
    for effect in effects:
        disk = disk.apply(effect)
    return disk


def put(disk: MemoryDisk, *messages: Message, at_ms: int = 0) -> MemoryDisk:
    """The disk with these messages written."""
    writer = Writer(disk, at_ms)
    for message in messages:
        writer.put(message)
    return apply_all(disk, writer.effects)


def make_message(order: str, *more: tuple[str, str], born_ms: int = 0) -> Message:
    """A message for `orders-0` as a transactional producer sends it."""
    message = Message("orders", 0, order, born_ms=born_ms, born_host="app", sys_flag=4)
    names = ((TRAN_MSG, "true"), (PGROUP, GROUP), (UNIQ_KEY, f"id-{order}"), (KEYS, order))
    return message.put(*names, *more)


def make_half(
    config: RocketMQConfig, order: str, *more: tuple[str, str], born_ms: int = 0
) -> Message:
    return build_half(make_message(order, *more, born_ms=born_ms), config)


def make_op(config: RocketMQConfig, body: str, born_ms: int = 0) -> Message:
    return build_op(body, config, born_ms)


def in_queue(disk: Disk, queue: str) -> list[Stored]:
    return read_queue(disk, queue)


def words_in(disk: Disk, queue: str) -> list[str]:
    """Each message of a queue by its body and its number of checks: `o1`, `o1 (2)`."""
    return [described(stored.message) for stored in read_queue(disk, queue)]


def described(message: Message) -> str:
    return f"{message.words} ({message.check_times})" if message.check_times else message.words


def sent(effects: Effects, kind: type) -> Iterable[Any]:
    """The bodies of this kind that a step sends, with whom they go to."""
    return [(e.to, e.body) for e in effects if hasattr(e, "to") and isinstance(e.body, kind)]
