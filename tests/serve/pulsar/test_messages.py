"""Producers and consumers on the wire: types of subscriptions, batches, what is refused."""

from __future__ import annotations

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar.wire.commands import (
    COMMAND,
    LONGEST,
    WORD,
    Command,
    encode_command,
    read_bits,
    write_bits,
)
from mqlab.serve.pulsar.wire.proto import ERRORS
from tests.serve.pulsar.raw import Raw, ask_admin, make_message, read_text

EXCLUSIVE, SHARED, FAILOVER = 0, 1, 2
SILENCE_S = 0.2


def refusal(body: object) -> str:
    return str(ERRORS.values_by_number[body.error].name)  # type: ignore[attr-defined]


def test_a_second_consumer_is_refused(broker: RunningBroker, topic: str) -> None:
    with Raw(broker.address) as one, Raw(broker.address) as two:
        assert one.subscribe(topic, kind=EXCLUSIVE).name == "SUCCESS"
        refused = two.subscribe(topic, kind=EXCLUSIVE)
        assert (refused.name, refusal(refused.body)) == ("ERROR", "ConsumerBusy")
        assert refusal(two.ask("GET_LAST_MESSAGE_ID", consumer_id=0).body) == "MetadataError"
        one.produce(topic, producer_access_mode=1)
        assert refusal(two.produce(topic).body) == "ProducerBusy"
        for kind in ("consumer", "producer"):
            one.ask(f"CLOSE_{kind.upper()}", **{f"{kind}_id": 0})
        path = topic.replace("persistent:/", "/admin/v2/persistent")
        assert ask_admin(broker.address, "DELETE", path)[0] == 204, "those refused do not use it"


def test_ids_say_their_partition(broker: RunningBroker, client: Raw, topic: str) -> None:
    path = topic.replace("persistent:/", "/admin/v2/persistent")
    assert ask_admin(broker.address, "PUT", f"{path}/partitions", "2")[0] == 204
    client.produce(f"{topic}-partition-1")
    client.send("a")
    client.subscribe(f"{topic}-partition-1")
    last = client.ask("GET_LAST_MESSAGE_ID", consumer_id=0).body.last_message_id
    assert (client.take(1)[0].body.message_id.partition, last.partition) == (1, 1)


def test_a_client_that_leaves_gives_its_place_and_its_messages(
    broker: RunningBroker, topic: str
) -> None:
    with Raw(broker.address) as two:
        with Raw(broker.address) as one:
            one.produce(topic, producer_name="shop")
            one.send("a")
            one.subscribe(topic)
            assert one.receive(1) == ["a"]
            two.subscribe(topic)
            assert two.receive(1, SILENCE_S) == []
            busy = two.produce(topic, producer_name="shop")
            assert refusal(busy.body) == "ProducerBusy"
        assert two.receive(1) == ["a"]
        assert two.produce(topic, producer_name="shop").name == "PRODUCER_SUCCESS"


def test_consumers_of_a_failover_hear_who_is_served(broker: RunningBroker, topic: str) -> None:
    def hear(client: Raw) -> bool:
        command = client.told.pop() if client.told else client.hear()
        assert command.name == "ACTIVE_CONSUMER_CHANGE"
        return bool(command.body.is_active)

    with Raw(broker.address) as two:
        with Raw(broker.address) as one:
            one.subscribe(topic, kind=FAILOVER, consumer_name="a")
            assert hear(one) is True
            two.subscribe(topic, kind=FAILOVER, consumer_name="b")
            assert hear(two) is False
        assert hear(two) is True


def test_a_batch_is_acknowledged_message_by_message(
    broker: RunningBroker, client: Raw, topic: str
) -> None:
    client.produce(topic)
    client.subscribe(topic)
    data = make_message(b"three of them", num_messages_in_batch=3)
    client.tell("SEND", data, producer_id=0, sequence_id=0, num_messages=3)
    first = [client.hear(), client.hear()]
    ledger = first[0].body.message_id.ledgerId
    assert {command.name for command in first} == {"SEND_RECEIPT", "MESSAGE"}
    where = {"ledgerId": ledger, "entryId": 0, "ack_set": write_bits((1,), 3)}
    client.tell("ACK", consumer_id=0, ack_type=0, message_id=[where])
    client.tell("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0)
    again = client.hear()
    assert again.name == "MESSAGE" and again.body.redelivery_count == 1
    assert read_bits(again.body.ack_set, 3) == (1,)
    path = topic.replace("persistent:/", "/admin/v2/persistent")
    assert ask_admin(broker.address, "PUT", f"{path}/unload")[0] == 204
    client.subscribe(topic)
    assert not client.take(1)[0].body.ack_set, "an unload has forgotten it"


@pytest.mark.parametrize("size", [1, 3, 64, 65, 200])
def test_ack_sets_there_and_back(size: int) -> None:
    done = tuple(range(0, size, 3))
    assert read_bits(write_bits(done, size), size) == done


def test_a_damaged_message_is_not_stored(client: Raw, topic: str) -> None:
    client.produce(topic)
    data = bytearray(make_message(b"a"))
    data[-1] ^= 1
    client.tell("SEND", bytes(data), producer_id=0, sequence_id=0)
    said = client.hear()
    assert (said.name, refusal(said.body)) == ("SEND_ERROR", "ChecksumError")
    assert client.send("b").body.message_id.entryId == 0


def test_a_missing_namespace_and_a_name_that_is_none(client: Raw) -> None:
    for topic, error in [
        ("persistent://public/none/t", "TopicNotFound"),
        ("non-persistent://public/default/t", "NotAllowedError"),
        ("a/b", "InvalidTopicName"),
    ]:
        assert refusal(client.produce(topic).body) == error
        looked = client.ask("LOOKUP", topic=topic)
        assert (looked.name, refusal(looked.body)) == ("LOOKUP_RESPONSE", error)
        parts = client.ask("PARTITIONED_METADATA", topic=topic)
        assert refusal(parts.body) == error


def test_what_is_not_served_is_refused_under_its_number(client: Raw, topic: str) -> None:
    client.subscribe(topic)
    for name, fields in [
        ("CONSUMER_STATS", {"consumer_id": 0}),
        ("WATCH_TOPIC_LIST", {"watcher_id": 1, "namespace": "a/b", "topics_pattern": "x"}),
    ]:
        said = client.ask(name, **fields)
        assert (said.name, refusal(said.body)) == ("ERROR", "NotAllowedError")


def test_a_seek_closes_the_consumers_and_is_answered_then(client: Raw, topic: str) -> None:
    client.produce(topic)
    sent = client.send("a").body.message_id
    client.subscribe(topic)
    assert client.receive(1) == ["a"]
    assert client.ask("SEEK", consumer_id=0, message_id=sent).name == "SUCCESS"
    assert [command.name for command in client.told] == ["CLOSE_CONSUMER"]
    client.subscribe(topic)
    assert client.receive(1) == ["a"]
    for fields in ({"consumer_id": 0}, {"consumer_id": 9, "message_id": sent}):
        assert refusal(client.ask("SEEK", **fields).body) == "MetadataError"


def test_a_command_before_connect_ends_the_connection(broker: RunningBroker) -> None:
    with Raw(broker.address, connected=False) as early:
        early.tell("PING")
        with pytest.raises(EOFError):
            early.hear()


def test_partitions_are_given_by_the_administrator(client: Raw, broker: RunningBroker) -> None:
    path = "/admin/v2/persistent/public/default/many/partitions"
    assert ask_admin(broker.address, "PUT", path, "3")[0] == 204
    assert ask_admin(broker.address, "PUT", path, "3")[0] == 409
    assert ask_admin(broker.address, "PUT", path, "none")[0] == 400
    found = client.ask("PARTITIONED_METADATA", topic="many").body
    assert found.partitions == 3
    assert refusal(client.produce("many").body) == "NotAllowedError"
    assert refusal(client.produce("many-partition-3").body) == "TopicNotFound"
    beyond = client.ask("PARTITIONED_METADATA", topic="many-partition-3").body
    assert refusal(beyond) == "TopicNotFound"
    whole = path.removesuffix("partitions")
    assert ask_admin(broker.address, "GET", f"{whole}subscriptions")[0] == 501
    assert ask_admin(broker.address, "PUT", f"{whole}subscription/s")[0] == 501
    assert ask_admin(broker.address, "GET", "/admin/v2/nothing")[0] == 404


def test_a_reader_is_sent_the_message_that_it_names_too(client: Raw, topic: str) -> None:
    """Its client leaves it out, unless it reads inclusively."""
    client.produce(topic)
    _, start, _ = (client.send(text).body.message_id for text in "abc")
    client.subscribe(topic, kind=EXCLUSIVE, durable=False, start_message_id=start)
    assert client.receive(2) == ["b", "c"]


def test_a_topic_is_unloaded_and_its_clients_are_told(
    client: Raw, broker: RunningBroker, topic: str
) -> None:
    client.produce(topic)
    client.subscribe(topic)
    client.send("a")
    name = topic.rpartition("/")[2]
    path = f"/admin/v2/persistent/public/default/{name}"
    assert ask_admin(broker.address, "PUT", f"{path}/unload")[0] == 204
    assert client.receive(1) == ["a"]
    told = [command.name for command in client.told]
    while len(told) < 2:
        told.append(client.hear().name)
    assert sorted(told) == ["CLOSE_CONSUMER", "CLOSE_PRODUCER"]
    client.subscribe(topic)
    assert client.receive(1) == ["a"]
    assert ask_admin(broker.address, "DELETE", path)[0] == 412, "it is in use"
    assert ask_admin(broker.address, "DELETE", f"{path}?force=true")[0] == 204
    assert ask_admin(broker.address, "GET", f"{path}/internalStats")[0] == 404


def test_a_client_that_does_not_read_gets_everything_later(
    broker: RunningBroker, topic: str
) -> None:
    """Eight megabytes for somebody who sleeps: others are served, and nothing is lost."""
    text = "x" * 200_000
    with Raw(broker.address) as slow, Raw(broker.address) as shop:
        slow.subscribe(topic, kind=EXCLUSIVE)
        shop.produce(topic)
        for number in range(40):
            assert shop.send(f"{number}:{text}", sequence=number).name == "SEND_RECEIPT"
        got = slow.receive(40)
        assert [one.partition(":")[0] for one in got] == [str(n) for n in range(40)]


@pytest.mark.parametrize("count", [1, 1_000, 65_536])
def test_a_message_that_no_client_could_be_sent_is_refused(
    client: Raw, topic: str, count: int
) -> None:
    """A client takes frames as long as the broker does, and the frame to it has an ack set. At the
    limit it is stored and comes, also when half of it is acknowledged; one byte more is refused;
    the next message comes in either case. Each is read before the next is sent: a client that only
    sends while megabytes wait for it is not read either, and where the system's buffers are small
    both would wait for ever."""
    client.produce(topic)
    client.subscribe(topic)
    head = len(make_message(b"", num_messages_in_batch=count))
    most, got = LONGEST - COMMAND - WORD * -(-count // 64), list[Command]()
    for size, sent in ((most, "SEND_RECEIPT"), (most + 1, "SEND_ERROR")):
        data = make_message(b"x" * (size - head), num_messages_in_batch=count)
        client.tell("SEND", data, producer_id=0, sequence_id=0, num_messages=count)
        came = client._wait(lambda c: c.name in ("SEND_RECEIPT", "SEND_ERROR"))
        assert came.name == sent
        got = client.take(1) if sent == "SEND_RECEIPT" else got
    client.tell("FLOW", consumer_id=0, messagePermits=1 << 20)
    client.send("behind", sequence=1)
    (first,), (behind,) = got, client.take(1)
    assert len(first.message) == most and read_text(behind.message) == "behind"
    where = first.body.message_id
    done = write_bits(tuple(range(0, count, 2)), count) if count > 1 else [1]
    part = {"ledgerId": where.ledgerId, "entryId": 0, "ack_set": done, "batch_size": count}
    client.ask("ACK", consumer_id=0, ack_type=0, message_id=[part])
    client.tell("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0)
    again = client.take(2)
    assert len(again) == 2
    assert all(len(encode_command("MESSAGE", {
        field.name: value for field, value in one.body.ListFields()}, one.message)) <= LONGEST + 4
        for one in again)  # fmt: skip
