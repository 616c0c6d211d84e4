"""What a coordinator is written with: everything that `coordinator.py` imports.

A coordinator is a frozen class with two functions, both pure: no clock (`at_ms` is always 0), no
chance, no file.

    step(self, event, disk)               → (the coordinator afterwards, effects)
    recover(config, disk, at_ms, epoch)   → (a coordinator, effects)    after each start

`event` is one of

    Request(caller, body)             a producer or a partition's leader asks
    Appended(log, end)                your records below `end` are safe
    Response(peer, corr, body)        a leader answers a marker
    ConnectionLost(peer)              what you sent to `peer` may be lost, and so may its answer
    Fired(timer)                      a timer that you have set has run out

and each effect one of

    append(entry, disk, config)       write a record of `__transaction_state`; see `Append`
    Reply(caller, answer)             answer a request, now or in a later step
    Send(partition, WriteTxnMarkers)  ask the leader of a partition to write a marker
    SetTimer(name, after_ms)          and CancelTimer(name)

Effects are done one after the other, and the coordinator may be killed between any two of them.
A record is safe only when `Appended` says so. State is what the class holds; a crash loses it, and
`recover` makes it again from `entries_of(disk)`; until Part 3 it may do without `epoch`. Values
inside must be hashable: a `Map` with `.get`, `.set` and `.remove` in place of a dictionary, tuples
in place of lists.

    request               from       answer                       when it is answered
    InitProducerId        producer   InitProducerIdResponse       its record is safe
    AddPartitionsToTxn    leader     AddPartitionsToTxnResponse   its record is safe
    EndTxn                producer   EndTxnResponse               the decision is safe

An answer's first field is an `Error`, `Error.NONE` where all is well. To CONCURRENT_TRANSACTIONS a
client or leader retries later. INVALID_TXN_STATE refuses a commit where nothing is Ongoing.
PRODUCER_FENCED ends a producer for good.

From Part 3 on the log has a copy on a second node. A newer coordinator may start there, with
`recover`, while the older one still acts as leader.

* A record is safe when each copy that may lead has it. One that the older coordinator alone has is
  cut off later, and no `Appended` comes for it. Its broker answers waiting requests with
  NOT_COORDINATOR, and gives it no more events.
* `epoch` is the *coordinator epoch*, the leader epoch of the log: each start and new leader has
  a higher one. A marker carries it as `coordinator_epoch`, and a partition that has a marker with a
  higher one answers TRANSACTION_COORDINATOR_FENCED. Then the marker is not sent again.

The requests, records and states are Kafka 4.3's (transaction.version 2, clients of protocol v2;
TransactionCoordinator, TransactionMetadata; TransactionStateManager for a new leader). *Left out:*
AddOffsetsToTxn, exhausted epochs, and producer ids in blocks.
"""

from __future__ import annotations

from ...kafka.config import KafkaConfig, txn_log, txn_logs
from ...kafka.coordinator.entry import TIMEOUT, Entry, Pending, to_record
from ...kafka.errors import Error
from ...kafka.messages import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from ...kafka.states import TxnState
from ...kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Fired,
    Map,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    frozen,
    replace,
)

__all__ = [
    "TIMEOUT",
    "AddPartitionsToTxn",
    "AddPartitionsToTxnResponse",
    "Append",
    "Appended",
    "Caller",
    "CancelTimer",
    "ConnectionLost",
    "Disk",
    "EndTxn",
    "EndTxnResponse",
    "Entry",
    "Error",
    "Fired",
    "InitProducerId",
    "InitProducerIdResponse",
    "KafkaConfig",
    "Map",
    "Pending",
    "Reply",
    "Request",
    "Response",
    "Send",
    "SetTimer",
    "TxnState",
    "WriteTxnMarkers",
    "WriteTxnMarkersResponse",
    "append",
    "entries_of",
    "frozen",
    "replace",
    "txn_log",
]


#: those whose fields the page lists; of the others it says them above
SHOWN = (
    InitProducerId, InitProducerIdResponse, AddPartitionsToTxn, AddPartitionsToTxnResponse,
    EndTxn, EndTxnResponse, WriteTxnMarkers, WriteTxnMarkersResponse,
    Entry, Pending,
)  # fmt: skip


def append(entry: Entry, disk: Disk, config: KafkaConfig) -> Append:
    """The effect that writes what is now known of a transactional id after all other records of
    its partition of `__transaction_state`. `Appended(log, end)` follows with `end` one above the
    record's offset, `.entry.base`."""
    log = txn_log(entry.txn_id, config)
    return Append(log, to_record(entry, disk.log(log).end))


def entries_of(disk: Disk) -> Map[str, Entry]:
    """The last record of each transactional id."""
    return Map(
        (record.entry.txn_id, record.entry)
        for log in txn_logs(disk)
        for record in disk.log(log).read(0)
    )
