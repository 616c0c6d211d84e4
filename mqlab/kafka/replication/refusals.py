"""How a broker refuses what it does not lead (or cannot append to): in the asker's terms."""

from __future__ import annotations

from ..admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
)
from ..errors import Error
from ..messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    Fetch,
    FetchResponse,
    InitProducerId,
    InitProducerIdResponse,
    ListOffsets,
    ListOffsetsResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Produce,
    ProduceResponse,
    TxnOffsetCommit,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)


def refusal(body: object, loading: Error | None) -> object:
    """The answer with NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR, or with the error given."""
    leader = Error.NOT_LEADER_OR_FOLLOWER
    if loading is Error.NOT_ENOUGH_REPLICAS:
        leader = loading
    coordinator = loading or Error.NOT_COORDINATOR
    match body:
        case Produce():
            return ProduceResponse(leader)
        case WriteTxnMarkers(txn_id=txn_id, pid=pid):
            return WriteTxnMarkersResponse(txn_id, pid, leader)
        case Fetch():
            return FetchResponse(leader)
        case ListOffsets():
            return ListOffsetsResponse(-1, error=leader)
        case DescribeProducers():
            return DescribeProducersResponse(error=leader)
        case InitProducerId():
            return InitProducerIdResponse(coordinator)
        case AddPartitionsToTxn() | AddOffsetsToTxn():
            return AddPartitionsToTxnResponse(coordinator)
        case EndTxn():
            return EndTxnResponse(coordinator)
        case TxnOffsetCommit() | OffsetCommit():
            return OffsetCommitResponse(
                Error.COORDINATOR_NOT_AVAILABLE if loading is leader else coordinator
            )
        case OffsetFetch():
            return OffsetFetchResponse(error=coordinator)
        case ListTransactions():
            return ListTransactionsResponse(error=coordinator)
        case DescribeTransactions(txn_id=txn_id):
            return DescribeTransactionsResponse(coordinator, txn_id)
    raise TypeError(f"a broker is never sent {type(body).__name__}")
