"""Pulsar's home in the server: see `serve/home.py` for what each part is.

The front hears what clients ask. Each coordinator is a role, and so is each topic; a topic comes
with its row of the table `topics`, and is loaded again when that row changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ...kernel import Disk, Effects, Event, Quiet, Send, replace
from ...pulsar.config import SAFEGUARDS, PulsarConfig, name_coordinator
from ...pulsar.coordinator import Coordinator
from ...pulsar.topic import Topic
from ..disk import ServerDisk
from ..home import NO_CHANGE, Change, Home, ServeError, Start
from .entries import ENTRIES
from .frames import PulsarFrames
from .front import FRONT, Front
from .front.hosting import Folder, host
from .front.topics import TOPICS, TopicRow
from .trace.observer import Observer
from .wire.answers import write_push
from .wire.asks import Push

#: transactionBufferSnapshotMinTimeInMillis
SNAPSHOT_MS = 5_000


def make_home(config: PulsarConfig | None = None) -> Home:
    if config is None:
        config = PulsarConfig(on=frozenset(SAFEGUARDS), snapshot_ms=SNAPSHOT_MS)
    return Home(
        name="pulsar",
        system="pulsar",
        frames=PulsarFrames,
        push=write_push,
        front=FRONT,
        starting=partial(start_roles, config),
        change=partial(change_roles, config),
        gone=Nobody(),
        entries=ENTRIES,
        observe=Observer,
        weigh=weigh_messages,
    )


def start_roles(config: PulsarConfig, disk: ServerDisk) -> Iterator[Start]:
    check_coordinators(config, disk)
    yield Start(FRONT, partial(Front.recover, config))
    for tc_id in range(config.coordinators):
        yield _coordinator(config, tc_id)
    for row in disk.table(TOPICS).values():
        yield _topic(config, row)


def check_coordinators(config: PulsarConfig, disk: ServerDisk) -> None:
    """Their number may grow, as a cluster's: one that has a log goes on. Raises ServeError."""
    prefix = name_coordinator(0).removesuffix("0")
    known = (name.removeprefix(prefix).partition("/")[0] for name in disk.logs(prefix))
    count = 1 + max((int(number) for number in known if number.isdecimal()), default=0)
    if count > config.coordinators:
        raise ServeError(
            f"this folder has transactions of {count} coordinators: say --coordinators {count}"
        )


def change_roles(config: PulsarConfig, table: str, key: Any, old: Any, new: Any) -> Change:
    """A topic's row was made, or counts one load more; a coordinator's too."""
    match table, new:
        case ("topics", TopicRow() as row):
            return Change((_topic(config, row),), (row.name,) if old is not None else ())
        case ("coordinators", int()):
            tc_id = int(key.rpartition("-")[2])
            return Change((_coordinator(config, tc_id),), (key,))
    return NO_CHANGE


def _coordinator(config: PulsarConfig, tc_id: int) -> Start:
    def recover(disk: Disk, at_ms: int) -> tuple[Any, Effects]:
        name = name_coordinator(tc_id)
        return host(Coordinator.recover(config, tc_id, Folder(disk, name), at_ms), name, at_ms)

    return Start(name_coordinator(tc_id), recover)


def _topic(config: PulsarConfig, row: TopicRow) -> Start:
    missing = (row.name,) if row.missing else ()

    def recover(disk: Disk, at_ms: int) -> tuple[Any, Effects]:
        mine = Folder(disk, row.name)
        role = Topic.recover(replace(config, missing=missing), row.name, mine, at_ms)
        return host(role, row.name, at_ms, row.number)

    return Start(row.name, recover)


class Nobody(Quiet):
    """Plays a role that is no more: none ends for good here."""

    def step(self, event: Event, disk: Disk) -> tuple[Nobody, Effects]:
        return self, ()


def weigh_messages(effects: Effects) -> int:
    """The bytes of messages that pushes refer to."""
    pushes = (e.body for e in effects if isinstance(e, Send) and isinstance(e.body, Push))
    return sum(len(push.message.values[0].data) for push in pushes)
