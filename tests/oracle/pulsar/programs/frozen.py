"""An end that cannot end: a participant in a namespace that does not exist is no success, and the
coordinator tries again, all of it, about once a second.

Nobody may ask for the transaction's metadata meanwhile: that question loads the namespace's
bundle, and then the end succeeds (`frozen-until-somebody-looks`).
"""

from __future__ import annotations

from ..notebook import Txn
from . import Admin, Lab, program
from .acknowledgement import BILLING, filled
from .visibility import ORDERS, consume, write

ELSEWHERE = "elsewhere/stock-0"
OTHER = {"commit": "abort", "abort": "commit"}


def freeze(lab: Lab, admin: Admin, action: str, timeout_ms: int = 600_000) -> Txn:
    """A transaction that stays COMMITTING or ABORTING until somebody creates the namespace."""
    txn = lab.begin("app", timeout_ms)
    write(lab, txn, "a")
    lab.register(txn, ELSEWHERE)
    lab.begin_end(txn, action)
    admin.markers(ORDERS, action, 2)
    return txn


def refuse_the_other(lab: Lab, txn: Txn, action: str) -> None:
    """It is decided: to ask for the other end is refused."""
    lab.end_by_id("stranger", txn, OTHER[action])


def thaw(lab: Lab, admin: Admin, txn: Txn, action: str) -> None:
    admin.create_namespace("elsewhere")
    lab.join(txn, action)
    admin.transaction(txn)


@program("commit-frozen", "TransactionMetadataStoreService#endTransaction")
def commit_frozen(lab: Lab, admin: Admin) -> None:
    """Decided, and not done: it outlives its own timeout, can no longer be aborted, and every
    retry writes one more marker where nothing was wrong. Markers are many, and change nothing."""
    worker = consume(lab)
    txn = freeze(lab, admin, "commit", timeout_ms=3_000)
    lab.receive(worker, 1)
    admin.markers(ORDERS, "commit", 6)
    refuse_the_other(lab, txn, "commit")
    admin.coordinator()
    admin.buffer_state(ORDERS)
    thaw(lab, admin, txn, "commit")
    lab.silent(worker)


@program("abort-frozen", "TransactionMetadataStoreService#endTransaction")
def abort_frozen(lab: Lab, admin: Admin) -> None:
    worker = consume(lab)
    txn = freeze(lab, admin, "abort")
    refuse_the_other(lab, txn, "abort")
    lab.send_unplaced("app", ORDERS, "b")
    lab.receive_unplaced(worker, 1)
    thaw(lab, admin, txn, "abort")
    lab.silent(worker)


@program("frozen-until-somebody-looks", "TransactionsBase#getTransactionMetadata")
def frozen_until_somebody_looks(lab: Lab, admin: Admin) -> None:
    """To ask what becomes of it is answered with an error, and ends it: the question loads what
    the coordinator could not find."""
    txn = freeze(lab, admin, "commit")
    admin.coordinator()
    admin.transaction(txn)
    lab.join(txn, "commit")
    admin.transaction(txn)


@program("frozen-and-acknowledged", "PendingAckHandleImpl#commitTxn")
def frozen_and_acknowledged(lab: Lab, admin: Admin) -> None:
    """A healthy subscription has applied the commit with the first try."""
    worker, got = filled(lab, "ab")
    txn = lab.begin("app")
    lab.ack(worker, got[0], txn=txn)
    lab.register(txn, ELSEWHERE)
    lab.begin_end(txn, "commit")
    admin.coordinator()
    admin.cursor(ORDERS, BILLING)
    admin.pending(ORDERS, BILLING)
    thaw(lab, admin, txn, "commit")
    admin.cursor(ORDERS, BILLING)


@program("frozen-blocks-nobody-else", "TransactionMetadataStoreService#endTransaction")
def frozen_blocks_nobody_else(lab: Lab, admin: Admin) -> None:
    """Where the marker has come the topic is free; another transaction commits behind it."""
    worker = consume(lab)
    txn = freeze(lab, admin, "commit")
    lab.receive(worker, 1)
    other = lab.begin("another")
    lab.send_unplaced("another", ORDERS, "b", other)
    lab.commit(other)
    lab.receive_unplaced(worker, 1)
    thaw(lab, admin, txn, "commit")
