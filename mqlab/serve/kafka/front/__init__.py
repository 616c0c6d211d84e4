"""The broker's front: what KafkaApis does between the wire and the roles.

A client's request names topics, versions and several partitions at once; a leader knows one
partition and no versions. This role is between them: it answers from the metadata what it
can, refuses what concerns nothing that exists, sends every partition its part, gathers the
answers and words them as the version of the request wants them.

    produce.py        Produce                    a batch a partition, looked at before it is sent
    fetch.py          Fetch                      the long poll: read, watch, read again
    transactions.py   InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn
    groups.py         JoinGroup, SyncGroup, Heartbeat, LeaveGroup; groups listed, described;
                      ListOffsets, OffsetCommit, OffsetFetch, TxnOffsetCommit
    deletion.py       DeleteGroups, OffsetDelete
    administration.py transactions and producers listed, described; WriteTxnMarkers
    topics.py         CreateTopics, CreatePartitions, DeleteTopics; the cluster: ApiVersions,
                      Metadata, FindCoordinator
    describing.py     DescribeConfigs; configs.py: what they may say
    altering.py       IncrementalAlterConfigs, of one config of the broker
    log_bounds.py     DeleteRecords, OffsetForLeaderEpoch

**Durable** are the tables `topics` and `configs` (in Kafka the controller's log); its driver
starts a leader for each partition of the first. **In memory** are the requests that wait for
a part of their answer.

*What can go wrong.* A client may leave while its request is in flight: what it asked for happens
all the same, without an answer. *Left out:* `kafka/unserved.py`, sessions of fetches, other
brokers.
Read on in KafkaApis, ReplicaManager#fetchMessages, DelayedFetch (core, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import field
from itertools import count
from typing import Any
from uuid import UUID

from ....kafka.config import KafkaConfig
from ....kafka.unserved import VERIFICATION
from ....kernel import (
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    frozen,
    replace,
)
from ..wire.api import Api, Ask
from . import (
    administration,
    altering,
    deletion,
    describing,
    fetch,
    groups,
    log_bounds,
    produce,
    topics,
    transactions,
)
from .fetch import PARTS
from .gathering import Gathering, finish, list_missing
from .internal import internal_topic
from .topic import INTERNAL, Topic

__all__ = ["BROKER", "PARTS", "Broker", "BrokerConfig", "Gathering", "Topic"]

BROKER = "broker"
NOTHING: Map[int, bool] = Map()
OFFSETS = "__consumer_offsets"


@frozen
class BrokerConfig:
    """`auto_create`: a topic that a client asks the metadata of comes into being. `kafka`: of the
    roles; `node_id`, `cluster_id`: what clients get."""

    kafka: KafkaConfig = field(default_factory=lambda: KafkaConfig(offsets_partitions=50))
    node_id: int = 1
    cluster_id: str = "mqlab"
    auto_create: bool = True


#: what a request begins, (broker, caller, request) → step; Produce also gets the time
HANDLERS: dict[Api, Any] = {
    Api.PRODUCE: produce.produce,
    Api.FETCH: fetch.begin,
    Api.LIST_OFFSETS: groups.list_offsets,
    Api.METADATA: topics.metadata,
    Api.OFFSET_COMMIT: groups.commit_offsets,
    Api.OFFSET_FETCH: groups.fetch_offsets,
    Api.FIND_COORDINATOR: topics.find_coordinator,
    Api.JOIN_GROUP: groups.join,
    Api.HEARTBEAT: groups.heartbeat,
    Api.LEAVE_GROUP: groups.leave,
    Api.SYNC_GROUP: groups.sync,
    Api.DESCRIBE_GROUPS: groups.describe_groups,
    Api.LIST_GROUPS: groups.list_groups,
    Api.API_VERSIONS: topics.api_versions,
    Api.CREATE_TOPICS: topics.create_topics,
    Api.CREATE_PARTITIONS: topics.create_partitions,
    Api.DELETE_TOPICS: topics.delete_topics,
    Api.DELETE_RECORDS: log_bounds.delete_records,
    Api.OFFSET_FOR_LEADER_EPOCH: log_bounds.find_epoch_ends,
    Api.INIT_PRODUCER_ID: transactions.init,
    Api.ADD_PARTITIONS_TO_TXN: transactions.add_partitions,
    Api.ADD_OFFSETS_TO_TXN: transactions.add_offsets,
    Api.END_TXN: transactions.end,
    Api.WRITE_TXN_MARKERS: administration.write_markers,
    Api.TXN_OFFSET_COMMIT: groups.commit_offsets,
    Api.DESCRIBE_CONFIGS: describing.describe_configs,
    Api.INCREMENTAL_ALTER_CONFIGS: altering.alter_configs,
    Api.DELETE_GROUPS: deletion.delete_groups,
    Api.OFFSET_DELETE: deletion.delete_offsets,
    Api.DESCRIBE_CLUSTER: administration.describe_cluster,
    Api.DESCRIBE_PRODUCERS: administration.describe_producers,
    Api.DESCRIBE_TRANSACTIONS: administration.describe_transactions,
    Api.LIST_TRANSACTIONS: administration.list_transactions,
}


@frozen
class Broker(Quiet):
    """`made`: how many topics there ever were; `internal`: the internal ones that are there; `ids`:
    names by topic id; `verification`: what VERIFICATION was set to while it runs, "" for nothing;
    `open`: requests that wait, by number; `asked`: by client, the numbers of its own. `last`: the
    number of the newest request."""

    config: BrokerConfig
    topics: Map[str, Topic] = Map()
    ids: Map[UUID, str] = Map()
    made: int = 0
    internal: Map[str, Topic] = Map()
    verification: str = ""
    open: Map[int, Gathering] = Map()
    asked: Map[str, Map[int, bool]] = Map()
    last: int = 0

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        match event:
            case Request(caller=caller, body=Ask(api=api) as ask, at_ms=at_ms):
                more = (at_ms,) if api is Api.PRODUCE else ()
                outcome: tuple[Broker, Effects] = HANDLERS[api](self, caller, ask, *more)
                return outcome
            case Response(corr=corr, body=body):
                return self._answered(corr >> PARTS, corr & ((1 << PARTS) - 1), body)
            case Fired(timer=timer):
                return fetch.end_wait(self, int(timer))
            case ConnectionLost(peer=peer):
                return self._left(peer)
        # Nothing else concerns the broker's front: it writes no log and has no application.
        return self, ()

    # -- gathering -------------------------------------------------------------------------

    def gather(self, caller: Caller, ask: Ask, answer: Any) -> tuple[Broker, Effects]:
        """Ask the roles for the parts that `answer` lacks (`Later`, `Rows`), and answer when all
        have answered; at once, where it lacks none."""
        missing = tuple(list_missing(answer))
        if not missing:
            return self, (Reply(caller, finish(answer, iter(()))),)
        number, new = self.begin(Gathering(caller, ask, answer, len(missing)))
        sends = (Send(p.role, p.message, number << PARTS | i) for i, p in enumerate(missing))
        return new, tuple(sends)

    def begin(self, waiting: Gathering) -> tuple[int, Broker]:
        """A request waits from now on, under a number."""
        number, client = self.last + 1, waiting.caller.name
        asked = self.asked.set(client, self.asked.get(client, NOTHING).set(number, True))
        return number, replace(self, open=self.open.set(number, waiting), asked=asked, last=number)

    def end(self, number: int, waiting: Gathering) -> Broker:
        """It waits no more."""
        client = waiting.caller.name
        left = self.asked[client].remove(number)
        asked = self.asked.set(client, left) if left else self.asked.remove(client)
        return replace(self, open=self.open.remove(number), asked=asked)

    def _answered(self, number: int, part: int, body: Any) -> tuple[Broker, Effects]:
        waiting: Gathering | None = self.open.get(number)
        if waiting is None:
            # Its client has left.
            return self, ()
        if isinstance(waiting.plan, fetch.Plan):
            return fetch.take_part(self, number, waiting, part, body)
        got = waiting.got.set(part, body)
        if waiting.left > 1:
            still = replace(waiting, got=got, left=waiting.left - 1)
            return replace(self, open=self.open.set(number, still)), ()
        answer = finish(waiting.plan, map(got.__getitem__, count()))
        return self.end(number, waiting), (Reply(waiting.caller, answer),)

    def _left(self, client: str) -> tuple[Broker, Effects]:
        """A client has gone: its requests wait no more."""
        new = self
        effects: list[Send | CancelTimer] = []
        for number in self.asked.get(client, NOTHING):
            waiting = self.open[number]
            new = new.end(number, waiting)
            if isinstance(waiting.plan, fetch.Plan):
                effects += [*fetch.unwatch(number, waiting.plan), CancelTimer(str(number))]
        return new, tuple(effects)

    # -- what there is ---------------------------------------------------------------------

    def topic(self, name: str | None, topic_id: UUID | None = None) -> Topic | None:
        """A topic by its name, or by its id where the version uses ids."""
        if name is None and topic_id is not None:
            name = self.ids.get(topic_id)
        return self.topics.get(name) or self.internal.get(name) if name else None

    def partition(self, name: str, index: int) -> str | None:
        """The role that leads this partition; None where there is none."""
        topic = self.topic(name)
        return f"{name}-{index}" if topic is not None and 0 <= index < topic.count else None

    def with_internal(self, name: str) -> Broker:
        """With this internal topic, which is needed soon."""
        if name in self.internal:
            return self
        topic = internal_topic(name, self.config.kafka)
        internal = self.internal.set(name, topic)
        return replace(self, internal=internal, ids=self.ids.set(topic.uuid, name))

    def has_internal(self, name: str, index: int) -> bool:
        """Whether an internal topic has, or will have, this partition."""
        return 0 <= index < internal_topic(name, self.config.kafka).count

    def find_role(self, name: str, index: int) -> str | None:
        """The same, `__consumer_offsets` included: transactions write there too."""
        if name == OFFSETS and 0 <= index < self.config.kafka.offsets_partitions:
            return f"{name}-{index}"
        return self.partition(name, index)

    @staticmethod
    def recover(config: BrokerConfig, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        there = disk.table("topics")
        ids = Map((topic.uuid, name) for name, topic in there.items())
        made = disk.table("broker").get("topics made", 0)
        given = dict(disk.table("configs").get(str(config.node_id), ()))
        broker = Broker(config, there, ids, made, verification=given.get(VERIFICATION, ""))
        for name in INTERNAL:
            if any(log.rpartition("-")[0] == name for log in disk.logs(name)):
                broker = broker.with_internal(name)
        return broker, ()
