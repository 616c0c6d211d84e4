"""A live trace with its clients in place of their connections.

A server tells of connections (`conn-7`). People know programs, and a program opens several
connections, one after the other and two at a time. Here a lane is called what its client calls
itself. A connection that comes after another of the same client goes on in its lane; one beside
it has a lane of its own, with a number: a second connection, or a second program that uses the
same transactional id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from mqlab.kernel.snapshot import Lane, Snapshot
from mqlab.kernel.text import Text
from mqlab.kernel.trace import Trace

CONNECTION = "conn-"  # how the server's names of connections begin


@dataclass
class _Stay:
    """A lane of the server's: how it is headed at last, and from which Snapshot to which its
    connection is open."""

    lane: Lane
    first: int
    end: int


def name_clients(trace: Trace) -> Trace:
    """The same run, its connections named by their clients in lanes and lines."""
    stays = _find_stays(trace.snapshots)
    names = _name(stays)
    heads = {names[conn]: stay.lane.subtitle for conn, stay in stays.items() if conn in names}
    facts = [
        replace(f, node=names.get(f.node, f.node), peer=names.get(f.peer, f.peer))
        for f in trace.facts
    ]
    snapshots = tuple(_rename(trace.snapshots, names, heads))
    return replace(trace, facts=tuple(facts), snapshots=snapshots)


def _find_stays(snapshots: tuple[Snapshot, ...]) -> dict[str, _Stay]:
    """Each lane by its name. A client may say late what it is called."""
    stays: dict[str, _Stay] = {}
    for at, snapshot in enumerate(snapshots):
        for lane in snapshot.lanes:
            stay = stays.setdefault(lane.name, _Stay(lane, at, at))
            stay.lane = lane
            if lane.up:
                stay.end = at + 1
    return stays


def _name(stays: dict[str, _Stay]) -> dict[str, str]:
    """A name for each connection; two that are open at once have two. A client that calls itself
    as a part of the broker is called, or as the disk, has another."""
    names: dict[str, str] = {}
    parts = {"disk", *(name for name in stays if not name.startswith(CONNECTION))}
    until: dict[str, list[float]] = {name: [inf] for name in parts}
    for conn, stay in sorted(stays.items(), key=lambda item: item[1].first):
        if conn not in parts:
            title = stay.lane.title.en
            lanes = until.setdefault(title, [])
            place = next((i for i, end in enumerate(lanes) if end <= stay.first), len(lanes))
            lanes[place : place + 1] = [stay.end]
            names[conn] = f"{title} ({place + 1})" if place else title
    return names


def _rename(
    snapshots: tuple[Snapshot, ...], names: dict[str, str], heads: dict[str, Text]
) -> Iterator[Snapshot]:
    before: tuple[Lane, ...] = ()
    lanes: tuple[Lane, ...] = ()
    for snapshot in snapshots:
        if snapshot.lanes != before:
            before, lanes = snapshot.lanes, _join(snapshot.lanes, names, heads)
        yield replace(snapshot, lanes=lanes)


def _join(
    lanes: tuple[Lane, ...], names: dict[str, str], heads: dict[str, Text]
) -> tuple[Lane, ...]:
    """Connections of one name become one lane, which is up while one of them is."""
    out: dict[str, Lane] = {}
    for lane in lanes:
        name = names.get(lane.name)
        if name is None:
            out[lane.name] = lane
        else:
            up = lane.up or (name in out and out[name].up)
            out[name] = Lane(name, Text(name), heads[name], up)
    return tuple(out.values())
