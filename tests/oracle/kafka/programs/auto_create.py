"""Topics that come into being because a client asks about them, as a broker does by default."""

from __future__ import annotations

from typing import Any

from mqlab.real.kafka.batches import batch
from mqlab.real.kafka.client import READ_UNCOMMITTED, Lab, word
from mqlab.real.kafka.programs import send

from . import CONTROL, program

AUTO_CREATE = "auto.create.topics.enable"
WAIT_S = 20.0
LATEST = 12  # version of Metadata; the wish not to create came with version 4


def ask(lab: Lab, name: str, version: int = LATEST, create: bool = True) -> str:
    """One Metadata request about a topic, noted; its error."""
    fields: dict[str, Any] = lab.raw().metadata([lab.wire(name)])
    fields |= {"allow_auto_topic_creation": create, "include_cluster_authorized_operations": False}
    topic = lab.raw().ask(3, version, **fields).topics[0]
    error = word(topic.error_code)
    outcome = f"ok {len(topic.partitions)} partitions" if error == "ok" else error
    question = f"Metadata {name}{'' if create else ', not to be created'} v{version}"
    lab.note("client", "broker", question, outcome)
    return error


def there(lab: Lab, name: str) -> bool:
    """Whether there is a topic of this name and it can be read."""
    fields = lab.raw().metadata([lab.wire(name)])
    topic = lab.raw().ask(3, LATEST, **fields).topics[0]
    return not topic.error_code.value and bool(topic.partitions)


@program(
    "auto-create",
    "AutoTopicCreationManager, KafkaApis#handleTopicMetadataRequest: auto.create.topics.enable",
    profiles=("tv2",),
    needs=(CONTROL,),
    settings={AUTO_CREATE: "true"},
)
def auto_create(lab: Lab) -> None:
    """Metadata makes a topic, of one partition; whatever else names one does not."""
    ask(lab, "unwanted", create=False)
    for version in (1, 3, 4, 9, LATEST):
        ask(lab, f"asked-{version}", version)
        lab.wait_until(lambda v=version: there(lab, f"asked-{v}"), True)  # type: ignore[misc]
        ask(lab, f"asked-{version}", create=False)
    ask(lab, "no good!")
    lab.topic("of.us")
    ask(lab, "of_us")  # a name that collides: it is said to be on its way, and never comes
    send(lab, "unasked-0", "into nowhere", batch())
    for name in ("unasked", "of_us"):
        ask(lab, name, create=False)
    ask(lab, "unwanted", create=False)


@program(
    "first-program",
    "a new user's first program: it makes no topic (producer and consumer of confluent-kafka)",
    profiles=("tv2",),
    needs=(CONTROL,),
    settings={AUTO_CREATE: "true"},
)
def first_program(lab: Lab) -> None:
    """Nothing waits: a plain producer, a transactional one, a consumer that is early."""
    import confluent_kafka as ck

    lab.clients["confluent-kafka"] = ""
    address = {"bootstrap.servers": lab.target.address}

    def produce(client: Any, topic: str) -> None:
        reports: list[str] = []
        client.produce(lab.wire(topic), b"v", on_delivery=lambda e, _: reports.append(str(e)))
        left = client.flush(WAIT_S)
        lab.note("app", topic, "produce", f"{', '.join(reports)}; {left} left")

    produce(ck.Producer(address), "plain")
    app = ck.Producer({**address, "transactional.id": lab.wire("A")})
    app.init_transactions(WAIT_S)
    app.begin_transaction()
    produce(app, "bills")
    app.commit_transaction(WAIT_S)
    lab.note("app", "broker", "commit", "ok")
    for topic in ("plain", "bills"):
        lab.log(f"{topic}-0", end=1 + (topic == "bills"))
        lab.read(f"{topic}-0", READ_UNCOMMITTED)
    for create in (False, True):
        topic = f"early-{str(create).lower()}"
        consume_early(lab, topic, create)
        ask(lab, topic, create=False)


def consume_early(lab: Lab, topic: str, create: bool) -> None:
    """A consumer that subscribes before there is a topic: what it is told first. librdkafka
    2.16 creates none then, whatever it is told."""
    import confluent_kafka as ck

    reader = ck.Consumer(
        {
            "bootstrap.servers": lab.target.address,
            "group.id": lab.wire(topic),
            "allow.auto.create.topics": create,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        reader.subscribe([lab.wire(topic)])
        message = reader.poll(WAIT_S)
        error = message.error() if message is not None else None
        first = error.name() if error is not None else "nothing"
        lab.note("reader", topic, f"subscribe, allow.auto.create.topics {create}", first)
    finally:
        reader.close()
