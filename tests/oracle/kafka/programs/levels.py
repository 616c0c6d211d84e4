"""The level at which a consumer reads that sets none: one broker, two clients, two answers."""

from __future__ import annotations

from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.producer import start_producer

from ..stories import play_java
from . import JAVA, program

LEVELS = ("", "read_committed", "read_uncommitted")
WAIT_S = 30.0


@program(
    "default-levels",
    "ConsumerConfig#ISOLATION_LEVEL_CONFIG; isolation.level in librdkafka's CONFIGURATION.md",
    profiles=("tv2",),
    needs=(JAVA,),
)
def default_levels(lab: Lab) -> None:
    """An aborted record lies before a committed one. Who gets the aborted one?"""
    app = start_producer(lab, "A")
    app.send("orders-0", "aborted")
    app.abort()
    app.send("orders-0", "committed")
    app.commit()
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    play_java(lab, "ConsumerStories.java", "orders")
    for level in LEVELS:
        lab.note("librdkafka", "broker", level or "no level", _read_first(lab, level))


def _read_first(lab: Lab, level: str) -> str:
    """What a consumer of the installed librdkafka gets first."""
    import confluent_kafka as ck

    lab.clients["confluent-kafka"] = ""
    config = {"bootstrap.servers": lab.target.address, "group.id": lab.wire("reader")}
    reader = ck.Consumer(config | ({"isolation.level": level} if level else {}))
    try:
        reader.assign([ck.TopicPartition(*lab.split("orders-0"), 0)])
        first = reader.poll(WAIT_S)
    finally:
        reader.close()
    return (first.value() or b"").decode() if first is not None and not first.error() else "nothing"
