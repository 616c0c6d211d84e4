"""Kafka's adapter in the server: see `serve/adapter.py` for what each part is.

One node plays the whole cluster: the front (`broker`), the coordinators of 50 partitions of
`__consumer_offsets`, a leader for each partition of the table `topics`, the transaction
coordinator, and a reader beside each partition of `__transaction_state`. A partition's log
keeps everything; those of `__transaction_state` are compacted by transactional id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from ...kafka.config import SAFEGUARDS
from ...kafka.coordinator import Coordinator
from ...kafka.coordinator.entry import StateRecord
from ...kafka.leader import STARTS, Gone, Leader
from ...kafka.log import Batch, index_of
from ...kafka.messages import FetchResponse
from ...kafka.states import TxnState
from ...kernel import Disk, Effects, Reply
from ..adapter import NO_CHANGE, Adapter, Change, Start
from ..disk import Compaction, Keeping, ServerDisk
from .entries import ENTRIES
from .frames import KafkaFrames
from .front import BROKER, Broker, BrokerConfig, Topic
from .front.internal import OFFSETS, STATE, ServedGroups, StateReader
from .trace import Observer

Recover = Callable[..., tuple[Any, Effects]]
#: what an outcome depends on; metadata, heartbeats and fetches pass the gate
HELD = (
    "InitProducerId", "AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit",
    "EndTxn",
)  # fmt: skip


def make_adapter(
    config: BrokerConfig | None = None, coordinator: Recover = Coordinator.recover
) -> Adapter:
    """Build the server's adapter for Kafka, which says how its protocol, roles and logs are served.
    `config`: None for the default settings. `coordinator(config, disk, at_ms)`: what starts the
    transaction coordinator, here possibly one that a learner wrote."""
    config = config if config is not None else BrokerConfig()
    kafka = config.kafka
    off = tuple(name for name in SAFEGUARDS if name not in kafka.on)
    return Adapter(
        name="kafka",
        system=f"kafka transaction_version={kafka.transaction_version}",
        frames=KafkaFrames,
        front=BROKER,  # the role that gets clients' requests
        starting=partial(start_roles, config, coordinator),
        gone=Gone(),  # answers for a role that is no more
        entries=ENTRIES,  # effects as the journal writes them
        keeping=Keeping(Batch, find_compaction, STARTS),  # how a log is kept, compacted, cut
        change=partial(change_topic, config),  # roles and logs that come or go with a topic
        observe=partial(Observer, kafka.coordinator, off=off),  # draws the live picture
        held=HELD,  # requests that the gate may hold
        weigh=weigh_batches,  # bytes that a recorded step keeps in memory
    )


# ---- roles -----------------------------------------------------------------------------------


def start_roles(config: BrokerConfig, coordinator: Recover, disk: ServerDisk) -> Iterator[Start]:
    kafka = config.kafka
    yield Start(BROKER, partial(Broker.recover, config))
    for number in range(kafka.offsets_partitions):
        group = f"{OFFSETS}-{number}"
        yield Start(group, partial(ServedGroups.recover, kafka, group))
    for topic in disk.table("topics").values():
        yield from lead(config, topic)
    yield Start(kafka.coordinator, partial(coordinator, kafka))
    for number in range(kafka.txn_partitions):
        log = f"{STATE}-{number}"
        yield Start(log, partial(read_along, log, kafka.transaction_version > 0), reads=log)


def lead(config: BrokerConfig, topic: Topic, since: int = 0) -> Iterator[Start]:
    """This node is the leader of every partition there is; of a topic that grows, those
    before `since` are led already."""
    for partition in topic.partitions[since:]:
        yield Start(partition, partial(Leader.recover, config.kafka, partition))


def read_along(log: str, flexible: bool, disk: Disk, at_ms: int) -> tuple[StateReader, Effects]:
    return StateReader(log, flexible), ()


def change_topic(
    config: BrokerConfig, table: str, key: str, old: Topic | None, new: Topic | None
) -> Change:
    """Leaders and logs come and go with the table `topics`."""
    if table != "topics":
        return NO_CHANGE
    if new is not None:
        return Change(begin=tuple(lead(config, new, old.count if old is not None else 0)))
    if old is None:
        return NO_CHANGE
    logs = tuple(log for name in old.partitions for log in (name, index_of(name)))
    return Change(end=old.partitions, drop=logs)


# ---- logs ------------------------------------------------------------------------------------


def is_expired(record: StateRecord) -> bool:
    return record.entry.state is TxnState.DEAD


BY_ID = Compaction(attrgetter("entry.txn_id"), is_expired)


def find_compaction(log: str) -> Compaction | None:
    """The partition of a topic called __transaction_state-0 is a log like any other."""
    return BY_ID if log.rpartition("-")[0] == STATE else None


def weigh_batches(effects: Effects) -> int:
    """The bytes of batches that an answer refers to."""
    if len(effects) == 1 and isinstance(effects[0], Reply):
        body = effects[0].body
        if isinstance(body, FetchResponse):
            return sum(batch.size for batch in body.batches)
    return 0
