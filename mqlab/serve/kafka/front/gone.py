"""A partition that is no more, or never was.

Roles and clients that still have to do with it must get an answer. A coordinator that owes it a
marker is told that all is well: the transaction is over there, with everything else (Kafka drops
such a partition from the transaction, TransactionMarkerChannelManager).
"""

from __future__ import annotations

from ....kafka.errors import Error
from ....kafka.log.role import DescribeProducers, DescribeProducersResponse
from ....kafka.messages import (
    DeleteRecords,
    DeleteRecordsResponse,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    Produce,
    ProduceResponse,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from ....kernel import Disk, Effects, Event, Quiet, Reply, Request, frozen

UNKNOWN = Error.UNKNOWN_TOPIC_OR_PARTITION


@frozen
class Gone(Quiet):
    def step(self, event: Event, disk: Disk) -> tuple[Gone, Effects]:
        if not isinstance(event, Request):
            # An answer, an append or a timer of the leader that was.
            return self, ()
        match event.body:
            case WriteTxnMarkers(txn_id=txn_id, pid=pid, epoch=epoch):
                done = WriteTxnMarkersResponse(txn_id, pid, epoch=epoch)
                return self, (Reply(event.caller, done),)
            case Produce():
                return self, (Reply(event.caller, ProduceResponse(UNKNOWN)),)
            case Fetch():
                return self, (Reply(event.caller, FetchResponse(UNKNOWN)),)
            case DeleteRecords():
                return self, (Reply(event.caller, DeleteRecordsResponse(-1, UNKNOWN)),)
            case DescribeProducers():
                return self, (Reply(event.caller, DescribeProducersResponse(error=UNKNOWN)),)
            case ListOffsets():
                return self, (Reply(event.caller, ListOffsetsResponse(-1, error=UNKNOWN)),)
        # A long poll or the end of one: its timer answers the client.
        return self, ()
