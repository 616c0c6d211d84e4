"""The level at which a client reads that sets none: the installed librdkafka is asked."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from .topics import QUIET, TIMEOUT_S, create, producer

DROPPED, KEPT = "aborted", "committed"


def read_first(address: str, topic: str = "levels") -> dict[str, str]:
    """What a consumer gets first of an aborted and a committed record, by the isolation.level that
    it sets; "": by none. The topic must be new."""
    create(address, topic, 1)
    who = producer(address, **{"transactional.id": topic})
    who.init_transactions(TIMEOUT_S)
    for value, end in ((DROPPED, who.abort_transaction), (KEPT, who.commit_transaction)):
        who.begin_transaction()
        who.produce(topic, value)
        who.flush(TIMEOUT_S)
        end(TIMEOUT_S)
    return {
        level: _read(address, topic, level) for level in ("", "read_committed", "read_uncommitted")
    }


def _read(address: str, topic: str, level: str) -> str:
    config = QUIET | {"bootstrap.servers": address, "group.id": topic}
    reader = Consumer(config | ({"isolation.level": level} if level else {}))
    reader.assign([TopicPartition(topic, 0, 0)])
    record = reader.poll(TIMEOUT_S)
    reader.close()
    assert record is not None and record.error() is None, record
    return str((record.value() or b"").decode())
