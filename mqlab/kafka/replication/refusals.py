"""How a broker refuses what it does not lead (or cannot append to): in the asker's terms."""

from __future__ import annotations

from ..coordinator.messages import (
    CoordinatorRequest,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
)
from ..errors import Error
from ..group.dispatch import GroupRequest
from ..group.messages import (
    DescribeGroup,
    DescribeGroupResponse,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    ListGroups,
    ListGroupsResponse,
    SyncGroup,
    SyncGroupResponse,
)
from ..leader import LeaderRequest
from ..log.messages import DescribeProducers, DescribeProducersResponse
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

#: what a broker is sent for a role that leads there
BrokerRequest = LeaderRequest | GroupRequest | CoordinatorRequest
#: what is asked of a partition's leader → its answer
LEADERS: dict[type, type] = {
    Produce: ProduceResponse,
    Fetch: FetchResponse,
    DescribeProducers: DescribeProducersResponse,
}
#: what is asked of a coordinator → its answer
COORDINATORS: dict[type, type] = {
    InitProducerId: InitProducerIdResponse,
    AddPartitionsToTxn: AddPartitionsToTxnResponse,
    AddOffsetsToTxn: AddPartitionsToTxnResponse,
    EndTxn: EndTxnResponse,
    ListTransactions: ListTransactionsResponse,
    DescribeTransactions: DescribeTransactionsResponse,
    TxnOffsetCommit: OffsetCommitResponse,
    OffsetCommit: OffsetCommitResponse,
    OffsetFetch: OffsetFetchResponse,
    JoinGroup: JoinGroupResponse,
    SyncGroup: SyncGroupResponse,
    Heartbeat: HeartbeatResponse,
    LeaveGroup: LeaveGroupResponse,
    DescribeGroup: DescribeGroupResponse,
    ListGroups: ListGroupsResponse,
}
#: too few replicas are in sync: what a group's coordinator calls it
SHORT = {Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE}


def refuse_request(body: BrokerRequest, why: Error | None) -> object:
    """The answer with NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR; `why` where there is
    another reason: COORDINATOR_LOAD_IN_PROGRESS, NOT_ENOUGH_REPLICAS."""
    short = why is Error.NOT_ENOUGH_REPLICAS
    leader = Error.NOT_ENOUGH_REPLICAS if short else Error.NOT_LEADER_OR_FOLLOWER
    coordinator = SHORT.get(why, why) if why is not None else Error.NOT_COORDINATOR
    match body:
        case WriteTxnMarkers(txn_id=txn_id, pid=pid, epoch=epoch):
            return WriteTxnMarkersResponse(txn_id, pid, leader, epoch)
        case ListOffsets():
            return ListOffsetsResponse(-1, error=leader)
    if type(body) in LEADERS:
        return LEADERS[type(body)](error=leader)
    if type(body) in COORDINATORS:
        return COORDINATORS[type(body)](error=coordinator)
    raise TypeError(f"a broker is never sent {type(body).__name__}")
