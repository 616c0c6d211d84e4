"""Transactions over several topics and subscriptions, on the wire."""

from __future__ import annotations

from mqlab.pulsar.messages import TxnID
from mqlab.serve import RunningBroker
from mqlab.serve.pulsar import serve
from mqlab.serve.pulsar.wire.proto import ERRORS
from tests.serve.pulsar.raw import COMMIT, Raw, ask_admin, bits

SILENCE_S = 0.2


def error_of(body: object) -> str:
    return str(ERRORS.values_by_number[body.error].name)  # type: ignore[attr-defined]


def test_two_transactions_cannot_acknowledge_one_message(client: Raw, topic: str) -> None:
    client.produce(topic)
    sent = client.send("order").body.message_id
    client.subscribe(topic)
    client.receive(1)
    first, second = client.begin(), client.begin()
    answers = [client.ack_in(txn, topic, sent).body for txn in (first, second)]
    assert not answers[0].HasField("error")
    assert error_of(answers[1]) == "TransactionConflict"


def test_refusals_in_the_protocols_words(client: Raw, topic: str) -> None:
    nobody = TxnID(0, 1 << 40)
    client.begin()
    assert error_of(client.end(nobody, COMMIT).body) == "TransactionNotFound"
    added = client.ask("ADD_PARTITION_TO_TXN", partitions=[topic], **bits(nobody))
    assert error_of(added.body) == "TransactionNotFound"
    elsewhere = client.end(TxnID(7, 0), COMMIT)
    assert error_of(elsewhere.body) == "TransactionCoordinatorNotFound"


def test_a_deadline_aborts(client: Raw, topic: str) -> None:
    client.produce(topic)
    client.subscribe(topic)
    txn = client.begin(timeout_ms=200)
    client.send_in(txn, topic, "late")
    client.send("plain", sequence=1)
    assert client.receive(2, 5.0)[:1] == ["plain"]
    assert error_of(client.end(txn, COMMIT).body) == "TransactionNotFound"


def test_a_client_beyond_the_most_is_not_answered() -> None:
    with serve(max_active=1) as broker, Raw(broker.address) as client:
        txn = client.begin()
        client.tell("NEW_TXN", request_id=99, txn_ttl_millis=60_000, tc_id=0)
        assert not client.end(txn, COMMIT).body.HasField("error")
        assert [command.name for command in client.told] == []
        assert client.begin() > txn


def test_a_commit_waits_for_a_namespace_and_goes_on_by_itself(broker: RunningBroker) -> None:
    """The participant is in a namespace that does not exist: nothing ends before it is created."""
    with Raw(broker.address) as client:
        txn = client.begin()
        where = "persistent://public/nowhere/stock"
        assert not client.ask(
            "ADD_PARTITION_TO_TXN", partitions=[where], **bits(txn)
        ).body.HasField("error")
        client.tell("END_TXN", request_id=77, txn_action=COMMIT, **bits(txn))
        path = f"/admin/v3/transactions/transactionMetadata/0/{txn.least}"
        assert ask_admin(broker.address, "GET", path)[1]["status"] == "COMMITTING"
        assert ask_admin(broker.address, "PUT", "/admin/v2/namespaces/public/nowhere")[0] == 204
        ended = client.hear()
        assert (ended.name, ended.body.request_id) == ("END_TXN_RESPONSE", 77)
        assert not ended.body.HasField("error")
        assert ask_admin(broker.address, "GET", path)[0] == 404


def test_a_duplicate_is_stored_once() -> None:
    topic = "persistent://public/default/orders"
    with serve(dedup=True) as broker, Raw(broker.address) as client:
        client.produce(topic, producer_name="shop")
        client.send("one", sequence=5)
        again = client.send("one", sequence=5).body.message_id
        assert again.entryId == again.ledgerId == (1 << 64) - 1
        client.subscribe(topic)
        assert client.receive(1) == ["one"]
        assert client.receive(1, SILENCE_S) == []
        with Raw(broker.address) as other:
            client.ask("CLOSE_PRODUCER", producer_id=0)
            came = other.produce(topic, producer_name="shop").body
            assert came.last_sequence_id == 5
