"""The safeguards of three-phase commit, each a line of Skeen's protocol, and what they keep true.

It is true while every stop is noticed and nothing else is taken for one, and ends with that
assumption.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...kernel import FAILED, OK, Words, World
from ...kernel.claims import Claim
from ...kernel.world import NodeState
from ..claims import (
    LastWords,
    contradicts_outcomes,
    has_both,
    has_everywhere,
    read_last_words,
    reads_disks,
    reads_told,
)
from ..commit import TM, Parties
from ..model import name_safeguards
from .roles import ABORTED, ASK, COMMITTED, DECISIONS, LOG

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


def read_states(parties: Parties, world: World) -> LastWords:
    """transaction → party → the last word on that party's disk."""
    logs = ((TM, DECISIONS), *((name, LOG) for name in parties.participants))
    return read_last_words(world, logs)


def ends_alike(parties: Parties, world: World) -> bool:
    return not has_both(read_states(parties, world), COMMITTED, ABORTED)


def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: ABORTED, FAILED: COMMITTED}
    return not contradicts_outcomes(world, read_states(parties, world), against)


def all_have_ended(parties: Parties, world: World) -> bool:
    """Each node that runs has ended, no matter which others are down. One that was down itself may
    have to wait."""
    for name in parties.participants:
        node = world.nodes[name]
        if not node.up:
            continue
        timers = {timer for _, timer, _ in node.timers}
        if any(
            not node.roles[0].behind or f"{ASK} {txn}" not in timers
            for txn in node.roles[0].list_open()
        ):
            return False
    return True


def can_commit(parties: Parties, world: World) -> bool:
    return has_everywhere(read_states(parties, world), (TM, *parties.participants), COMMITTED)


def reads_running(parties: Parties, name: str, node: NodeState) -> Hashable:
    if name in ("app", TM) or not node.up:
        return node.up, None if name == "app" else node.disk
    role = node.roles[0]
    return node.disk, role.behind, role.states, node.timers


KEPT = (
    Claim(
        "ends alike",
        Words("no party commits what another aborts", "不会有一方提交了另一方中止的事务"),
        ends_alike,
        reads=reads_disks,
    ),
    Claim(
        "told the truth",
        Words("what the application was told is what happens", "应用得到的应答就是实际的结局"),
        is_as_told,
        reads=reads_told,
    ),
    Claim(
        "ends without it",
        Words(
            "each node that runs can end, no matter which others are down",
            "无论谁停止，仍在运行的各方都能结束",
        ),
        all_have_ended,
        "can_always",
        reads_running,
    ),
)
COMMITS = Claim(
    "commits",
    Words("a transaction can commit everywhere", "事务可以在各处提交"),
    can_commit,
    "sometimes",
    reads_disks,
)
UNKEPT = (
    Claim(
        "survives a partition",
        Words(
            "no party commits what another aborts, though a connection breaks",
            "即使连接断开，也不会有一方提交了另一方中止的事务",
        ),
        ends_alike,
        reads=reads_disks,
    ),
)
