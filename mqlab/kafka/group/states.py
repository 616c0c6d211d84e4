"""The states of a consumer group, as a table (ClassicGroupState, Kafka 4.3).

The coordinator checks every change of state against it, and a test that every transition of it
can be reached.

    Empty ──join──▶ PreparingRebalance ──all have joined──▶ CompletingRebalance
      ▲                  ▲      │                                │
      └──nobody is left──│──────┘        the leader's SyncGroup is safe in the log
                         │                                       ▼
                         └────somebody joins, leaves, is silent──Stable
"""

from __future__ import annotations

from enum import StrEnum


class GroupState(StrEnum):
    """A group at its coordinator. Dead belongs to groups that are unloaded or deleted."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_S = GroupState

#: state → the states it may be entered from.
PREVIOUS: dict[GroupState, frozenset[GroupState]] = {
    _S.EMPTY: frozenset({_S.PREPARING_REBALANCE}),
    _S.PREPARING_REBALANCE: frozenset({_S.STABLE, _S.COMPLETING_REBALANCE, _S.EMPTY}),
    _S.COMPLETING_REBALANCE: frozenset({_S.PREPARING_REBALANCE}),
    _S.STABLE: frozenset({_S.COMPLETING_REBALANCE}),
    _S.DEAD: frozenset(_S),
}


def may_enter(new: GroupState, old: GroupState) -> bool:
    """Whether the table has this transition."""
    return old in PREVIOUS[new]
