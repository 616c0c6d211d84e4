"""Frames that are nearly right: every length wrong, every byte another.

The server is a process of its own here, because what is tested is that it lives on: a
decoder that believes an array's length once ended the whole process.
"""

from __future__ import annotations

import random
from types import SimpleNamespace as Part

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import read
from tests.serve.kafka.raw import (
    MINUTE,
    TRANSACTIONAL,
    Raw,
    batch,
    build_fetch,
    build_positions,
    write_request,
)
from tests.serve.mutation import change_bytes, work_beside

pytestmark = pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/kafka")

FRAMES = 10_000
TRANSACTIONS = 1_000
COMMIT = build_positions("t", 3, note="m")
MEMBER = {"member_id": "", "group_instance_id": None}
MINE = {"transactional_id": "x", "producer_id": 0, "producer_epoch": 0}
DATA = Part(index=0, records=batch([b"a", b"b"], 1, 0, 0, TRANSACTIONAL))
TOPIC = Part(
    name="t", num_partitions=1, replication_factor=1, assignments=(),
    configs=(Part(name="retention.ms", value="1"),),
)  # fmt: skip
WANTED = Part(name="t", partition_indexes=(0,))
MEMBERS = (Part(member_id="m", group_instance_id=None, reason=None),)
MARKER = Part(producer_id=0, producer_epoch=0, transaction_result=False, topics=(WANTED,),
              coordinator_epoch=0, transaction_version=0)  # fmt: skip
STAMP = Part(partition_index=0, current_leader_epoch=-1, timestamp=5)

SEEDS = [
    write_request(0, 11, transactional_id="x", acks=-1, timeout=MINUTE,
            topic_data=(Part(name="t", partition_data=(DATA,)),)),
    write_request(1, 11, **build_fetch("t")),
    write_request(2, 7, replica_id=-1, isolation_level=1,
            topics=(Part(name="t", partitions=(STAMP,)),)),
    write_request(3, 1, topics=None),
    write_request(3, 12, topics=(Part(name="t", topic_id=None),), allow_auto_topic_creation=True,
            include_topic_authorized_operations=False),
    write_request(8, 7, group_id="g", generation_id_or_member_epoch=-1, **MEMBER,
            topics=COMMIT),
    write_request(9, 8, require_stable=True,
            groups=(Part(group_id="g", topics=None), Part(group_id="h", topics=(WANTED,)))),
    write_request(10, 4, key_type=1, coordinator_keys=("x", "y")),
    write_request(11, 9, group_id="g", session_timeout=MINUTE, rebalance_timeout=MINUTE,
            member_id="", group_instance_id=None, protocol_type="consumer", reason=None,
            protocols=(Part(name="range", metadata=b"m"),)),
    write_request(12, 4, group_id="g", generation_id=1, member_id="m", group_instance_id=None),
    write_request(13, 5, group_id="g", members=MEMBERS),
    write_request(14, 5, group_id="g", generation_id=1, member_id="m", group_instance_id=None,
            protocol_type="consumer", protocol_name="range",
            assignments=(Part(member_id="m", assignment=b"a"),)),
    write_request(15, 6, groups=("g", "h"), include_authorized_operations=False),
    write_request(16, 5, states_filter=("Stable",), types_filter=()),
    write_request(18, 3, client_software_name="a", client_software_version="b"),
    write_request(19, 5, topics=(TOPIC,), timeout=MINUTE, validate_only=False),
    write_request(22, 4, transactional_id="x", transaction_timeout=MINUTE, producer_id=-1,
            producer_epoch=-1),
    write_request(24, 3, v3_and_below_transactional_id="x", v3_and_below_producer_id=0,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=(Part(name="t", partitions=(0,)),)),
    write_request(25, 3, **MINE, group_id="g"),
    write_request(26, 5, **MINE, committed=True),
    write_request(27, 2, markers=(MARKER,)),
    write_request(28, 3, **MINE, group_id="g", generation_id=-1, **MEMBER,
            topics=COMMIT),
    write_request(61, 0, topics=(WANTED,)),
    write_request(65, 0, transactional_ids=("x", "y")),
    write_request(66, 2, state_filters=("Ongoing",), producer_id_filters=(0,), duration_filter=-1,
            transactional_id_pattern="x.*"),
]  # fmt: skip


def test_ten_thousand_frames_beside_a_thousand_transactions() -> None:
    """Nearly right frames on one connection after the other; a client beside them finishes
    all its transactions, and exactly what it committed is read."""
    with serve() as broker:
        work_beside(
            lambda: disturb(broker.address, random.Random(1)), lambda: finish(broker.address)
        )
        values = read(broker.address, "mine")
        assert values == [str(i) for i in range(TRANSACTIONS) if i % 10 != 9]
        assert serves(broker)


def disturb(address: str, mischief: random.Random) -> None:
    client = Raw(address)
    for _ in range(FRAMES):
        try:
            client.send(change_bytes(mischief, mischief.choice(SEEDS), (0, 1, 1, 2, 5)))
            if mischief.random() < 0.05:
                raise ConnectionError
        except ConnectionError:  # it was closed on us, or we have had enough of it
            client.close()
            client = Raw(address)
    client.close()


def finish(address: str) -> None:
    """Every tenth transaction is aborted."""
    with Raw(address, timeout_s=600) as client:
        assert client.create("mine") == "none"
        given = client.init("worker")
        pid, epoch = given.producer_id, given.producer_epoch
        for i in range(TRANSACTIONS):
            data = batch([str(i).encode()], pid, epoch, 0, TRANSACTIONAL)
            while (told := client.produce("mine", 0, data, "worker", 12)).error_code:
                assert told.error_code.name == "concurrent_transactions"
            ended = client.end("worker", pid, epoch, commit=i % 10 != 9, version=5)
            assert ended.error_code.name == "none"
            epoch = ended.producer_epoch


def serves(broker: RunningBroker) -> bool:
    with Raw(broker.address) as client:
        return client.ask(3, 1, topics=None).brokers[0].node_id == 1


def test_every_offered_version_can_be_walked_and_written() -> None:
    from mqlab.serve.kafka.wire import codec
    from mqlab.serve.kafka.wire.api import OFFERED

    for api, (lowest, highest) in OFFERED.items():
        for version in range(lowest, highest + 1):
            codec._request(api, version)
            codec._response(api, version)
