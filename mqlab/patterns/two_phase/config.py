"""The safeguards of two-phase commit, and what can be told about a participant."""

from __future__ import annotations

from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "prepared_on_disk": (
            "a participant writes what it needs to commit before it votes yes",
            "参与者在投赞成票之前，先把提交所需的一切写入磁盘",
        ),
        "unanimous": (
            "the coordinator commits only with every vote",
            "协调者只有得到全部赞成票才提交",
        ),
        "decision_first": (
            "the decision is on the coordinator's disk before anybody hears of it",
            "决定先写入协调者的磁盘，然后才告诉任何人",
        ),
        "waits_in_doubt": (
            "a participant that has voted yes does not decide by itself",
            "投了赞成票的参与者不自行决定",
        ),
        "asks_again": (
            "a participant in doubt asks until it hears what was decided",
            "存疑的参与者不断询问，直到得知决定",
        ),
        "presumed_abort": (
            "who asks about a transaction that is not written is told to roll back",
            "询问没有记录的事务时，得到的应答是回滚",
        ),
    }
)
