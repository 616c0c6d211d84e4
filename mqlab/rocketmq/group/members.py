"""The connections of each group, in the order in which they registered, and which are closed."""

from __future__ import annotations

from ...kernel import Caller, Map, frozen, replace

#: group → its connections
Members = Map[str, tuple[str, ...]]


@frozen
class Known:
    """A client that has come: by the connection number `came` last; `first` is the first that is
    not known to be closed. `groups`: all that it has named, so that nobody need look for it."""

    came: int
    first: int
    groups: tuple[str, ...] = ()


#: client → what is known of it
Met = Map[str, Known]


def meet(met: Met, caller: Caller, groups: tuple[str, ...] = ()) -> Met | None:
    """A client comes by a connection; None where that one has closed already. The news of a close
    may be heard later than what comes by the next connection, and earlier than what was still
    under way by the old one; a real broker reads each channel to its end, and then hears of it."""
    known = met.get(caller.name, Known(caller.conn, caller.conn))
    if caller.conn < known.first:
        return None
    groups = tuple(dict.fromkeys((*known.groups, *groups)))
    return met.set(caller.name, Known(max(known.came, caller.conn), known.first, groups))


def close(met: Met, client: str) -> tuple[Met, tuple[str, ...] | None]:
    """The oldest connection of a client that was not known to be closed has closed; its groups
    where the client has come by no newer one (ProducerManager#doChannelCloseEvent)."""
    known: Known | None = met.get(client)
    if known is None:
        return met, None
    if known.came > known.first:
        return met.set(client, replace(known, first=known.first + 1)), None
    return met.set(client, Known(known.came, known.first + 1)), known.groups


def join_group(members: Members, group: str, client: str) -> Members:
    there: tuple[str, ...] = members.get(group, ())
    return members if client in there else members.set(group, (*there, client))


def leave_group(members: Members, group: str, client: str) -> Members:
    """A client that stays connected leaves one of its groups."""
    left = tuple(c for c in members.get(group, ()) if c != client)
    return members.set(group, left) if left else members.remove(group)


def leave_groups(members: Members, client: str, groups: tuple[str, ...]) -> Members:
    """The connection closed: none of its groups has it any more."""
    for group in groups:
        if client in members.get(group, ()):
            members = leave_group(members, group, client)
    return members
