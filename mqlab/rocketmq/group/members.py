"""The connections of each group, in the order in which they registered."""

from __future__ import annotations

from ...kernel import Map

#: group → its connections
Members = Map[str, tuple[str, ...]]


def join_group(members: Members, group: str, client: str) -> Members:
    there: tuple[str, ...] = members.get(group, ())
    return members if client in there else members.set(group, (*there, client))


def leave_group(members: Members, group: str, client: str) -> Members:
    """A client that stays connected leaves one of its groups."""
    left = tuple(c for c in members.get(group, ()) if c != client)
    return members.set(group, left) if left else members.remove(group)


def leave_groups(members: Members, client: str) -> Members:
    """The connection closed: no group has it any more."""
    for group, there in members.items():
        if client in there:
            left = tuple(c for c in there if c != client)
            members = members.set(group, left) if left else members.remove(group)
    return members
