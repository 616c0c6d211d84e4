"""The safeguards of a message transaction, from the order's row to its effect elsewhere."""

from __future__ import annotations

from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "outbox": (
            "the order and the message about it are written in one local transaction",
            "订单和关于它的消息在同一个本地事务里写入",
        ),
        "publish_again": (
            "a message is sent until the queue has acknowledged it",
            "消息一直发送，直到队列确认",
        ),
        "redelivery": (
            "the queue gives a message again until it is acknowledged",
            "队列重复投递消息，直到它被确认",
        ),
        "acknowledge_last": (
            "the consumer acknowledges only what it has applied",
            "消费者只确认已经处理完的消息",
        ),
        "applies_once": (
            "the consumer writes what it has applied, and applies nothing twice",
            "消费者记录处理过的消息，不处理第二次",
        ),
    }
)
