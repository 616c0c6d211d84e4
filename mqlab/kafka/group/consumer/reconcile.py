"""Reconciliation: how a member gets from what it has to what it shall have.

First it lets go: as long as it owns something that is meant for another, it keeps its old
epoch and is asked to give that back. Then it moves up to the target's epoch and is given
what is free; what another still holds it gets later, one heartbeat at a time. So no
partition is ever in two hands, and a member that keeps what it has never stops reading it.

Source: CurrentAssignmentBuilder (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Collection

from ....kernel import replace
from .values import ConsumerGroup, ConsumerMember, MemberState

_S = MemberState


def reconcile(
    group: ConsumerGroup, member: ConsumerMember, owned: Collection[str] | None
) -> ConsumerMember:
    """`owned`: what the member says it has; None: it does not say."""
    match member.state:
        case _S.STABLE if member.epoch == group.target_epoch:
            return member
        case _S.UNREVOKED_PARTITIONS:
            revoking = {name for name, _ in member.revoking}
            if owned is None or revoking.intersection(owned):
                return member  # it has not let go yet
    return _next(group, member, owned)


def _next(
    group: ConsumerGroup, member: ConsumerMember, owned: Collection[str] | None
) -> ConsumerMember:
    target = group.target.get(member.id, ())
    kept = tuple(row for row in member.assigned if row[0] in target)
    revoking = tuple(row for row in member.assigned if row[0] not in target)
    if revoking and (owned is None or any(name in owned for name, _ in revoking)):
        return replace(member, state=_S.UNREVOKED_PARTITIONS, assigned=kept, revoking=revoking)
    mine = frozenset(name for name, _ in kept)
    wanted = [name for name in target if name not in mine]
    taken = {
        name for other in group.members.values() if other.id != member.id for name, _ in other.holds
    }
    free = tuple((name, group.target_epoch) for name in wanted if name not in taken)
    return replace(
        member,
        state=_S.STABLE if len(free) == len(wanted) else _S.UNRELEASED_PARTITIONS,
        epoch=group.target_epoch,
        previous=member.epoch if member.epoch != group.target_epoch else member.previous,
        assigned=(*kept, *free),
        revoking=(),
    )
