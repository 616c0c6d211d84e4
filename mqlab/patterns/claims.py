"""What claims of several models look at: the last words on disks, and what was reported to
applications.

A claim about disks holds after any restart, so most claims look at nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

from ..kernel import World
from ..kernel.world import NodeState
from .records import read_latest

LastWords = dict[str, dict[str, str]]


def read_last_words(world: World, logs: Iterable[tuple[str, str]]) -> LastWords:
    """transaction → node → the last word on that node's disk; `logs`: (node, its log)."""
    out: LastWords = {}
    for node, log in logs:
        for txn, record in read_latest(world.disk(node), log).items():
            out.setdefault(txn, {})[node] = record.what
    return out


def has_both(words: LastWords, one: str, other: str) -> bool:
    """Whether some transaction ended one way here and the other way there."""
    return any({one, other} <= {*last.values()} for last in words.values())


def contradicts_outcomes(world: World, words: LastWords, against: Mapping[str, str]) -> bool:
    """Whether one thing was reported to an application and a disk says another. `against`: for what
    was reported (ok, failed) the word that may then be nowhere."""
    return any(
        against.get(status) in words.get(txn, {}).values() for txn, status in list_outcomes(world)
    )


def list_outcomes(world: World) -> Iterator[tuple[str, str]]:
    """(transaction, status) of every call that has returned to an application."""
    for node in world.nodes.values():
        for outcome in node.app.results if node.app is not None else ():
            yield outcome.call.txn, outcome.status


def has_everywhere(words: LastWords, nodes: Collection[str], what: str) -> bool:
    """Whether some transaction has this last word on the disk of each of these nodes."""
    return any(all(last.get(node) == what for node in nodes) for last in words.values())


def reads_disks(system: object, name: str, node: NodeState) -> Hashable:
    """What a claim about disks looks at."""
    return None if node.app is not None else node.disk


def reads_running(system: object, name: str, node: NodeState) -> Hashable:
    """What a claim about disks and who runs looks at."""
    return None if node.app is not None else (node.up, node.disk)


def reads_told(system: object, name: str, node: NodeState) -> Hashable:
    """What a claim about disks and outcomes looks at."""
    return node.app.results if node.app is not None else node.disk
