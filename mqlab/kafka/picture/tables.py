"""The internal tables of Kafka, as rows of text: which columns they have and what stands there.

A lesson's world is small and trusted, so its tables are whole. A server keeps thousands of
positions, under names that strangers chose: it gives `most` (rows of a kind, the last ones are
kept) and `cut`, which makes a name short and shows what is unseen in it.

    table                   made from                                   key
    __transaction_state     the latest record of each transactional id  transactionalId
    .txnindex               the aborted transactions of a partition     partition
    __consumer_offsets      a group coordinator's memory                group, partition
    groups and members      a group coordinator's memory                group
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ...kernel import Table
from ..coordinator import Entry
from ..group import GroupCoordinator
from ..group.commits import Placed, Positions
from ..group.messages import describe_assignment
from ..log import AbortedTxn
from ..messages import braces
from ..states import TxnState
from . import words

STATE_COLUMNS = ("transactionalId", "pid", "epoch", "state", "partitions")
INDEX_COLUMNS = ("partition", "pid", "firstOffset", "lastOffset", "LSO")
POSITION_COLUMNS = ("group", "partition", "offset", "")
MEMBER_COLUMNS = ("group", "state", "generation", "member", "reads")

Row = tuple[str, ...]
Cut = Callable[[str], str]
T = TypeVar("T")


def draw_states(entries: Iterable[Entry], cut: Cut = str) -> Table:
    """`__transaction_state` as its compaction leaves it. `entries`: the latest of each
    transactional id; a Dead one is a tombstone, and no row."""
    living = (e for e in entries if e.state is not TxnState.DEAD)
    rows = tuple(
        (cut(e.txn_id), str(e.pid), str(e.epoch), str(e.state), cut(braces(e.partitions)))
        for e in sorted(living, key=lambda e: e.txn_id)
    )
    return Table(words.STATE_TABLE(), STATE_COLUMNS, rows)


def draw_index(aborted: Iterable[tuple[str, AbortedTxn]]) -> Table:
    """`.txnindex`, from (partition, aborted transaction) in the order of their logs."""
    rows = tuple(
        (partition, str(a.pid), str(a.first_offset), str(a.last_offset), str(a.lso))
        for partition, a in aborted
    )
    return Table(words.INDEX_TABLE(), INDEX_COLUMNS, rows)


def draw_positions(gc: GroupCoordinator | None, most: int = 0, cut: Cut = str) -> Table:
    """What a group coordinator has counted, then what is pending in each open transaction; no
    rows while nobody plays it. `most`: of what has counted, and of each transaction; 0: all."""
    rows: list[Row] = []
    if gc is not None:
        rows += [
            (cut(group), cut(partition), str(placed.position.offset), "")
            for group, partition, placed in _last(_each(gc.committed), most)
        ]
        rows += [
            (cut(group), cut(partition), str(placed.position.offset), f"pending, producerId {pid}")
            for pid, mine in gc.pending.items()
            for group, partition, placed in _last(_each(mine), most)
        ]
    return Table(words.OFFSETS_TABLE(), POSITION_COLUMNS, tuple(rows))


def _each(positions: Positions) -> list[tuple[str, str, Placed]]:
    """(group, partition, position) of all of them, in order."""
    return [(g, p, placed) for g, mine in positions.items() for p, placed in mine.items()]


def draw_members(gc: GroupCoordinator | None, most: int = 0, cut: Cut = str) -> Table:
    """Who reads what, in which generation; of a group that was left by all, the generation. `most`:
    groups, and members of each; 0: all."""
    groups = _last(gc.groups.values() if gc is not None else [], most)
    rows = [
        (
            cut(g.name),
            str(g.state),
            str(g.generation),
            cut(m.id),
            cut(describe_assignment(m.assignment)),
        )
        for g in groups
        for m in _last(g.members.values(), most)
    ]
    rows += [
        (cut(g.name), str(g.state), str(g.generation), "", "")
        for g in groups
        if g.generation and not g.members
    ]
    return Table(words.MEMBERS_TABLE(), MEMBER_COLUMNS, tuple(rows))


def _last(items: Sequence[T], most: int) -> Sequence[T]:
    return items[-most:] if most else items
