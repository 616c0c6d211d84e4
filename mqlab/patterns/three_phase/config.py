"""The safeguards of three-phase commit: each is a line of Skeen's protocol."""

from __future__ import annotations

from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "third_phase": (
            "nobody commits before everybody has been told that all have voted yes",
            "在每一方都得知全体赞成之前，没有人提交",
        ),
        "acknowledged_precommit": (
            "the coordinator commits only when every PreCommit is acknowledged",
            "每个 PreCommit 都得到确认之后，协调者才提交",
        ),
        "asks_before_deciding": (
            "who takes over asks everybody it reaches before it decides",
            "接管者先询问它能联系到的每一方，再作决定",
        ),
        "levels_before_commit": (
            "who takes over tells all others PreCommit before it commits",
            "接管者先让其他各方都收到 PreCommit，再提交",
        ),
        "obeys_the_latest": (
            "who has answered a successor obeys nobody before it any more",
            "应答过接管者之后，不再听从在它之前的任何一方",
        ),
    }
)
