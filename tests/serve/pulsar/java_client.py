"""The unmodified Java client: it passes orders on in transactions over several topics and
subscriptions, while somebody follows the live trace.

`make real` runs this: the client's jars come from Maven, and `make test` asks Maven for nothing.
"""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator

import pytest
from mqlab_widgets.follow import KEPT, Tail

from mqlab.real.pulsar.jars import JARS
from mqlab.serve import RunningBroker
from tests.oracle.pulsar.driver import JavaDriver

VERSION = "4.2.4"
ARE_HERE = (JARS.folder(VERSION) / "lib").is_dir()
pytestmark = [
    pytest.mark.needs("java"),
    pytest.mark.skipif(
        not ARE_HERE, reason="needs Pulsar's jars: `mqlab real pulsar compare abort`"
    ),
]
ORDERS = ["a", "b", "c", "d", "e", "f"]
PATIENCE_S = 600


class Follower(threading.Thread):
    """Reads the trace as a player does that shows everything, and notes each fact once."""

    def __init__(self, broker: RunningBroker) -> None:
        super().__init__(name="follower")
        self.url = broker.trace_url
        self.tail = Tail(most=KEPT)
        self.tail.everything = True  # also repeats and polling, which a player leaves out
        self.read()
        self.told: dict[int, tuple[str, str]] = {}
        self.over = threading.Event()

    def read(self) -> None:
        url = f"{self.url}/trace?after={self.tail.index}&last=1000"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            self.tail.feed(answer)

    def run(self) -> None:
        last = False
        while not last:
            last = self.over.wait(0.05)  # once more when it is over
            self.read()
            for fact in self.tail.trace:
                self.told.setdefault(fact.index, (fact.text.en, fact.txn))

    def find_txns(self, word: str) -> list[str]:
        """The transactions of which a fact begins so, in their order."""
        return [txn for _, (text, txn) in sorted(self.told.items()) if text.startswith(word)]


@pytest.fixture(scope="module")
def java(broker: RunningBroker) -> Iterator[JavaDriver]:
    with JavaDriver(broker.address, f"http://{broker.address}", VERSION) as driver:
        yield driver
        driver.perform("over")


def texts(driver: JavaDriver, consumer: str, wait_ms: int = 1_000) -> list[str]:
    """What comes, until nothing comes any more."""
    return [m["text"] for m in driver.perform(f"receive {consumer} 99 wait={wait_ms}")]


def test_orders_are_passed_on_once(broker: RunningBroker, java: JavaDriver) -> None:
    """Each in one transaction: received, sent to two topics, acknowledged. Every third transaction
    is aborted, and its order comes again."""
    follower = Follower(broker)
    follower.start()
    java.perform("client app")
    for topic, subscription, kind in [
        ("todo", "workers", "Shared"),
        ("payments", "billing", "Exclusive"),
        ("payments", "audit", "Failover"),
        ("shipments", "shipping", "Key_Shared"),
    ]:
        java.perform(f"consumer {subscription} app {topic} {subscription} {kind}")
        java.perform(f"producer {topic} app {topic}")
    for order in ORDERS:
        java.perform(f"send todo {order}")
    passed, again, turn = list[str](), list[str](), 0
    while len(passed) < len(ORDERS):
        turn += 1
        (came,) = java.perform("receive workers 1")
        order, txn = came["text"], f"t{turn}"
        again += [order] * came["again"]
        java.perform(f"begin {txn} app 60000")
        java.perform(f"send payments {order} txn={txn} key={order}")
        java.perform(f"send shipments {order} txn={txn} key={order}")
        java.perform(f"ack workers {came['id']} txn={txn}")
        if turn % 3:
            java.perform(f"commit {txn}")
            passed.append(order)
        else:
            java.perform(f"abort {txn}")
    assert sorted(passed) == ORDERS and again
    for subscription in ("billing", "audit", "shipping"):
        assert texts(java, subscription) == passed
    assert texts(java, "workers") == []
    follower.over.set()
    follower.join(PATIENCE_S)
    assert sorted(follower.told) == list(range(min(follower.told), max(follower.told) + 1))
    ended = [f"T{n}" for n in range(1, turn + 1)]
    assert follower.find_txns("COMMITTED") == [t for n, t in enumerate(ended, 1) if n % 3]
    assert follower.find_txns("ABORTED") == [t for n, t in enumerate(ended, 1) if n % 3 == 0]
    for name in ended:
        assert any(t == name for t in follower.find_txns("EndTxnOnSubscription")), name
