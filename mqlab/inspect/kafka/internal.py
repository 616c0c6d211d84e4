"""The records of `__transaction_state` and `__consumer_offsets`, read: the way back from
`mqlab.serve.kafka.wire.internal`, which says what they look like.

Source: TransactionLogKey/Value.json, OffsetCommitKey/Value.json (Kafka 4.3); read of what 3.9 and
4.3 brokers wrote.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import field

from ...kernel import frozen, replace
from ...real.kafka.wire import Cursor, Unknown
from ...serve.kafka.wire.internal import STATUS
from ..reading import Txn
from .scan import Labels

STATES, GROUPS = "__transaction_state", "__consumer_offsets"
STATE_OF = {number: str(state) for state, number in STATUS.items()}
ONGOING = "Ongoing"
DECIDED = ("PrepareCommit", "PrepareAbort")


@frozen
class State:
    """A transactional id as its coordinator knows it; state "" of one that was forgotten.
    `written_by`: the version of its record, 1 from transaction.version 1 on; -1: not read."""

    txn_id: str
    pid: int = -1
    epoch: int = -1
    timeout_ms: int = -1
    state: str = ""
    update_ms: int = -1
    start_ms: int = -1
    partitions: tuple[str, ...] = ()
    source: str = ""
    written_by: int = -1


def read_state(key: bytes, value: bytes | None, source: str = "") -> State | None:
    """None for a key of another kind. Raises Unknown."""
    try:
        cursor = Cursor(key)
        if cursor.number("h") != 0:
            return None
        txn_id = cursor.text()
        return State(txn_id) if value is None else _state(txn_id, Cursor(value), source)
    except struct.error as error:
        raise Unknown("a record that ends inside a field") from error


def _state(txn_id: str, cursor: Cursor, source: str) -> State:
    """Decode the value of a record of `__transaction_state`: a transaction's state, versions 0 and
    1 of TransactionLogValue. `cursor` is at the value's first byte; `source`: where it was
    read. Raises Unknown for another version, struct.error where it ends too early."""
    version = cursor.number("h")
    if version not in (0, 1):
        raise Unknown("a transaction's state of version {}", version)
    cursor.flexible = version == 1  # newer lengths, and tagged fields
    pid, epoch, timeout_ms = cursor.number("q"), cursor.number("h"), cursor.number("i")
    state = STATE_OF.get(cursor.number("b"), "?")
    partitions: list[str] = []
    for _ in range(cursor.size("i")):
        topic = cursor.text()
        partitions += [f"{topic}-{cursor.number('i')}" for _ in range(cursor.size("i"))]
        if cursor.flexible:
            cursor.size("b")  # tagged fields, of which there are none
    # (what follows in tagged fields, such as the producer id before, is not needed)
    update_ms, start_ms = cursor.number("q"), cursor.number("q")
    fields = (txn_id, pid, epoch, timeout_ms, state, update_ms, start_ms, tuple(partitions))
    return State(*fields, source, version)


@frozen
class Committed:
    """A group's position; -1 of one that was forgotten."""

    group: str
    topic: str
    partition: int
    offset: int = -1


def read_committed(key: bytes, value: bytes | None) -> Committed | None:
    """None for a record that is no position. Raises Unknown."""
    try:
        cursor = Cursor(key)
        if cursor.number("h") not in (0, 1):
            return None
        place = (cursor.text(), cursor.text(), cursor.number("i"))
        if value is None:
            return Committed(*place)
        cursor = Cursor(value)
        if (version := cursor.number("h")) > 4:
            raise Unknown("a group's position of version {}", version)
        return Committed(*place, cursor.number("q"))
    except struct.error as error:
        raise Unknown("a record that ends inside a field") from error


@frozen
class Own:
    """What Kafka's judges know beside the reading. `states`: of the coordinator; `whole`: whether
    an id that is not among them is known to no coordinator; `left`: of a group and a log what
    `Scan.count_left` says; `live`: whether the broker is running; `sure_after_ms`: only what has
    been open for longer is compared with `states`, as these may be older than the logs."""

    states: tuple[State, ...] = ()
    whole: bool = False
    left: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    live: bool = True
    sure_after_ms: int = -1


def join_states(states: Iterable[State], opens: Iterable[Txn], labels: Labels) -> list[Txn]:
    """The open transactions, each with the id of its producer, and the coordinator's rows of those
    that go on or are open somewhere."""
    opens = list(opens)
    writers = {txn.owner for txn in opens}
    known = sorted(states, key=lambda state: state.txn_id)
    names = {str(state.pid): state.txn_id for state in known}
    rows = [replace(txn, name=names.get(txn.owner, "")) for txn in opens]
    for state in known:
        if state.state in (ONGOING, *DECIDED) or str(state.pid) in writers:
            rows.append(_row_of(state, opens, labels))
    return rows


def _row_of(state: State, opens: list[Txn], labels: Labels) -> Txn:
    """With the label of the transaction that it speaks of: from transaction.version 2 on, its epoch
    is one more as soon as it is decided."""
    raised = state.state not in (ONGOING, "Empty")
    epochs = (state.epoch, state.epoch - raised)
    same = (txn.label for txn in opens if txn.owner == str(state.pid) and txn.epoch in epochs)
    label = next(same, "")
    if not label and state.state in (ONGOING, *DECIDED):
        label = labels[state.pid, state.epoch]
    since = state.start_ms if state.state in (ONGOING, *DECIDED) else -1
    return Txn(
        label, state.txn_id, state.state, STATES, state.partitions, str(state.pid), state.epoch,
        -1, since, state.timeout_ms, state.source,
    )  # fmt: skip
