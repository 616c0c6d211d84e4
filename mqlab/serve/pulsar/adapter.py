"""Pulsar's adapter in the server: see `serve/adapter.py` for what each part is.

The front gets clients' requests. Each coordinator is a role, and so is each topic; a topic comes
with its row of the table `topics`, and is loaded again when that row changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ...kernel import Append, Disk, Effects, Put, Send, replace
from ...pulsar.config import SAFEGUARDS, PulsarConfig, name_coordinator
from ...pulsar.coordinator import Coordinator
from ...pulsar.ledger import Cursor, Stretch, join
from ...pulsar.messages import (
    AckPosition,
    BufferSnapshot,
    LedgerEntry,
    PendingAckEntry,
    TransactionMetadataEntry,
    TxnID,
)
from ...pulsar.states import AckType, MarkerType, TxnStatus
from ...pulsar.topic import Topic
from ..adapter import NO_CHANGE, Adapter, Change, Nobody, Start
from ..disk import (
    JSON_MARK,
    Effect,
    Entries,
    JsonForm,
    ServerDisk,
    looks_headed,
    read_headed,
    write_headed,
)
from ..options import ServeError
from .frames import PulsarFrames
from .front import FRONT, Front
from .front.hosting import Folder, host
from .front.topics import TOPICS, TopicRow
from .trace import Observer
from .wire.answers import Push, write_push
from .wire.commands import Batched, Payload

# The journal's entries of Pulsar: an entry of a topic with its message as it came, anything else
# as JSON.
#
# body     "M" length of the head 4 · head, a row of JSON · the message
#          "J" JSON of any other effect    (`serve/disk.py`)

FORM = JsonForm(
    (
        AckPosition, BufferSnapshot, Cursor, LedgerEntry, PendingAckEntry,
        TopicRow, TransactionMetadataEntry, TxnID,
    ),
    {
        (LedgerEntry, "marker"): MarkerType,
        (PendingAckEntry, "ack_type"): AckType,
        (TransactionMetadataEntry, "status"): TxnStatus,
        (TransactionMetadataEntry, "expected"): TxnStatus,
    },
)  # fmt: skip


def encode_effect(effect: Effect) -> bytes:
    match effect:
        case Append(log=log, entry=LedgerEntry(values=Batched(payload=payload)) as entry):
            return _write_message(log, entry, payload)
    return FORM.encode(effect)


def decode_effect(body: bytes) -> Effect:
    """Raises what `Entries` says, for a body that no version wrote."""
    if body[:1] == b"M":
        return _read_message(body)
    effect = FORM.decode(body)
    match effect:
        case Put(table=table, key=key, value=Cursor() as cursor):
            return Put(table, key, _read_cursor(cursor))
    return effect


def _read_cursor(read: Cursor) -> Cursor:
    """Older versions wrote each position, and each index of a batch, by itself where there are
    stretches now."""
    batches = tuple((at, _read_stretches(done)) for at, done in read.batches)
    written: tuple[Any, ...] = read.individual
    if _read_stretches(written) != written:  # mark_delete may touch what was written singly
        return Cursor(read.mark_delete, batches=batches).delete(written)
    return replace(read, batches=batches)


def _read_stretches(written: tuple[Any, ...]) -> tuple[Stretch, ...]:
    if all(type(one) is int for one in written):
        return join(written)
    for first, last in written:
        if type(first) is not int or type(last) is not int:
            raise ValueError("a cursor whose positions are no numbers")
    return written


def _write_message(log: str, entry: LedgerEntry, payload: Payload) -> bytes:
    txn = None if entry.txn is None else [entry.txn.most, entry.txn.least]
    row = (
        log, entry.base, entry.producer, entry.sequence, txn,
        payload.count, payload.is_batch, payload.text,
    )  # fmt: skip
    return write_headed(b"M", row, payload.data)


def _read_message(data: bytes) -> Append:
    (log, base, producer, sequence, txn, count, is_batch, text), payload = read_headed(data)
    values = Batched(Payload(payload, count, is_batch, text))
    named = None if txn is None else TxnID(*txn)
    return Append(log, LedgerEntry(base, values, producer, sequence, named))


ENTRIES = Entries(encode_effect, decode_effect, (b"M", JSON_MARK), looks_headed)


#: transactionBufferSnapshotMinTimeInMillis
SNAPSHOT_MS = 5_000


def make_adapter(config: PulsarConfig | None = None) -> Adapter:
    """Build the server's adapter for Pulsar, which says how its protocol, roles and logs are
    served. `config`: None for the server's defaults, with all safeguards on."""
    if config is None:
        config = PulsarConfig(on=frozenset(SAFEGUARDS), snapshot_ms=SNAPSHOT_MS)
    return Adapter(
        name="pulsar",
        system="pulsar",
        frames=PulsarFrames,
        push=write_push,
        front=FRONT,  # the role that gets clients' requests
        starting=partial(start_roles, config),
        change=partial(change_roles, config),  # roles and logs that come or go with a topic
        gone=Nobody(),  # answers for a role that is no more
        entries=ENTRIES,  # effects as the journal writes them
        observe=Observer,  # draws the live picture
        weigh=weigh_messages,  # bytes that a recorded step keeps in memory
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
            "this folder has transactions of {0} coordinators: start with --coordinators {0}", count
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


def weigh_messages(effects: Effects) -> int:
    """The bytes of messages that pushes refer to."""
    pushes = (e.body for e in effects if isinstance(e, Send) and isinstance(e.body, Push))
    return sum(len(push.message.values[0].data) for push in pushes)
