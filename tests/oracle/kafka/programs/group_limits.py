"""The limits of what a group's coordinator is asked and writes: commits, names, members.

See `limits.py`, which has those of batches, times and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from types import SimpleNamespace as Row
from typing import Any

from mqlab.real.kafka.batches import HEAD
from mqlab.real.kafka.client import Lab, word
from mqlab.real.kafka.wire import MINUTE, Raw
from mqlab.real.program import RealBrokerError
from tests.oracle.kafka.admin import bytes_of

from . import TV2, program
from .limits import LARGEST, add_partition, around, tell
from .topic_admin import create

PARTITIONS = 300
METADATA = 4_096  # offset.metadata.max.bytes
NAME = 249
TEXT = 32_767  # bytes of a text in a request
MADE_OF_IT = 37  # bytes that a broker adds to an instance to make a member id: "-" and a UUID
SESSION_MS = (6_000, 1_800_000)

# ---- what a group writes ---------------------------------------------------------------------


def commit(
    lab: Lab, group: str, *notes: str | None, offset: int = 1, epoch: int = -1
) -> Callable[[Raw], str]:
    """An OffsetCommit of a partition for each of these notes, from the first on."""

    def ask(raw: Raw) -> str:
        answer = raw.ask(
            8, 8, group_id=group, generation_id_or_member_epoch=-1, member_id="",
            group_instance_id=None, topics=positions(lab, notes, offset, epoch),
        )  # fmt: skip
        return told(answer)

    return ask


def commit_in_transaction(
    lab: Lab, pid: int, *notes: str, group: str = "g"
) -> Callable[[Raw], str]:
    def ask(raw: Raw) -> str:
        answer = raw.ask(
            28, 4, transactional_id=lab.wire("x"), group_id=lab.wire(group), producer_id=pid,
            producer_epoch=0, generation_id=-1, member_id="", group_instance_id=None,
            topics=positions(lab, notes),
        )  # fmt: skip
        return told(answer)

    return ask


def add_group(lab: Lab, raw: Raw, pid: int, group: str) -> None:
    """AddOffsetsToTxn of the transaction of `commit_in_transaction`."""
    mine = {"transactional_id": lab.wire("x"), "producer_id": pid, "producer_epoch": 0}
    raw.ask(25, 3, group_id=lab.wire(group), **mine)


def positions(
    lab: Lab, notes: Sequence[str | None], offset: int = 1, epoch: int = -1
) -> tuple[Row, ...]:
    parts = tuple(
        Row(partition_index=i, committed_offset=offset, committed_leader_epoch=epoch,
            committed_metadata=note)
        for i, note in enumerate(notes)
    )  # fmt: skip
    return (Row(name=lab.wire("t"), partitions=parts),)


def told(answer: Any) -> str:
    """The errors of a commit, each once."""
    return ", ".join(sorted({word(p.error_code) for p in answer.topics[0].partitions}))


@program("OffsetMetadataManager#isMetadataInvalid, KafkaApis", profiles=TV2)
def limits_offsets(lab: Lab) -> None:
    """offset.metadata.max.bytes; offsets and epochs that are none; and a commit whose records,
    in one batch, are larger than __consumer_offsets allows."""
    lab.topic("t", PARTITIONS)
    group = lab.wire("g")
    lab.coordinator("g", 0)
    pid = lab.raw().init(lab.wire("x")).producer_id
    add_group(lab, lab.raw(), pid, "g")
    for letter in ("a", "é", "€", "😀"):
        for size in around(METADATA // len(letter.encode("utf-16-le")) * 2):
            question = f"metadata of {size} x {letter}"
            to = "group coordinator"
            tell(lab, to, f"OffsetCommit {question}", commit(lab, group, letter * size))
        for size in around(METADATA // len(letter.encode())):
            question = f"metadata of {size} x {letter}"
            tell(lab, to, f"OffsetCommit {question}", commit(lab, group, letter * size))
    for size in around(METADATA):
        question = f"TxnOffsetCommit metadata of {size}"
        tell(lab, to, question, commit_in_transaction(lab, pid, "a" * size))
    tell(lab, to, "OffsetCommit no metadata", commit(lab, group, None))
    for offset in (-2, -1, 0, 2**63 - 1):
        tell(lab, to, f"OffsetCommit offset {offset}", commit(lab, group, "", offset=offset))
    for epoch in (-2, 0, 2**31 - 1):
        tell(lab, to, f"OffsetCommit leader epoch {epoch}", commit(lab, group, "", epoch=epoch))
    notes = ["a" * METADATA] * PARTITIONS
    question = f"of {PARTITIONS} x {METADATA} bytes of metadata"
    tell(lab, to, f"OffsetCommit {question}", commit(lab, group, *notes))
    tell(lab, to, f"TxnOffsetCommit {question}", commit_in_transaction(lab, pid, *notes))
    tell(lab, to, "OffsetCommit after it", commit(lab, group, ""))


class Filled:
    """What a group's coordinator writes, in a batch of exactly so many bytes. `ask(name, size)`
    has it written, `size` being what the request brings; the first is read where it lies."""

    FIRST = 1_000_000

    def __init__(self, lab: Lab, what: str, ask: Callable[[str, int], str]) -> None:
        self.lab, self.what, self.ask = lab, what, ask

    def try_all(self) -> None:
        written = f"{self.what}-0"
        for number in range(4):
            self.lab.patiently(partial(self.lab.ask_coordinator, f"{self.what}-{number}", 0))
        end = self.lab.end(log_of(self.lab, written))
        if not (outcome := self.ask(written, self.FIRST)).startswith("ok"):
            raise RealBrokerError(f"{self.what}: {outcome}")
        more = LARGEST - self._size_of(written, end)
        for number, size in enumerate(around(LARGEST), 1):
            outcome = self.ask(f"{self.what}-{number}", self.FIRST + more + size - LARGEST)
            question = f"{self.what} in a batch of {size} bytes"
            self.lab.note("client", "group coordinator", question, outcome)

    def _size_of(self, group: str, at: int) -> int:
        """Of the batch with what was asked for, among those from an offset on."""
        size = 0
        while size < self.FIRST:
            data = bytes_of(self.lab, log_of(self.lab, group), at)
            size, last = 0, 0
            while last + HEAD.size <= len(data):
                size = 12 + int.from_bytes(data[last + 8 : last + 12])
                last += size
        return size


def log_of(lab: Lab, group: str) -> str:
    """Where a group is coordinated: by Java's String#hashCode, without its sign."""
    code = 0
    for letter in lab.wire(group):
        code = (31 * code + ord(letter)) % 2**32
    return f"__consumer_offsets-{min(code, 2**32 - code) % 50}"


@program("CoordinatorRuntime#append, classicGroupSync", profiles=TV2)
def limits_commits(lab: Lab) -> None:
    """A commit, plain and in a transaction, and a group's record, each in a batch of about
    max.message.bytes; and what becomes of a group whose record is too large."""
    lab.topic("t", PARTITIONS)
    raw = lab.raw()
    pid = raw.init(lab.wire("x")).producer_id

    def plainly(group: str, size: int) -> str:
        return commit(lab, lab.wire(group), *split(size))(raw)

    def in_transaction(group: str, size: int) -> str:
        add_group(lab, raw, pid, group)
        return commit_in_transaction(lab, pid, *split(size), group=group)(raw)

    Filled(lab, "OffsetCommit", plainly).try_all()
    Filled(lab, "TxnOffsetCommit", in_transaction).try_all()
    Filled(lab, "SyncGroup", partial(assign, lab, raw)).try_all()


def split(size: int) -> list[str]:
    """So many bytes of metadata, over all partitions."""
    each, rest = divmod(size, PARTITIONS)
    return ["a" * each] * (PARTITIONS - 1) + ["a" * (each + rest)]


def assign(lab: Lab, raw: Raw, group: str, size: int) -> str:
    """What the one member of a group is told that assigns itself so many bytes, and what it is
    told at its next heartbeat."""
    name = lab.wire(group)
    fields: dict[str, Any] = {
        "group_id": name, "session_timeout": MINUTE, "rebalance_timeout": MINUTE,
        "group_instance_id": None, "protocol_type": "connect",
        "protocols": (Row(name="p", metadata=b""),),
    }  # fmt: skip
    member = raw.ask(11, 5, member_id="", **fields).member_id
    joined = raw.ask(11, 5, member_id=member, **fields)
    whose: dict[str, Any] = {
        "group_id": name, "generation_id": joined.generation_id, "member_id": member,
        "group_instance_id": None,
    }  # fmt: skip
    given = (Row(member_id=member, assignment=b"a" * size),)
    synced = raw.ask(14, 3, assignments=given, **whose)
    return f"{word(synced.error_code)}, then {word(raw.ask(12, 3, **whose).error_code)}"


@program("GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin", profiles=TV2)
def limits_static(lab: Lab) -> None:
    """A static member that comes back with a subscription that the group's record has, or has
    not, room for; and what becomes of it and of the member that it was before."""
    lab.topic("t")
    Filled(lab, "JoinGroup of a static member", partial(come_back, lab, lab.raw())).try_all()


def come_back(lab: Lab, raw: Raw, group: str, size: int) -> str:
    """What a static member is told that joins again with a subscription of so many bytes, then
    what its new id and its old one are told at a heartbeat, and the old one when it joins."""
    fields: dict[str, Any] = {
        "group_id": lab.wire(group), "session_timeout": MINUTE, "rebalance_timeout": MINUTE,
        "group_instance_id": "i", "protocol_type": "connect",
    }  # fmt: skip
    small, large = ((Row(name="p", metadata=b"a" * long),) for long in (1, size))
    old = raw.ask(11, 5, member_id="", protocols=small, **fields)
    whose = {
        "group_id": lab.wire(group),
        "generation_id": old.generation_id,
        "group_instance_id": "i",
    }
    given = (Row(member_id=old.member_id, assignment=b"a"),)
    raw.ask(14, 3, assignments=given, member_id=old.member_id, **whose)
    new = raw.ask(11, 5, member_id="", protocols=large, **fields)
    asked = [new, *(raw.ask(12, 3, member_id=m, **whose) for m in (new.member_id, old.member_id))]
    asked.append(raw.ask(11, 5, member_id=old.member_id, protocols=small, **fields))
    told = [word(answer.error_code) for answer in asked]
    new_id = "none" if not new.member_id else "its own" if new.member_id != old.member_id else "old"
    return f"{told[0]}, id {new_id}; heartbeats {told[1]}, {told[2]}; the old joins {told[3]}"


# ---- names -----------------------------------------------------------------------------------


@program("Topic#validate, KafkaApis, MessageUtil", profiles=TV2)
def limits_names(lab: Lab) -> None:
    """Names and texts: of topics, groups, transactional ids, members and their instances."""
    for size in around(NAME):
        create(lab, "n" * size, wire=False, validate=True)
    lab.topic("t")
    for size in (0, 1, *around(TEXT)):
        question = f"InitProducerId of {size} bytes"
        tell(lab, "coordinator", question, partial(ask_id, name="i" * size))
    for size in (0, 1, TEXT - 1, TEXT):  # these versions have no room for a longer text
        name = "i" * size
        tell(lab, "coordinator", f"OffsetCommit of a group of {size} bytes", commit(lab, name, ""))
        for what in ("group", "member"):
            fields: dict[str, Any] = {"group": lab.wire(f"{what}{size}"), what: name}
            question = f"JoinGroup with a {what} of {size} bytes"
            tell(lab, "coordinator", question, partial(join, lab, **fields))
    for size in (1, *around(TEXT - MADE_OF_IT)):
        fields = {"group": lab.wire(f"instance{size}"), "instance": "i" * size}
        question = f"JoinGroup with an instance of {size} bytes"
        tell(lab, "coordinator", question, partial(join, lab, **fields))
    for size in (0, 1, *around(TEXT - MADE_OF_IT), TEXT - 1, TEXT):
        asks = partial(join, lab, group=lab.wire(f"client{size}"), client="c" * size)
        tell(lab, "coordinator", f"JoinGroup by a client of {size} bytes", asks)
    for size in (1, TEXT - 1, TEXT):
        question = f"FindCoordinator of {size} bytes"
        tell(lab, "broker", question, partial(ask_where, name="f" * size))
        question = f"a transaction of an id of {size} bytes"
        tell(lab, "coordinator", question, partial(transact, lab, txn_id="j" * size))


def transact(lab: Lab, raw: Raw, txn_id: str) -> str:
    """What InitProducerId, AddPartitionsToTxn and EndTxn are told."""
    made = raw.init(txn_id)
    added = add_partition(raw, txn_id, made.producer_id, made.producer_epoch, lab.wire("t"))
    ended = raw.ask(
        26, 3, transactional_id=txn_id, producer_id=made.producer_id,
        producer_epoch=made.producer_epoch, committed=True,
    )  # fmt: skip
    return ", ".join(map(word, (made.error_code, added, ended.error_code)))


def ask_where(raw: Raw, name: str) -> str:
    return word(raw.coordinator(name, 1).error_code)


def ask_id(raw: Raw, name: str) -> str:
    return word(raw.init(name).error_code)


def join(
    lab: Lab, raw: Raw, group: str = "", member: str = "", instance: str | None = None,
    client: str = "mqlab", session_ms: int = 45_000, rebalance_ms: int = 60_000,
    protocols: tuple[str, ...] = ("range",), kind: str = "consumer",
) -> str:  # fmt: skip
    """The error of a JoinGroup v5; a new member is given an id."""
    group, raw.client = group or lab.wire("joined"), client
    answer = raw.ask(
        11, 5, group_id=group, session_timeout=timedelta(milliseconds=session_ms),
        rebalance_timeout=timedelta(milliseconds=rebalance_ms), member_id=member,
        group_instance_id=instance, protocol_type=kind,
        protocols=tuple(Row(name=name, metadata=b"") for name in protocols),
    )  # fmt: skip
    return word(answer.error_code)


@program("GroupMetadataManager#classicGroupJoin", profiles=TV2)
def limits_groups(lab: Lab) -> None:
    """Times and names of a member that joins; each in a group of its own."""
    lab.coordinator("g", 0)
    sessions = [*around(SESSION_MS[0]), *around(SESSION_MS[1]), -1, 0, 2**31 - 1]
    asked: list[tuple[str, dict[str, Any]]] = [
        (f"session of {ms} ms", {"session_ms": ms}) for ms in sessions
    ]
    asked += [(f"rebalance of {ms} ms", {"rebalance_ms": ms}) for ms in (-2, -1, 0, 2**31 - 1)]
    asked += [
        ("no protocol", {"protocols": ()}),
        ("a protocol without a name", {"protocols": ("",)}),
        ("a protocol twice", {"protocols": ("range", "range")}),
        ("no type", {"kind": ""}),
    ]
    for i, (question, fields) in enumerate(asked):
        asks = partial(join, lab, group=lab.wire(f"g{i}"), **fields)
        tell(lab, "group coordinator", f"JoinGroup {question}", asks)
