"""The connections of each group, in the order in which they registered, and which are closed."""

from __future__ import annotations

from ...kernel import Caller, Map

#: group → its connections
Members = Map[str, tuple[str, ...]]


#: client → the connection by which it came last, and the first that is not known to be closed
Met = Map[str, tuple[int, int]]


def meet(met: Met, caller: Caller) -> Met | None:
    """A client comes by a connection; None where that one has closed already. The news of a close
    may be heard later than what comes by the next connection, and earlier than what was still
    under way by the old one; a real broker reads each channel to its end, and then hears of it."""
    came, first = met.get(caller.name, (caller.conn, caller.conn))
    return None if caller.conn < first else met.set(caller.name, (max(came, caller.conn), first))


def close(met: Met, client: str) -> tuple[Met, bool]:
    """The oldest connection of a client that was not known to be closed has closed; True where the
    client has come by no newer one (ProducerManager#doChannelCloseEvent)."""
    if client not in met:
        return met, False
    came, first = met[client]
    return met.set(client, (came, first + 1)), came == first


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
