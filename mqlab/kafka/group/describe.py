"""Groups as an administrator sees them.

Source: GroupMetadataManager#describeGroups, #listGroups (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Error
from .messages import DescribedMember, DescribeGroupResponse, ListedGroup, ListGroupsResponse
from .states import GroupState

if TYPE_CHECKING:
    from . import GroupCoordinator
    from .members import Group


def list_groups(gc: GroupCoordinator) -> ListGroupsResponse:
    groups = gc.groups.values()
    return ListGroupsResponse(
        tuple(ListedGroup(g.name, g.protocol_type, str(g.state)) for g in groups)
    )


def describe_group(gc: GroupCoordinator, name: str) -> DescribeGroupResponse:
    """As an administrator sees it; what members read is shown of a stable group only."""
    group: Group | None = gc.groups.get(name)
    if group is None:
        return DescribeGroupResponse(Error.GROUP_ID_NOT_FOUND, message=f"Group {name} not found.")
    stable = group.state is GroupState.STABLE
    members = tuple(
        DescribedMember(
            m.id,
            m.instance,
            m.client,
            m.host,
            dict(m.protocols).get(group.protocol, b"") if stable else b"",
            m.assignment if stable else b"",
        )
        for m in group.members.values()
    )
    protocol = group.protocol if stable else ""
    return DescribeGroupResponse(
        Error.NONE, str(group.state), group.protocol_type, protocol, members
    )
