"""Real clients before a gate that is closed: what they do when a request is let go, lost, or met
by the death of the node, is what released clients do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqlab.kernel.trace import FactKind, Trace
from mqlab.serve import RunningBroker
from mqlab.serve.gate_client import GateClient, GateError, HeldRequest
from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import PATIENCE_S, create, producer, read, transaction

from ..live import asked, played

from confluent_kafka import KafkaException, Producer  # isort: skip

Act = Callable[[GateClient, HeldRequest], None]


@pytest.fixture(scope="module")
def shared() -> Iterator[RunningBroker]:
    """Messages between roles take their time here: markers are under way when a node dies."""
    with serve(pace_ms=20) as running:
        yield running


@contextmanager
def client(work: Callable[[], None]) -> Iterator[threading.Thread]:
    """A real client, beside the one who acts at the gate."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield thread
    thread.join(PATIENCE_S)
    assert not thread.is_alive() and not failed, failed


def commit_one(address: str, topic: str) -> None:
    transaction(producer(address, f"id-{topic}"), topic, "a")


def pass_all(
    gate: GateClient, thread: threading.Thread, once: str = "", act: Act | None = None
) -> list[str]:
    """Let everything go, but the first request of kind `once` meets `act`. The kinds that came."""
    came: list[str] = []
    until = time.monotonic() + PATIENCE_S
    while thread.is_alive():
        assert time.monotonic() < until, f"the client is not done; there came {came}"
        for held in gate.waiting():
            met = act if held.kind == once and once not in came and act else GateClient.let_go
            came.append(held.kind)
            met(gate, held)
        time.sleep(0.02)
    return came


def trace_of(broker: RunningBroker) -> Trace:
    return played(asked(broker, last=10_000))


def test_what_is_held_is_in_the_picture_once_and_a_commit_waits_for_it(
    shared: RunningBroker, topic: str
) -> None:
    create(shared.address, topic)
    gate = GateClient(shared.gate_url)
    gate.hold()
    with client(lambda: commit_one(shared.address, topic)) as thread:
        first = gate.wait()
        assert (first.kind, first.to) == ("InitProducerId", "coordinator")
        sent = [f for f in trace_of(shared).facts if f.node == f"id-{topic}"]
        assert [f.text.en for f in sent] == [f"InitProducerId id-{topic}"]
        came = pass_all(gate, thread)
    assert came[0] == "InitProducerId" and came[-1] == "EndTxn" and "Produce" in came
    assert set(came) <= {"InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn"}
    told = [f for f in trace_of(shared).facts if f.node == f"id-{topic}"]
    ends = [f for f in told if f.kind is FactKind.SEND and f.text.en.startswith("EndTxn")]
    assert len(ends) == came.count("EndTxn"), "told when it came, and not again when it was let go"
    gate.open()
    assert read(shared.address, topic) == ["a"]


@pytest.mark.parametrize("kind", ["InitProducerId", "Produce", "EndTxn"])
@pytest.mark.parametrize(
    "act",
    [GateClient.drop, GateClient.kill_before, GateClient.kill_after],
    ids=lambda a: a.__name__,
)
def test_a_client_asks_again_and_there_is_one_outcome(
    shared: RunningBroker, topic: str, kind: str, act: Act
) -> None:
    create(shared.address, topic)
    gate = GateClient(shared.gate_url)
    gate.hold()
    before = max((fact.index for fact in trace_of(shared).facts), default=0)
    with client(lambda: commit_one(shared.address, topic)) as thread:
        came = pass_all(gate, thread, kind, act)
    assert came.count(kind) >= 2, "the client has sent it again"
    gate.open()
    assert read(shared.address, topic) == ["a"], "once"
    facts = [f for f in trace_of(shared).facts if f.index > before]
    faults = [f.kind for f in facts if f.kind in (FactKind.BREAK, FactKind.KILL)]
    assert faults == [FactKind.BREAK if act is GateClient.drop else FactKind.KILL]
    ends = [f for f in facts if f.node == "coordinator" and "CompleteCommit" in f.text.en]
    assert len([f for f in ends if f.kind is FactKind.APPEND]) == 1


def test_only_what_is_named_is_held_and_a_consumer_is_not_disturbed(
    shared: RunningBroker, topic: str
) -> None:
    create(shared.address, topic)
    gate = GateClient(shared.gate_url)
    gate.hold("EndTxn")
    with client(lambda: commit_one(shared.address, topic)):
        held = gate.wait()
        assert held.kind == "EndTxn"
        assert read(shared.address, topic) == [], "it is not committed yet"
        assert read(shared.address, topic, committed=False) == ["a"]
        gate.open()
    assert read(shared.address, topic) == ["a"]


def test_what_a_kill_leaves_is_what_a_restart_finds(topic: str, tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        create(broker.address, topic)
        gate = GateClient(broker.gate_url)
        gate.hold("EndTxn")
        with client(lambda: commit_one(broker.address, topic)) as thread:
            pass_all(gate, thread, "EndTxn", GateClient.kill_after)
        gate.open()
        before = read(broker.address, topic), read(broker.address, topic, committed=False)
        broker.kill()
        broker.restart()
        after = read(broker.address, topic), read(broker.address, topic, committed=False)
    assert before == after == (["a"], ["a"])


def test_a_server_ends_cleanly_while_it_holds_a_request(topic: str) -> None:
    with serve() as broker:
        create(broker.address, topic)
        gate = GateClient(broker.gate_url)
        gate.hold()
        who = producer_that_waits(broker.address)
        held = gate.wait("InitProducerId")
        process = broker._process
        assert process is not None
        broker.stop()
        assert process.returncode == 0
        with pytest.raises((GateError, OSError)):
            gate.let_go(held)
        who.join(PATIENCE_S)


def producer_that_waits(address: str) -> threading.Thread:
    """A client that is held, and gives up when it likes."""

    def run() -> None:
        config = {"bootstrap.servers": address, "transactional.id": "held", "log_level": 0}
        with pytest.raises(KafkaException):
            Producer(config).init_transactions(5)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
