"""Frames that are nearly right: every length wrong, every byte another.

The server is a process of its own here, because what is tested is that it lives on: a
decoder that believes an array's length once ended the whole process.
"""

from __future__ import annotations

import random
import struct
from types import SimpleNamespace as Part

import pytest

from mqlab.serve import RunningBroker, serve
from tests.serve.raw import MINUTE, TRANSACTIONAL, Raw, batch, fetching, request

FRAMES = 4_000
COMMIT = Part(
    partition_index=0, committed_offset=3, committed_leader_epoch=-1, committed_metadata="m"
)
MEMBER = {"member_id": "", "group_instance_id": None}
MINE = {"transactional_id": "x", "producer_id": 0, "producer_epoch": 0}
DATA = Part(index=0, records=batch([b"a", b"b"], 1, 0, 0, TRANSACTIONAL))
TOPIC = Part(
    name="t", num_partitions=1, replication_factor=1, assignments=(),
    configs=(Part(name="retention.ms", value="1"),),
)  # fmt: skip
WANTED = Part(name="t", partition_indexes=(0,))
STAMP = Part(partition_index=0, current_leader_epoch=-1, timestamp=5)

SEEDS = [
    request(0, 11, transactional_id="x", acks=-1, timeout=MINUTE,
            topic_data=(Part(name="t", partition_data=(DATA,)),)),
    request(1, 11, **fetching("t")),
    request(2, 7, replica_id=-1, isolation_level=1,
            topics=(Part(name="t", partitions=(STAMP,)),)),
    request(3, 1, topics=None),
    request(3, 12, topics=(Part(name="t", topic_id=None),), allow_auto_topic_creation=True,
            include_topic_authorized_operations=False),
    request(8, 7, group_id="g", generation_id_or_member_epoch=-1, **MEMBER,
            topics=(Part(name="t", partitions=(COMMIT,)),)),
    request(9, 8, groups=(Part(group_id="g", topics=None), Part(group_id="h", topics=(WANTED,))),
            require_stable=True),
    request(10, 4, key_type=1, coordinator_keys=("x", "y")),
    request(18, 3, client_software_name="a", client_software_version="b"),
    request(19, 5, topics=(TOPIC,), timeout=MINUTE, validate_only=False),
    request(22, 4, transactional_id="x", transaction_timeout=MINUTE, producer_id=-1,
            producer_epoch=-1),
    request(24, 3, v3_and_below_transactional_id="x", v3_and_below_producer_id=0,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=(Part(name="t", partitions=(0,)),)),
    request(25, 3, **MINE, group_id="g"),
    request(26, 5, **MINE, committed=True),
    request(28, 3, **MINE, group_id="g", generation_id=-1, **MEMBER,
            topics=(Part(name="t", partitions=(COMMIT,)),)),
]  # fmt: skip


def mutated(mischief: random.Random, frame: bytes) -> bytes:
    body = bytearray(frame[4:])
    for _ in range(mischief.choice((0, 1, 1, 2, 5))):
        at = mischief.randrange(len(body))
        match mischief.randrange(5):
            case 0 | 1:
                body[at] = mischief.randrange(256)
            case 2:
                number = mischief.choice((-1, -2, 2**31 - 1, -(2**31), 0, 1 << 20))
                body[at : at + 4] = struct.pack(">i", number)
            case 3:
                del body[at : at + mischief.randrange(1, 8)]
            case 4:
                body[at:at] = mischief.randbytes(mischief.randrange(1, 8))
        body = body if len(body) > 8 else body + bytes(9)
    return struct.pack(">i", len(body)) + bytes(body)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_server_survives_frames_that_are_nearly_right(seed: int) -> None:
    mischief = random.Random(seed)
    with serve() as broker:
        client = Raw(broker.address)
        for _ in range(FRAMES):
            try:
                client.send(mutated(mischief, mischief.choice(SEEDS)))
                if mischief.random() < 0.05:
                    raise ConnectionError
            except ConnectionError:  # it was closed on us, or we have had enough of it
                client.close()
                client = Raw(broker.address)
        client.close()
        assert serves(broker)


def serves(broker: RunningBroker) -> bool:
    with Raw(broker.address) as client:
        return client.ask(3, 1, topics=None).brokers[0].node_id == 1


def test_every_offered_version_can_be_walked_and_written() -> None:
    from mqlab.serve.wire import codec
    from mqlab.serve.wire.api import OFFERED

    for api, (lowest, highest) in OFFERED.items():
        for version in range(lowest, highest + 1):
            codec._request(api, version)
            codec._response(api, version)
