"""The safeguards of an outbox, and what is true: messages may be repeated, no effect is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...kernel import OK, Words, World
from ...kernel.claims import Claim
from ..claims import list_outcomes, reads_disks, reads_running, reads_told
from ..model import name_safeguards
from ..records import read_records
from .roles import APPLIED, DATABASE, ORDERED, ORDERS, SHIPMENTS

if TYPE_CHECKING:
    from . import Outbox

SAFEGUARDS = name_safeguards(
    {
        "row_with_message": (
            "a row and the row of its message are written in one local transaction",
            "业务行和消息行在同一个本地事务里写入",
        ),
        "marks_each_row": (
            "each outbox row has a mark of its own; no number says how far the relay has read",
            "发件箱的每一行有自己的标记，而不是用一个编号表示读到了哪里",
        ),
        "marked_when_stored": (
            "the relay marks a row only when the broker has stored its message",
            "broker 保存消息之后，中继才标记这一行",
        ),
        "inbox": (
            "a consumer writes the id of a message together with its effect, "
            "and applies no id twice",
            "消费者把消息的 id 和效果一起写入，同一个 id 不处理第二次",
        ),
        "id_of_the_row": (
            "a message is known by the id of its row, not by its place in the topic",
            "消息靠所在行的 id 识别，而不是靠它在主题中的位置",
        ),
        "effect_before_ack": (
            "a consumer acknowledges a message only when its effect is written",
            "效果写入之后，消费者才确认消息",
        ),
    }
)

SHOP, BROKER, RELAY, SECOND = "shop", "broker", "relay", "relay-2"


def list_written(world: World, node: str, what: str) -> list[str]:
    """The transactions of a service's rows of one kind, in the order of their commits."""
    return [
        record.txn for record in read_records(world.disk(node), DATABASE) if record.what == what
    ]


def list_published(world: World, topic: str) -> list[str]:
    return [record.txn for record in read_records(world.disk(BROKER), topic)]


def drop_repeated(txns: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(txns))


def is_applied_once(system: Outbox, world: World) -> bool:
    lists = (list_written(world, name, APPLIED) for name in system.consumers)
    return all(len(applied) == len({*applied}) for applied in lists)


def has_a_row(system: Outbox, world: World) -> bool:
    """Whether each message stands for a row that was committed."""
    if not {*list_published(world, ORDERS)} <= {*list_written(world, SHOP, ORDERED)}:
        return False
    return {*list_published(world, SHIPMENTS)} <= {
        *list_written(world, system.consumers[0], APPLIED)
    }


def is_in_order(system: Outbox, world: World) -> bool:
    published = [*drop_repeated(list_published(world, ORDERS))]
    return published == list_written(world, SHOP, ORDERED)[: len(published)]


def is_as_told(system: Outbox, world: World) -> bool:
    ordered = list_written(world, SHOP, ORDERED)
    return all(txn in ordered for txn, status in list_outcomes(world) if status == OK)


def has_arrived(system: Outbox, world: World) -> bool:
    """Everything runs, every consumer has applied every order, every follow-up is published."""
    if not all(world.nodes[name].up for name in system.running):
        return False
    ordered = {*list_written(world, SHOP, ORDERED)}
    if not all(ordered <= {*list_written(world, name, APPLIED)} for name in system.consumers):
        return False
    return not system.follow_up or ordered <= {*list_published(world, SHIPMENTS)}


def is_published_once(system: Outbox, world: World) -> bool:
    lists = [list_published(world, topic) for topic in (ORDERS, SHIPMENTS)]
    return all(len(published) == len({*published}) for published in lists)


def is_seen_at_once(system: Outbox, world: World) -> bool:
    return list_written(world, SHOP, ORDERED) == list_published(world, ORDERS)


def can_apply(system: Outbox, world: World) -> bool:
    return any(list_written(world, name, APPLIED) for name in system.consumers)


KEPT = (
    Claim(
        "effect once",
        Words("no consumer applies an order twice", "没有消费者把一个订单处理两次"),
        is_applied_once,
        reads=reads_disks,
    ),
    Claim(
        "no message without row",
        Words("every message stands for a committed row", "每条消息都对应一个已提交的行"),
        has_a_row,
        reads=reads_disks,
    ),
    Claim(
        "order of commits",
        Words(
            "messages stand in the topic in the order of commits, apart from repetitions",
            "除重复外，主题中的消息按提交顺序排列",
        ),
        is_in_order,
        reads=reads_disks,
    ),
    Claim(
        "as told",
        Words("an order that was acknowledged is stored", "得到应答的订单都已保存"),
        is_as_told,
        reads=reads_told,
    ),
)
REACHES = Claim(
    "reaches all",
    Words("every order can still reach every consumer", "每个订单最终都能到达每个消费者"),
    has_arrived,
    "can_always",
    reads_running,
)
APPLIES = Claim(
    "applies",
    Words("an order can be applied", "订单可以被处理"),
    can_apply,
    "sometimes",
    reads_disks,
)
UNKEPT = (
    Claim(
        "published once",
        Words("a topic holds each message once", "主题中每条消息只有一份"),
        is_published_once,
        reads=reads_disks,
    ),
    Claim(
        "seen at once",
        Words("an order and its message are there at the same time", "订单和它的消息同时出现"),
        is_seen_at_once,
        reads=reads_disks,
    ),
)
