"""The safeguards of TCC: two of the coordinator, the others are what each service must know."""

from __future__ import annotations

from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "begun_on_disk": (
            "the coordinator writes that a transaction has begun before any Try leaves",
            "协调者先写下事务已开始，然后才发出任何 Try",
        ),
        "decision_on_disk": (
            "the decision is on disk before any Confirm or Cancel leaves",
            "决定先写入磁盘，然后才发出任何 Confirm 或 Cancel",
        ),
        "until_acknowledged": (
            "Confirm and Cancel are repeated until they are acknowledged",
            "Confirm 和 Cancel 一直重复，直到得到确认",
        ),
        "idempotent_confirm": (
            "a second Confirm changes nothing",
            "第二次 Confirm 不改变任何东西",
        ),
        "idempotent_cancel": (
            "a second Cancel changes nothing",
            "第二次 Cancel 不改变任何东西",
        ),
        "empty_cancel": (
            "a Cancel whose Try never came succeeds and gives nothing back (empty cancel)",
            "Try 从未到达的 Cancel 成功返回，但什么也不退还（空回滚）",
        ),
        "suspended_try": (
            "a Try that comes after its Cancel is refused (suspended try)",
            "在 Cancel 之后到达的 Try 被拒绝（防悬挂）",
        ),
    }
)
