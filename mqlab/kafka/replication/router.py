"""A client's way to the present leader.

A client asks any broker who leads a partition, or coordinates an id, and remembers the
answer. It forgets it when the connection breaks, or when an answer says that another broker leads;
then it asks again. As long as the answer is the leader whose connection has just
broken it pauses, asks once more, and tries that leader too: perhaps only the
connection was broken. The client inside knows partitions only.

Sources: Metadata, NetworkClient, TransactionManager#lookupCoordinator (clients, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace

from ...kernel import (
    Config,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Fired,
    Map,
    Response,
    Send,
    SetTimer,
    Text,
    frozen,
)
from ...kernel.role import Role
from ..config import KafkaConfig, partition_for
from ..coordinator.entry import (
    CoordinatorRequest,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
)
from ..errors import Error
from ..group import GroupRequest
from ..group.members import (
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
from ..log.role import DescribeProducers, DescribeProducersResponse
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
from .controller import FindCoordinator, Found, Leadership, Metadata

MOVED = frozenset(
    {Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE}
)
PAUSE = "metadata "


@frozen
class RouterConfig(Config):
    """`brokers`: every replica's role. `key`: the client's transactional id, "" for none."""

    cluster: KafkaConfig = KafkaConfig()
    brokers: tuple[str, ...] = ()
    key: str = ""
    pause_ms: int = 100


@frozen
class Router:
    """`inside`: the client. `known`: who leads. `lost`: the leadership whose connection
    broke. `waiting`: what cannot leave before its leader is known."""

    config: RouterConfig
    inside: Role
    known: Map[str, Leadership] = Map()
    lost: Map[str, Leadership] = Map()
    waiting: tuple[Send, ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Router, Effects]:
        match event:
            case Response(peer=peer, body=Found(leadership=found)):
                return self._learn_leader(found, peer)
            case Response(peer=peer, body=body):
                partition = peer.partition("@")[0]
                new = self
                if getattr(body, "error", Error.NONE) in MOVED:
                    new = replace(self, known=self.known.remove(partition))
                return new._step_inside(replace(event, peer=partition), disk)
            case ConnectionLost(peer=peer):
                return self._handle_lost_connection(peer, event, disk)
            case Fired(timer=timer) if timer.startswith(PAUSE):
                return self, self._ask_again(timer.removeprefix(PAUSE))
        return self._step_inside(event, disk)

    def _step_inside(self, event: Event, disk: Disk) -> tuple[Router, Effects]:
        client, effects = self.inside.step(event, disk)
        return replace(self, inside=client)._route(effects)

    def _route(self, effects: Effects) -> tuple[Router, Effects]:
        """Direct the client's requests to the leaders it knows. The first request to a partition
        whose leader is unknown asks a broker for it, and all requests to it wait for that
        answer. Effects that are not requests stay as they are."""
        new = self
        outgoing: list[Effect] = []
        for effect in effects:
            if not isinstance(effect, Send):
                outgoing.append(effect)
                continue
            leadership: Leadership | None = new.known.get(effect.to)
            if leadership is not None:
                outgoing.append(replace(effect, to=leadership.role))
                continue
            if all(w.to != effect.to for w in new.waiting):
                outgoing.append(new._ask(effect.to))
            new = replace(new, waiting=(*new.waiting, effect))
        return new, tuple(outgoing)

    def _ask(self, partition: str, broker: str = "", after: str = "") -> Send:
        """Any broker will do, but one that was just lost would not answer. `after`: the one that
        was asked last and is lost; the next in the list is asked."""
        gone = {leadership.role for leadership in self.lost.values()}
        brokers = self.config.brokers
        if after in brokers:
            at = brokers.index(after) + 1
            brokers = (*brokers[at:], *brokers[:at])
        broker = broker or next((b for b in brokers if b not in gone), brokers[0])
        if partition != self.config.cluster.coordinator:
            return Send(broker, Metadata(partition))
        count = self.config.cluster.txn_partitions
        where = f"__transaction_state-{partition_for(self.config.key, count)}"
        return Send(broker, FindCoordinator(self.config.key, where, partition))

    def _ask_again(self, partition: str) -> Effects:
        lost: Leadership | None = self.lost.get(partition)
        if lost is None:
            return (self._ask(partition),)
        return self._ask(partition), self._ask(partition, lost.role)

    def _learn_leader(self, news: Leadership, peer: str) -> tuple[Router, Effects]:
        """Take a broker's answer about a partition's leader: the requests that waited for it are
        sent. Where it names no leader, or none newer than the one whose connection broke (unless
        that one says so itself), the question is repeated after a pause."""
        lost: Leadership | None = self.lost.get(news.partition)
        stale = lost is not None and news.epoch <= lost.epoch and peer != lost.role
        if news.epoch < 0 or news.leader < 0 or stale:
            # There is no leader, or this broker has not heard of anything newer either.
            return self, (SetTimer(PAUSE + news.partition, self.config.pause_ms),)
        mine = tuple(w for w in self.waiting if w.to == news.partition)
        rest = tuple(w for w in self.waiting if w.to != news.partition)
        new = replace(
            self,
            known=self.known.set(news.partition, news),
            lost=self.lost.remove(news.partition),
            waiting=rest,
        )
        return new, tuple(replace(send, to=news.role) for send in mine)

    def _handle_lost_connection(
        self, peer: str, event: ConnectionLost, disk: Disk
    ) -> tuple[Router, Effects]:
        """What was asked of this leader is asked again of the next leader; a question
        about leaders that it did not answer goes to another broker."""
        partition = peer.partition("@")[0]
        led: Leadership | None = self.known.get(partition)
        if led is None or led.role != peer:
            partitions = dict.fromkeys(w.to for w in self.waiting)
            return self, tuple(self._ask(to, after=peer) for to in partitions)
        new = replace(self, known=self.known.remove(partition), lost=self.lost.set(partition, led))
        return new._step_inside(replace(event, peer=partition), disk)

    def describe_changes(self, old: Router | None) -> tuple[Text, ...]:
        changes: tuple[Text, ...] = self.inside.describe_changes(
            old.inside if old is not None else None
        )
        return changes


# How a broker refuses what it does not lead (or cannot append to): in the asker's terms

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
    """The answer that refuses a request a broker cannot serve: NOT_LEADER_OR_FOLLOWER, or
    NOT_COORDINATOR of a coordinator. `why`: another reason (COORDINATOR_LOAD_IN_PROGRESS,
    NOT_ENOUGH_REPLICAS), which a coordinator's clients may know under another name."""
    too_few = why is Error.NOT_ENOUGH_REPLICAS
    leader_error = Error.NOT_ENOUGH_REPLICAS if too_few else Error.NOT_LEADER_OR_FOLLOWER
    coordinator_error = SHORT.get(why, why) if why is not None else Error.NOT_COORDINATOR
    match body:
        case WriteTxnMarkers(txn_id=txn_id, pid=pid, epoch=epoch):
            return WriteTxnMarkersResponse(txn_id, pid, leader_error, epoch)
        case ListOffsets():
            return ListOffsetsResponse(-1, error=leader_error)
    if type(body) in LEADERS:
        return LEADERS[type(body)](error=leader_error)
    if type(body) in COORDINATORS:
        return COORDINATORS[type(body)](error=coordinator_error)
    raise TypeError(f"a broker is never sent {type(body).__name__}")
