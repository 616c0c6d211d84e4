"""What is forgotten with a ledger: by a topic's buffer when retention deletes it, by a subscription
whose pending acks lay in it."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any

from mqlab.real.program import RealBrokerError
from mqlab.real.pulsar.broker import FLAGS
from mqlab.real.pulsar.jars import JARS

from ..notebook import ADMIN
from . import CONTROL, Admin, Lab, program
from .visibility import ORDERS, begin_and_ack, begin_and_write, write


def give_up(lab: Lab, payload: str) -> None:
    txn = lab.begin("app")
    write(lab, txn, payload)
    lab.abort(txn)


@program("TopicTransactionBufferRecoverTest.testTopicTransactionBufferDeleteAbort")
def aborts_forgotten(lab: Lab, admin: Admin) -> None:
    """The buffer looks at its next end whether the ledgers of its abort markers are still there:
    what lay in a deleted one is off the list, in the next snapshot as well."""
    give_up(lab, "a")
    admin.unload(ORDERS)
    give_up(lab, "b")
    admin.buffer_state(ORDERS)
    admin.trim(ORDERS)
    admin.buffer_state(ORDERS)
    txn = lab.begin("app")
    lab.send_unplaced("app", ORDERS, "c", txn)  # places are counted over the ledgers that are left
    lab.commit(txn)
    admin.buffer_state(ORDERS)
    admin.unload(ORDERS)
    admin.buffer_state(ORDERS)


WORK = "work"
DRIVERS = "org.apache.pulsar.metadata.bookkeeper.PulsarMetadata"


def delete_ledger(broker: Any, ledger: int) -> None:
    """Of a RealPulsar that is down: `bookkeeper shell deleteledger`. Raises RealBrokerError where
    that fails."""
    settings = broker.folder / "bookkeeper.conf"
    settings.write_text(
        f"metadataServiceUri=metadata-store:rocksdb://{broker.folder / 'metadata'}\n", "utf-8"
    )
    command = [
        "java", *FLAGS,
        f"-Dbookkeeper.metadata.bookie.drivers={DRIVERS}BookieDriver",
        f"-Dbookkeeper.metadata.client.drivers={DRIVERS}ClientDriver",
        "-cp", JARS.class_path(broker.version), "org.apache.bookkeeper.bookie.BookieShell",
        "-conf", str(settings), "deleteledger", "-ledgerid", str(ledger), "-force",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RealBrokerError(f"no ledger was deleted: {done.stderr[-500:]}")


def _start_without(lab: Lab, ledger: int) -> None:
    control: Any = lab.target.control
    control.stop()
    delete_ledger(control, ledger)
    control.start()
    lab.note("operator", "broker", "stop, deleteledger", "started again")


@program("TopicTransactionBufferRecover", needs=(CONTROL,))
def the_snapshot_is_gone(lab: Lab, admin: Admin) -> None:
    """The ledger of the buffer's snapshots: what was aborted and what is open is read."""
    give_up(lab, "aborted")
    txn = begin_and_write(lab, "open")
    write(lab, None, "plain")
    admin.buffer(ORDERS)
    log = lab.json(f"{ADMIN}/__transaction_buffer_snapshot/internalStats")
    _start_without(lab, log["ledgers"][0]["ledgerId"])
    admin.buffer(ORDERS)
    lab.receive_only(lab.subscribe("worker", ORDERS, WORK), 3)
    lab.abort(txn)
    admin.buffer(ORDERS)
    lab.read_all("reader", ORDERS)


def _lose(lab: Lab, admin: Admin, closed: bool) -> None:
    """Two transactions have acknowledged a message each. The record of the first one is in a ledger
    of its own where the topic was unloaded in between (`closed`). The second subscription keeps the
    messages: where the only one is deleted, they go with it."""
    lab.subscribe("auditor", ORDERS, "audit")
    worker = lab.subscribe("worker", ORDERS, WORK)
    write(lab, None, "a", "b")
    got = lab.receive(worker, 2)
    first, second = lab.begin("worker"), lab.begin("worker")
    lab.ack(worker, got[0], txn=first)
    if closed:
        admin.unload(ORDERS)
        lab.receive(worker, 1)
    lab.ack(worker, got[1], txn=second)
    admin.pending(ORDERS, WORK)
    lab.leave(worker)
    _start_without(lab, admin.list_ledgers(ORDERS, WORK)[0])
    lab.client("again", timeout=15_000)
    again = lab.subscribe("again", ORDERS, WORK)
    admin.consumers(ORDERS, WORK)
    admin.pending(ORDERS, WORK)
    if closed and lab.notes[-1].answered.startswith("Initializing"):
        lab.begin_end(first, "commit")
        admin.status(first, "COMMITTING")
        admin.pending(ORDERS, WORK)
        admin.delete_subscription(ORDERS, WORK, force=True)
        lab.join(first, "commit")
        again = lab.subscribe("again", ORDERS, WORK)
        lab.receive_only(again, 2)
    else:
        came = lab.receive(again, 1 if closed else 2)
        lab.silent(again)
        other = begin_and_ack(lab, again, came[0], who="again")
        lab.commit(other)
        lab.commit(first)
    lab.commit(second)
    admin.cursor(ORDERS, WORK)


#: An earlier ledger is read again and again, unless one that is gone may be left out; the last one
#: is left out in any case, and then what it held is as if it had never been acknowledged.
for _name, _closed, _skip in (
    ("the-ledger-is-gone", True, "false"),
    ("the-ledger-is-gone-helped", True, "true"),
    ("the-last-ledger-is-gone", False, "false"),
):
    _run = partial(_lose, closed=_closed)
    _settings = {"autoSkipNonRecoverableData": _skip}
    program("apache/pulsar#26374", name=_name, needs=(CONTROL,), settings=_settings)(_run)
