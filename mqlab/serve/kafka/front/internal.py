"""The internal topics: there to be read like any other, and never written by a client.

`__consumer_offsets` and `__transaction_state` come into being when a client first looks for a
coordinator. A partition of the first is led by its group coordinator. Those of the second belong to
the one transaction coordinator, so each of them has a reader: a role that answers Fetch
and ListOffsets from the log and gets each append.

Source: AutoTopicCreationManager, TransactionLogConfig, GroupCoordinatorConfig (Kafka 4.3).
"""

from __future__ import annotations

from ....kafka.config import KafkaConfig
from ....kafka.coordinator.entry import StateRecord
from ....kafka.errors import Error
from ....kafka.group import GroupCoordinator
from ....kafka.group.members import GroupMetadata
from ....kafka.log import Batch
from ....kafka.log.role import (
    DescribeProducers,
    DescribeProducersResponse,
    Watchers,
    add_watcher,
    remove_watcher,
    wake_watchers,
)
from ....kafka.messages import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    Unwatch,
    Watch,
)
from ....kernel import Appended, Disk, Effects, Event, Map, Quiet, Reply, Request, frozen, replace
from ..wire.internal import as_sent, state_batch
from .configs import value
from .topic import INTERNAL, Topic, topic_id

OFFSETS, STATE = INTERNAL
#: as a real broker creates them (TransactionStateManager#transactionTopicConfigs, GroupCoordinator)
CONFIGS = {
    OFFSETS: (
        ("cleanup.policy", "compact"),
        ("compression.type", "producer"),
        ("segment.bytes", "104857600"),
    ),
    STATE: (
        ("cleanup.policy", "compact"),
        ("compression.type", "uncompressed"),
        ("segment.bytes", "104857600"),
        ("unclean.leader.election.enable", "false"),
    ),
}


def internal_topic(name: str, kafka: KafkaConfig) -> Topic:
    count = kafka.offsets_partitions if name == OFFSETS else kafka.txn_partitions
    return Topic(name, count, topic_id(name, 0), CONFIGS[name])


@frozen
class ServedGroups(GroupCoordinator):
    """A coordinator whose log takes batches of max.message.bytes, as they are sent."""

    def has_room_for(self, record: GroupMetadata) -> bool:
        limit = int(value("max.message.bytes", CONFIGS[OFFSETS]))
        return as_sent(Batch((record,), at_ms=self.now_ms), lambda _: None).size <= limit


@frozen
class StateReader(Quiet):
    """Reads one partition of `__transaction_state` for clients."""

    name: str
    flexible: bool
    watchers: Watchers = Map()

    def step(self, event: Event, disk: Disk) -> tuple[StateReader, Effects]:
        """Answer a client that reads the log of the transaction coordinator, `__transaction_state`:
        fetches, offsets, producers (there are none), and watches that wake when something was
        appended. Returns the reader and its effects. Raises TypeError for any other request."""
        end = disk.log(self.name).end
        match event:
            case Request(caller=caller, body=Fetch() as ask):
                return self, (Reply(caller, self._fetch(ask, disk)),)
            case Request(caller=caller, body=ListOffsets(at_ms=at_ms)):
                return self, (Reply(caller, self._list_offset(at_ms, disk)),)
            case Request(caller=caller, body=DescribeProducers()):
                # The coordinator writes without a producer id, so there never is one.
                return self, (Reply(caller, DescribeProducersResponse()),)
            case Request(caller=caller, body=Watch() as ask):
                watchers, effects = add_watcher(self.watchers, caller, ask, end)
                return replace(self, watchers=watchers), effects
            case Request(caller=caller, body=Unwatch(corr=corr)):
                return replace(self, watchers=remove_watcher(self.watchers, caller, corr)), ()
            case Appended():  # both isolation levels read to the end: no transactions are in it
                watchers, effects = wake_watchers(self.watchers, lambda _: end)
                return replace(self, watchers=watchers), effects
            case Request(body=body):  # without an answer its client would wait forever
                raise TypeError(f"{self.name} is never sent {type(body).__name__}")
        return self, ()

    def _fetch(self, ask: Fetch, disk: Disk) -> FetchResponse:
        log = disk.log(self.name)
        if not log.start <= ask.offset <= log.end:
            return FetchResponse(Error.OFFSET_OUT_OF_RANGE)
        batches: list[Batch] = []
        size = 0
        for record in log.read(ask.offset):
            batch = state_batch(record, self.flexible)
            if batches and size + batch.size > ask.max_bytes:
                break
            batches.append(batch)
            size += batch.size
        aborted = () if ask.isolation == READ_COMMITTED else None
        return FetchResponse(Error.NONE, log.end, log.end, log.start, tuple(batches), aborted)

    def _list_offset(self, at_ms: int, disk: Disk) -> ListOffsetsResponse:
        log = disk.log(self.name)
        if at_ms in (EARLIEST, LATEST):
            return ListOffsetsResponse(log.start if at_ms == EARLIEST else log.end)
        records: list[StateRecord] = [r for r in log.read(0) if r.entry.update_ms >= at_ms >= 0]
        if not records:
            return ListOffsetsResponse(-1)
        return ListOffsetsResponse(records[0].base, records[0].entry.update_ms)
