"""The broker is stopped in every state of a transaction, gently and with kill -9.

A kill in PrepareX is recorded on 4.2.1: 4.3.1 may itself lose a marker there, which is a
recording of its own (skip-leaderless-marker). To stop in PrepareX at all, a marker of a
higher coordinator epoch holds the transaction there: the partition refuses the
coordinator's own, until the restart gives it a higher epoch too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from mqlab.real.kafka.admin import describe, describe_transaction
from mqlab.real.kafka.client import READ_COMMITTED, Lab
from mqlab.recordings.recording import Observation
from tests.oracle.kafka.producer import Producer

from ..admin import log_each, marker, producers
from . import CONTROL, FAULT, TV2, program

#: above any coordinator epoch before the restart, and below or at the one after it
HELD = 1


def _restarted(lab: Lab, gently: bool) -> None:
    """Stop and start the broker; programs go on with new connections."""
    lab.close()
    (lab.target.control.stop if gently else lab.target.control.kill)()
    lab.target.control.start()
    lab.note("log", "broker", "restart after " + ("SIGTERM" if gently else "kill -9"), "ready")


def _stories(lab: Lab, gently: bool) -> None:
    """One producer for each state; what is there after the restart, and what it can do."""
    lab.topic("orders", 4)
    empty, ongoing, committing, aborting = (
        Producer(lab, name, name) for name in ("empty", "ongoing", "committed", "aborted")
    )
    for app in (empty, ongoing, committing, aborting):
        app.init()
    ongoing.send("orders-1", "open")
    committing.send_and_commit("orders-2", "a")
    aborting.send_and_abort("orders-3", "x")
    log_each(lab, orders_2=2, orders_3=2)
    for name, state in (("committed", "CompleteCommit"), ("aborted", "CompleteAbort")):
        describe(lab, name, state)
    _restarted(lab, gently)
    for app in (empty, ongoing, committing, aborting):
        describe(lab, app.who)
    lab.log("orders-1", end=1)
    producers(lab, "orders-1")
    ongoing.produce("orders-1", "open", seq=0)
    ongoing.send_and_commit("orders-1", "more")
    lab.log("orders-1", end=3)
    lab.read("orders-1", READ_COMMITTED)
    for end, (app, value) in enumerate(
        ((empty, "first"), (committing, "next of committed"), (aborting, "next of aborted")), 1
    ):
        app.send_and_commit("orders-0", value)
        lab.wait_until(lambda: lab.stable_end("orders-0"), 2 * end)
    lab.read("orders-0", READ_COMMITTED)
    lab.log("orders-3", end=2)


@program("TransactionStateManagerTest: loading; SIGTERM", needs=(CONTROL,))
def restart_sigterm(lab: Lab) -> None:
    _stories(lab, gently=True)


@program("TransactionStateManagerTest: loading; kill -9", needs=(CONTROL,))
def restart_kill(lab: Lab) -> None:
    _stories(lab, gently=False)


def _prepared(lab: Lab, gently: bool) -> None:
    """Two transactions held in PrepareCommit and PrepareAbort over the restart."""
    lab.topic("orders", 2)
    apps = {True: Producer(lab, "commits", "commits"), False: Producer(lab, "aborts", "aborts")}
    for index, app in enumerate(apps.values()):
        app.init()
        marker(lab, f"orders-{index}", app.pid, app.epoch, False, coordinator_epoch=HELD)
        app.send(f"orders-{index}", app.who)
    for commit, app in apps.items():
        app.end(commit)
        describe(lab, app.who, "PrepareCommit" if commit else "PrepareAbort")
    for partition in ("orders-0", "orders-1"):
        lab.log(partition, end=2)
    _restarted(lab, gently)
    for index, (commit, app) in enumerate(apps.items()):
        lab.log(f"orders-{index}", end=3)
        describe(lab, app.who, "CompleteCommit" if commit else "CompleteAbort")
        lab.read(f"orders-{index}", READ_COMMITTED)
    for app in apps.values():
        app.init()


@program(
    "TransactionStateManagerTest#shouldWriteTxnMarkersForTransactionInPreparedCommitState, "
    "…PreparedAbortState",
    needs=(CONTROL,),
)
def restart_prepared_sigterm(lab: Lab) -> None:
    _prepared(lab, gently=True)


@program(
    "the same after kill -9, on a version that does not lose the marker",
    needs=(CONTROL,),
    version="4.2.1",
)
def restart_prepared_kill(lab: Lab) -> None:
    _prepared(lab, gently=False)


@program(
    "datasets/scenarios/kafka/torn-read.scn: SIGTERM while one of two markers is refused",
    profiles=TV2,
    needs=(CONTROL,),
)
def torn_read(lab: Lab) -> None:
    """The questions of the story. The marker that holds orders-1 is the first record there, so
    that its offsets are noted from the one after it on."""
    lab.topic("orders", 2)
    app, billing = Producer.opened(lab, "order-service", "app"), Producer(lab, "billing", "billing")
    app.send("orders-0", "a")
    billing.init()
    billing.send("orders-0", "x")
    marker(lab, "orders-1", app.pid, app.epoch, False, coordinator_epoch=HELD)
    before = len(lab.notes)
    app.send_and_commit("orders-1", "b")
    lab.log("orders-0", end=3)
    lab.wait_until(lambda: len(describe_transaction(lab, "order-service").partitions), 1)
    describe(lab, "order-service")
    lab.fetch("orders-0")
    lab.fetch("orders-1", 1)
    _restarted(lab, gently=True)
    log_each(lab, orders_0=4, orders_1=3)
    describe(lab, "order-service", "CompleteCommit")
    lab.fetch("orders-1", 1)
    lab.notes[before:] = map(_after_the_marker, lab.notes[before:])


def _after_the_marker(o: Observation) -> Observation:
    """The same, its offset in orders-1 being one less."""
    if o.to != "orders-1" or o.who == "log":
        return o
    return replace(o, asked=o.asked.replace("@1", "@0"), answered=o.answered.replace("@1", "@0"))


@program(
    "KRaftMetadataCache#getPartitionLeaderEndpoint answers empty: the marker is skipped (4.3.1)",
    profiles=TV2,
    needs=(CONTROL, FAULT),
    version="4.3.1",
)
def skip_leaderless_marker(lab: Lab) -> None:
    """kill -9 in PrepareCommit until the broker loses the marker: an acknowledged commit
    that nobody will ever read, and a partition whose LSO stands still."""
    lab.topic("orders", 24)
    for attempt in range(24):
        before = len(lab.notes)
        partition, name = f"orders-{attempt}", f"attempt {attempt}"
        app = Producer.opened(lab, name, "app")
        # The epoch of the coordinator grows with every restart.
        marker(lab, partition, app.pid, app.epoch, False, coordinator_epoch=3 * attempt + 1)
        app.send_and_commit(partition, "paid")
        describe(lab, name, "PrepareCommit")
        _restarted(lab, gently=False)
        state = "CompleteCommit"
        lab.wait_until(partial(_state_of, lab, name), state)
        if lab.stable_end(partition) < lab.end(partition):
            describe(lab, name)
            lab.log(partition, end=2)
            lab.read(partition, READ_COMMITTED)
            app.commit()
            producers(lab, partition)
            lab.notes[:] = [_plain(o, partition, name) for o in lab.notes[before:]]
            return
        del lab.notes[before:]
    raise TimeoutError("24 kills, and the marker was never lost: run it again")


def _plain(seen: Observation, partition: str, name: str) -> Observation:
    """The attempt that showed it, told as if it were the only one."""

    def plain(text: str) -> str:
        text = re.sub(r"coordinatorEpoch=\d+", "coordinatorEpoch=1", text)
        return text.replace(partition, "orders-0").replace(name, "A")

    return Observation(seen.who, plain(seen.to), plain(seen.asked), plain(seen.answered))


def _state_of(lab: Lab, txn_id: str) -> str:
    """The state of a transactional id, as its coordinator says it."""
    state: str = describe_transaction(lab, txn_id).state
    return state
