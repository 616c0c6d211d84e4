"""kill -9 in the middle of the work, twenty times: no order is lost or passed on twice, whatever of
it was sent, acknowledged, committed or aborted when the broker died.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from mqlab.kernel import Put, replace
from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import TxnID
from mqlab.serve.disk import Effect
from mqlab.serve.journal import Journal, read_effects
from mqlab.serve.pulsar import serve
from mqlab.serve.pulsar.adapter import ENTRIES, FORM, decode_effect, make_adapter
from mqlab.serve.pulsar.wire.commands import Command
from tests.serve.pulsar.raw import ABORT, COMMIT, INDIVIDUAL, Raw, ask_admin, read_text
from tests.serve.stubborn import KILLS, Stubborn, kill_under_load

DEFAULT = "persistent://public/default/"
TOPICS = (f"{DEFAULT}orders", f"{DEFAULT}payments")
GROUP = "workers"
PATIENCE_S = 600
LAST = "the last one"
TODO = len(TOPICS)  # a worker's producer of orders; 0 and 1 are those that pass them on


class Worker(Stubborn):
    """Sends orders to a topic of its own and passes on what it receives there: in one transaction
    it sends the order to both topics and acknowledges it. Every fourth transaction is aborted, so
    that its order comes again. `sent`: orders that were stored; `passed`: those
    whose commit was answered."""

    def __init__(self, address: str, number: int) -> None:
        super().__init__(address, f"worker-{number}")
        self.number = number
        self.todo = f"{DEFAULT}todo-{number}"
        self.sent: list[str] = []
        self.passed: list[str] = []
        self.count = 0

    def count_done(self) -> int:
        return len(self.passed)

    def work(self) -> None:
        with Raw(self.address) as client:
            for number, topic in enumerate((*TOPICS, self.todo)):
                client.produce(topic, number)
            client.subscribe(self.todo, GROUP)
            while not self.over.is_set():
                self._work(client)

    def _work(self, client: Raw) -> None:
        self.count += 1
        order = f"{self.number}:{self.count}"
        assert client.send(order, TODO, self.count).name == "SEND_RECEIPT"
        self.sent.append(order)
        (came,) = client.take(1)
        self._pass_on(client, came, ABORT if self.count % 4 == 0 else COMMIT)

    def _pass_on(self, client: Raw, came: Command, action: int) -> None:
        order, txn = read_text(came.message), client.begin()
        for number, topic in enumerate(TOPICS):
            said = client.send_in(txn, topic, order, number=number, sequence=self.count)
            assert said.name == "SEND_RECEIPT"
        acked = client.ack_in(txn, self.todo, came.body.message_id, GROUP)
        ended = client.end(txn, action)
        assert not acked.body.HasField("error") and not ended.body.HasField("error")
        if action == COMMIT:
            self.passed.append(order)


@pytest.mark.spread("mqlab/kernel", "mqlab/serve", "mqlab/pulsar")
def test_killed_twenty_times_under_load(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        workers = [Worker(broker.address, number) for number in range(2)]
        kill_under_load(broker, workers, seed=7, pause_s=(0.05, 0.4))
        end_what_is_open(broker.address)
        got = [read(broker.address, topic) for topic in TOPICS]
        left = [order for worker in workers for order in read(broker.address, worker.todo, GROUP)]
    assert sorted(got[0]) == sorted(got[1]), "all of a transaction or nothing"
    assert len(set(got[0])) == len(got[0]), "nothing is passed on twice"
    assert not set(got[0]) & set(left), "what was passed on is acknowledged, the rest is not"
    for worker in workers:
        assert len(worker.passed) > KILLS, "it has worked between the kills"
        assert set(worker.passed) <= set(got[0]), "an answered commit stands"
        assert set(worker.sent) <= {*got[0], *left}, "no order is lost"


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


def read(address: str, topic: str, name: str = "check") -> list[str]:
    """Everything that this subscription is sent until it comes to the end."""
    with Raw(address) as client:
        client.produce(topic)
        client.send(LAST)
        client.subscribe(topic, name)
        client.tell("FLOW", consumer_id=0, messagePermits=100_000)
        found: list[str] = []
        while LAST not in found:
            more = client.receive(1)
            assert more, "the broker goes silent before the end"
            found += more
        return found[:-1]


def test_a_restart_knows_pending_acks_and_open_transactions(tmp_path: Path) -> None:
    topic = TOPICS[0]
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.produce(topic)
            sent = [client.send(text, sequence=n).body.message_id for n, text in enumerate("ab")]
            client.subscribe(topic)
            assert client.receive(2) == ["a", "b"]
            txn = client.begin(timeout_ms=600_000)
            client.ack_in(txn, topic, sent[0])
            client.send_in(txn, topic, "c", sequence=2)
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            client.subscribe(topic)
            assert client.receive(1) == ["b"], "the one is pending, the other was not acked"
            assert client.receive(1, 0.5) == []
            assert client.begin() == TxnID(0, txn.least + 1)
            assert not client.end(txn, COMMIT).body.HasField("error")
            assert client.receive(1) == ["c"]


# ---- Data folders of versions that wrote a cursor in another form --------------------

TOPIC = "persistent://public/default/orders"


def write_single_positions(effect: Effect) -> bytes:
    """As before there were stretches: each acknowledged position by itself."""
    match effect:
        case Put(table=table, key=key, value=Cursor() as cursor):
            batches = [(at, cursor.acked_indexes(at)) for at, _ in cursor.batches]
            fields = [cursor.mark_delete, list(cursor.list_individual()), batches]
            return b"J" + json.dumps(["put", table, key, {"Cursor": fields}]).encode()
    return ENTRIES.encode(effect)


def test_a_folder_with_single_positions_opens_as_it_was_left(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.produce(TOPIC)
            sent = [client.send(t, sequence=n).body.message_id for n, t in enumerate("abcdef")]
            client.subscribe(TOPIC)
            client.receive(6)
            for at in (1, 2, 4):
                client.ask("ACK", consumer_id=0, ack_type=INDIVIDUAL, message_id=[sent[at]])
        broker.kill()
        effects = [effect for _, effect, _ in read_effects(tmp_path / "journal", ENTRIES)]
        old = replace(make_adapter(), entries=replace(ENTRIES, encode=write_single_positions))
        journal = Journal(tmp_path, old)
        journal.rewrite(effects)
        journal.close()
        assert b"[-1,[1,2,4]" in (tmp_path / "journal").read_bytes().replace(b" ", b"")
        broker.restart()
        with Raw(broker.address) as client:
            client.subscribe(TOPIC)
            assert client.receive(3) == ["a", "d", "f"]
            assert client.receive(1, 0.5) == []


@pytest.mark.parametrize(
    ("written", "stretches"),
    [([], ()), ([7], ((7, 7),)), ([4, 5, 7], ((4, 5), (7, 7))), ([[4, 5]], ((4, 5),))],
)
def test_a_cursor_of_either_form_is_read(
    written: list[object], stretches: tuple[tuple[int, int], ...]
) -> None:
    body = json.dumps(["put", "cursors", "billing", {"Cursor": [2, written, [[6, [0]]]]}])
    cursor = Cursor(2, stretches, ((6, ((0, 0),)),))
    read = decode_effect(b"J" + body.encode())
    assert read == Put("cursors", "billing", cursor)
    assert decode_effect(FORM.encode(read)) == read


@pytest.mark.parametrize("written", [[[4, "5"]], [4, [5, 6]], ["4"], [[4, 5, 6]], [[4]]])
def test_a_cursor_of_no_form_is_refused(written: list[object]) -> None:
    body = json.dumps(["put", "cursors", "billing", {"Cursor": [2, written, []]}])
    with pytest.raises((ValueError, TypeError)):
        decode_effect(b"J" + body.encode())
