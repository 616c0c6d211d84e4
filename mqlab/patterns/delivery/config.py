"""What the three participants of a delivery agree on."""

from __future__ import annotations

from ...kernel import Config, frozen
from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "send_again": (
            "the shop sends an order again until it is acknowledged",
            "商店会重发订单，直到收到确认",
        ),
        "append_first": (
            "the queue acknowledges an order after it has written it",
            "队列先写入订单，再确认",
        ),
        "recognise": (
            "the queue recognises an order that it has already",
            "队列能识别已经收到过的订单",
        ),
        "one_write": (
            "accounting writes an amount and how far it has read in one write",
            "记账方把金额和读到的位置写在同一次写入中",
        ),
    }
)

AFTER, BEFORE = "after", "before"


@frozen
class DeliveryConfig(Config):
    """`patience_ms`: how long the shop waits for an acknowledgement. `commit`: whether accounting
    commits its position after or before it has counted an order, where these are two writes.
    `order` may say more: what accounting does with an order, piece by piece (`accounting.py`)."""

    patience_ms: int = 100
    commit: str = AFTER
