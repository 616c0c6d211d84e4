"""Producers that want a topic for themselves: who is let in, who waits, who is fenced."""

from __future__ import annotations

from . import CONTROL, Admin, Lab, program
from .restarts import come_back

INCOME, BILLING = "income-0", "billing"
EXCLUSIVE, WAITS, FENCES = "Exclusive", "WaitForExclusive", "ExclusiveWithFencing"
SOURCE = "AbstractTopic#incrementTopicEpochIfNeeded"


@program(f"{SOURCE}, ServerCnx#handleSend")
def fencing_stops_sends(lab: Lab, admin: Admin) -> None:
    """The fenced producer's next send fails, and with it the commit of its transaction; what it
    had sent before commits all the same."""
    worker = lab.subscribe("worker", INCOME, BILLING, "Exclusive")
    lab.open_producer("app", INCOME, EXCLUSIVE)
    first = lab.begin("app")
    lab.send("app", INCOME, "a", first)
    lab.open_producer("again", INCOME, FENCES)
    lab.commit(first)
    second = lab.begin("app")
    lab.send("app", INCOME, "zombie", second)
    lab.commit(second)
    lab.state(second)
    third = lab.begin("again")
    lab.send("again", INCOME, "b", third)
    lab.commit(third)
    lab.receive_only(worker, 2)
    admin.producers(INCOME)
    admin.log(INCOME)


@program(f"{SOURCE}, TransactionImpl#commit")
def fenced_in_its_transaction(lab: Lab, admin: Admin) -> None:
    """A transaction that had sent before the fence, and sends again behind it, is aborted whole."""
    worker = lab.subscribe("worker", INCOME, BILLING, "Exclusive")
    lab.open_producer("app", INCOME, EXCLUSIVE)
    txn = lab.begin("app")
    lab.send("app", INCOME, "a", txn)
    lab.open_producer("again", INCOME, FENCES)
    lab.send("app", INCOME, "zombie", txn)
    lab.commit(txn)
    lab.state(txn)
    lab.send("again", INCOME, "b")
    lab.receive_only(worker, 1)
    admin.log(INCOME)


@program(SOURCE)
def access_modes(lab: Lab, admin: Admin) -> None:
    """Who shares keeps the others out that want the topic alone, and the other way round."""
    lab.open_producer("one", INCOME, "Shared")
    lab.open_producer("two", INCOME, "Shared")
    lab.open_producer("app", INCOME, EXCLUSIVE)
    lab.begin_producer("waiter", INCOME, WAITS)
    admin.producers(INCOME)
    lab.close_producer("one", INCOME)
    admin.producers(INCOME)
    lab.close_producer("two", INCOME)
    lab.join_producer("waiter", INCOME)
    admin.producers(INCOME)
    lab.open_producer("app", INCOME, EXCLUSIVE)
    lab.begin_producer("app", INCOME, WAITS)
    lab.open_producer("again", INCOME, FENCES)
    lab.join_producer("app", INCOME)
    admin.producers(INCOME)
    lab.close_producer("again", INCOME)
    lab.open_producer("app", INCOME, "Shared")
    lab.send("app", INCOME, "a")
    admin.producers(INCOME)


@program("PersistentTopic#incrementTopicEpoch", needs=(CONTROL,))
def topic_epoch_is_kept(lab: Lab, admin: Admin) -> None:
    """A broker that starts again knows the epoch: a producer that was alone goes on under it, and
    the next one gets a higher one."""
    lab.open_producer("app", INCOME, EXCLUSIVE)
    lab.send("app", INCOME, "a")
    come_back(lab)
    lab.send("app", INCOME, "b")
    admin.producers(INCOME)
    lab.open_producer("again", INCOME, FENCES)
    lab.send("app", INCOME, "zombie")
    lab.send("again", INCOME, "c")
    admin.producers(INCOME)
    admin.log(INCOME)
