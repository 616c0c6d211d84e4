"""Access modes on the wire: what a client hears under which number, and what ends its connection.

That whole stories are answered as by a 4.2.4 the recordings say (`tests/oracle/pulsar/programs`).
"""

from __future__ import annotations

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar.wire.proto import ERRORS
from tests.serve.pulsar.raw import Raw, ask_admin

SHARED, EXCLUSIVE, WAITS, FENCES = range(4)


def told(body: object) -> str:
    return str(ERRORS.values_by_number[body.error].name)  # type: ignore[attr-defined]


def produce(client: Raw, topic: str, name: str, mode: int, number: int = 0, **more: int) -> object:
    """The body of the answer."""
    fields = {"producer_name": name, "producer_access_mode": mode, **more}
    return client.produce(topic, number, **fields).body


def test_one_that_waits_is_answered_twice_under_one_number(
    broker: RunningBroker, topic: str
) -> None:
    with Raw(broker.address) as one, Raw(broker.address) as two:
        assert produce(one, topic, "one", EXCLUSIVE).topic_epoch == 0
        waits = produce(two, topic, "two", WAITS)
        assert not waits.producer_ready and not waits.HasField("topic_epoch")
        assert one.ask("CLOSE_PRODUCER", producer_id=0).name == "SUCCESS"
        ready = two.hear().body
        assert (ready.request_id, ready.producer_ready) == (waits.request_id, True)
        assert (ready.producer_name, ready.topic_epoch) == ("two", 1)
        assert two.send("a").name == "SEND_RECEIPT"


def test_a_closed_connection_lets_the_next_one_in(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as two:
        with Raw(broker.address) as one:
            produce(one, topic, "one", EXCLUSIVE)
            produce(two, topic, "two", WAITS)
        assert two.hear().body.producer_ready


def test_what_is_fenced_hears_of_it_with_its_next_message(
    broker: RunningBroker, topic: str
) -> None:
    with Raw(broker.address) as zombie, Raw(broker.address) as new:
        produce(zombie, topic, "zombie", EXCLUSIVE)
        assert zombie.send("a").name == "SEND_RECEIPT"
        assert produce(new, topic, "new", FENCES).topic_epoch == 1
        with pytest.raises(EOFError):
            zombie.send("b")
        with Raw(broker.address) as back:
            assert told(produce(back, topic, "zombie", EXCLUSIVE, topic_epoch=0)) == (
                "ProducerFenced"
            )
            assert told(produce(back, topic, "zombie", SHARED)) == "ProducerBusy"
            back.subscribe(topic)
            assert new.send("c").name == "SEND_RECEIPT"
            assert back.receive(2) == ["a", "c"]


def test_those_that_wait_are_fenced_too_and_may_not_send(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as one, Raw(broker.address) as two, Raw(broker.address) as three:
        produce(one, topic, "one", EXCLUSIVE)
        number = produce(two, topic, "two", WAITS).request_id
        assert told(produce(two, topic, "two", WAITS)) == "ServiceNotReady"
        produce(three, topic, "three", WAITS)
        with pytest.raises(EOFError):
            three.send("early")
        produce(one, topic, "other", FENCES, number=1)
        fenced = two.hear()
        assert (fenced.body.request_id, told(fenced.body)) == (number, "ProducerFenced")


def test_an_administrator_sees_modes_and_the_epoch(broker: RunningBroker, topic: str) -> None:
    name = topic.removeprefix("persistent://")
    path = f"/admin/v2/persistent/{name}/stats"
    with Raw(broker.address) as one, Raw(broker.address) as two:
        produce(one, topic, "one", SHARED)
        assert "topicEpoch" not in ask_admin(broker.address, "GET", path)[1]
        produce(two, topic, "two", FENCES, number=3)
        told = ask_admin(broker.address, "GET", path)[1]
        publisher = {"producerId": 3, "producerName": "two", "accessMode": "ExclusiveWithFencing"}
        assert (told["topicEpoch"], told["publishers"]) == (0, [publisher])
