"""kill -9 in the middle of the work: nothing acknowledged is lost, a transaction whose commit was
answered is whole, and what was aborted is never delivered."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

from mqlab.pulsar.messages import TxnID
from mqlab.serve.pulsar import serve
from tests.serve.pulsar.raw import ABORT, COMMIT, Raw, ask_admin, bits

KILLS = 12
TOPICS = ("persistent://public/default/orders", "persistent://public/default/payments")
PATIENCE_S = 60


class Producer(threading.Thread):
    """Writes to both topics in each transaction and never gives up. Every fourth transaction is
    aborted. `committed`, `aborted`: those whose end was answered; `plain`: what was stored."""

    def __init__(self, address: str, number: int) -> None:
        super().__init__(name=f"producer-{number}")
        self.address, self.number = address, number
        self.committed: list[str] = []
        self.aborted: list[str] = []
        self.plain: list[str] = []
        self.over = threading.Event()
        self.count = 0

    def run(self) -> None:
        while not self.over.is_set():
            try:
                with Raw(self.address) as client:
                    for number, topic in enumerate(TOPICS):
                        client.produce(topic, number)
                    while not self.over.is_set():
                        self._work(client)
            except (OSError, EOFError, AssertionError):  # it was killed: come back, and go on
                time.sleep(0.02)

    def _work(self, client: Raw) -> None:
        self.count += 1
        name = f"{self.number}:{self.count}"
        if client.send(f"plain {name}", sequence=self.count).name == "SEND_RECEIPT":
            self.plain.append(f"plain {name}")
        txn = client.begin()
        for number, topic in enumerate(TOPICS):
            said = client.send_in(txn, topic, name, number=number, sequence=self.count)
            assert said.name == "SEND_RECEIPT"
        aborts = self.count % 4 == 0
        ended = client.end(txn, ABORT if aborts else COMMIT)
        if not ended.body.HasField("error"):
            (self.aborted if aborts else self.committed).append(name)


def test_killed_again_and_again_under_load(tmp_path: Path) -> None:
    moments = random.Random(7)
    with serve(data_dir=tmp_path) as broker:
        producers = [Producer(broker.address, number) for number in range(2)]
        for producer in producers:
            producer.start()
        try:
            for _ in range(KILLS):
                time.sleep(moments.uniform(0.05, 0.4))
                broker.kill()
                broker.restart()
        finally:
            time.sleep(0.3)
            for producer in producers:
                producer.over.set()
            for producer in producers:
                producer.join(PATIENCE_S)
        end_what_is_open(broker.address)
        got = [read(broker.address, topic) for topic in TOPICS]
    for producer in producers:
        assert len(producer.committed) > KILLS, "it has worked between the kills"
        for name in producer.committed:
            assert [texts.count(name) for texts in got] == [1, 1], name
        for name in producer.aborted:
            assert [texts.count(name) for texts in got] == [0, 0], name
        assert set(producer.plain) <= set(got[0])
    transactional = [{text for text in texts if "plain" not in text} for texts in got]
    assert transactional[0] == transactional[1], "all of a transaction or nothing"


def end_what_is_open(address: str) -> None:
    """Transactions that nobody has ended: an administrator aborts them."""
    with Raw(address) as client:
        client.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=0)
    path = "/admin/v3/transactions"
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        _, slow = ask_admin(address, "GET", f"{path}/slowTransactions/0")
        if not slow:
            return
        for txn in slow:
            most, least = txn.strip("()").split(",")
            ask_admin(address, "POST", f"{path}/abortTransaction/{most}/{least}")
    raise AssertionError("a transaction cannot end")


def read(address: str, topic: str) -> list[str]:
    """Everything that a new subscription is sent."""
    with Raw(address) as client:
        client.produce(topic)
        client.send("the last one")
        client.subscribe(topic, "check")
        client.tell("FLOW", consumer_id=0, messagePermits=100_000)
        found: list[str] = []
        while "the last one" not in found:
            more = client.receive(1)
            assert more, "the broker goes silent before the end"
            found += more
        return found


def test_a_restart_knows_pending_acks_and_open_transactions(tmp_path: Path) -> None:
    topic = TOPICS[0]
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.produce(topic)
            sent = [client.send(text, sequence=n).body.message_id for n, text in enumerate("ab")]
            client.subscribe(topic)
            assert client.receive(2) == ["a", "b"]
            txn = client.begin(timeout_ms=600_000)
            where = [{"topic": topic, "subscription": "billing"}]
            client.ask("ADD_SUBSCRIPTION_TO_TXN", subscription=where, **bits(txn))
            client.ask("ACK", consumer_id=0, ack_type=0, message_id=[sent[0]], **bits(txn))
            client.send_in(txn, topic, "c", sequence=2)
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            client.subscribe(topic)
            assert client.receive(2, 0.5) == ["b"], "the one is pending, the other was not acked"
            assert client.begin() == TxnID(0, txn.least + 1)
            assert not client.end(txn, COMMIT).body.HasField("error")
            assert client.receive(1) == ["c"]
