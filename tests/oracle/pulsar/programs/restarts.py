"""A broker that stops in each state of a transaction, and what it remembers."""

from __future__ import annotations

from functools import partial

from tests.oracle.pulsar.programs.cumulative import freeze, refuse_the_other

from ..notebook import Txn
from . import CONTROL, Admin, Lab, program
from .acknowledgement import BILLING, filled
from .visibility import ORDERS, begin_and_ack, begin_and_write, consume, write


def come_back(lab: Lab, gently: bool = False) -> None:
    """kill -9, or SIGTERM; then a new start. The clients live on, and connect again."""
    control = lab.target.control
    (control.stop if gently else control.kill)()
    control.start()
    lab.note("broker", "broker", "stop" if gently else "kill -9", "started again")


def _open(lab: Lab, admin: Admin, gently: bool) -> None:
    worker, got = filled(lab, "ab")
    txn = begin_and_ack(lab, worker, got[0], who="app")
    write(lab, txn, "c")
    write(lab, None, "d")
    come_back(lab, gently)
    lab.wait_connected(worker)
    lab.receive_only(worker, 1)
    admin.buffer(ORDERS)
    admin.pending(ORDERS, BILLING)
    lab.commit(txn)
    lab.receive(worker, 2)
    admin.cursor(ORDERS, BILLING)
    admin.log(ORDERS)


#: Nothing is lost: the transaction is open, its message is hidden, its acknowledgement is pending;
#: and its client, which lives, commits it.
for _how in ("kill", "stop"):
    _run = partial(_open, gently=_how == "stop")
    _test = "TransactionTest: recovery of all three logs"
    program(_test, name=f"{_how}-while-open", needs=(CONTROL,))(_run)


@program("TransactionMetadataStoreService#handleTcClientConnect", needs=(CONTROL,))
def kill_and_nobody_comes(lab: Lab, admin: Admin) -> None:
    """A coordinator is opened by the first client that asks for it. Until then no timeout comes,
    and the topic stays blocked; a plain client is not enough."""
    txn = lab.begin("app", 20_000)  # a busy machine may take long until the kill
    write(lab, None, "a")
    write(lab, txn, "b")
    write(lab, None, "c")
    lab.forget()
    come_back(lab)
    lab.pause(22)
    lab.client("observer", plain="yes")
    reader = lab.subscribe("observer", ORDERS, "audit", "Exclusive")
    lab.receive_only(reader, 1)
    admin.buffer(ORDERS)
    lab.abort(lab.begin("app"))
    lab.receive(reader, 1)
    admin.status(txn, "404")
    admin.log(ORDERS)


@program("TransactionMetadataStoreServiceTest.transactionTimeoutRecoverTest", needs=(CONTROL,))
def kill_before_the_deadline(lab: Lab, admin: Admin) -> None:
    """The deadline is the one it was given, whatever happens to the broker."""
    worker = consume(lab)
    txn = begin_and_write(lab, "a", timeout_ms=15_000)
    write(lab, None, "b")
    come_back(lab)
    lab.receive(worker, 1)
    admin.status(txn, "404")
    admin.log(ORDERS)


def _frozen(lab: Lab, admin: Admin, action: str) -> None:
    consume(lab)
    txn = freeze(lab, admin, action)
    come_back(lab)
    lab.forget()
    refuse_the_other(lab, txn, action)
    admin.coordinator()
    lab.send_unplaced("app", ORDERS, "b")
    worker = consume(lab)
    lab.receive_unplaced(worker, 2 if action == "commit" else 1)
    lab.silent(worker)
    admin.create_namespace("elsewhere")
    admin.idle()
    admin.transaction(txn)
    admin.buffer_state(ORDERS)


#: an end that was decided goes on by itself, and can no longer be turned round
for _state, _action in (("committing", "commit"), ("aborting", "abort")):
    _run = partial(_frozen, action=_action)
    program("TransactionRecoverTrackerTest", name=f"kill-while-{_state}", needs=(CONTROL,))(_run)


def _ended(lab: Lab, admin: Admin, action: str) -> None:
    worker, got = filled(lab, "ab")
    txn = begin_and_ack(lab, worker, got[0], who="app")
    write(lab, txn, "c")
    (lab.commit if action == "commit" else lab.abort)(txn)
    come_back(lab)
    lab.wait_connected(worker)
    admin.buffer(ORDERS)
    lab.receive_only(worker, 2)
    admin.cursor(ORDERS, BILLING)
    lab.end_by_id("app", txn, action)
    following: Txn = lab.begin("app")
    lab.commit(following)


#: what was answered stays; the next id follows the last
for _action, _test in (
    ("commit", "MLTransactionMetadataStoreTest.testRecoverSequenceId"),
    ("abort", "TopicTransactionBufferRecoverTest"),
):
    program(_test, name=f"kill-after-{_action}", needs=(CONTROL,))(partial(_ended, action=_action))


@program("TopicTransactionBuffer: lowWaterMarks", needs=(CONTROL,))
def kill_forgets_watermarks(lab: Lab, admin: Admin) -> None:
    """A client that slept through the end of its transaction and a restart of the broker: what it
    sends late is taken, blocks the topic, and then hides what it had committed."""
    late = begin_and_write(lab, "a")
    lab.commit(late)
    txn = begin_and_write(lab, "b")
    lab.commit(txn)
    lab.reopen(late)
    lab.send("app", ORDERS, "late", late)
    come_back(lab)
    lab.send("app", ORDERS, "late", late)
    write(lab, None, "c")
    lab.read_all("reader", ORDERS)
    txn = begin_and_write(lab, "d")
    lab.commit(txn)
    lab.read_all("reader", ORDERS)
    admin.log(ORDERS)
