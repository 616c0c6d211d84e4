"""A transaction as its client sees it: TransactionImpl.

The client has states of its own (`states.CLIENT_PREVIOUS`). TIME_OUT is entered by a timer of the
client's, and the coordinator knows nothing of it; ERROR means that the coordinator knows the
transaction no more. Neither says how the transaction ended.

Sources: TransactionBuilderImpl, TransactionImpl#commit, #abort, #registerProducedTopic,
#registerAckedTopic (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import CancelTimer, Effects, SetTimer, build_failure, build_success, frozen, replace
from ..errors import NO_COORDINATOR, OPERATION_FAILED, ServerError, name_exception
from ..messages import Answer, EndTxn, NewTxn, NewTxnResponse, TxnID
from ..states import CLIENT_PREVIOUS, ClientTxnState, TxnAction
from .calls import Abort, Commit, EndById, GetState, NewTransaction

if TYPE_CHECKING:
    from . import Client

Result = tuple["Client", Effects]

_S = ClientTxnState
TIME_OUT = "timeout "
INVALID_STATUS = name_exception(ServerError.InvalidTxnStatus)
#: answers after which the client does not know the transaction's end
LOST = (ServerError.TransactionNotFound, ServerError.InvalidTxnStatus)
#: action → the state while it is asked for, and the state when it is done
ENDS = {
    TxnAction.COMMIT: (_S.COMMITTING, _S.COMMITTED),
    TxnAction.ABORT: (_S.ABORTING, _S.ABORTED),
}


@frozen
class Transaction:
    """`partitions`, `subscriptions`: what the coordinator has been told of, once each. `failed`:
    an operation of this transaction has failed, and it can only be aborted."""

    id: TxnID
    state: ClientTxnState = _S.OPEN
    partitions: tuple[str, ...] = ()
    subscriptions: tuple[tuple[str, str], ...] = ()
    failed: bool = False

    def enter(self, state: ClientTxnState) -> Transaction:
        assert self.state in CLIENT_PREVIOUS[state], f"{self.state} → {state}"
        return replace(self, state=state)


# ---- newTransaction ------------------------------------------------------------------------


def begin(client: Client, call: NewTransaction) -> Result:
    """Coordinators take turns, and with several the first one is number 1. Where there is none the
    real client cannot even be built (TransactionCoordinatorClientImpl#startAsync)."""
    if not client.config.cluster.coordinators:
        return client.finish(build_failure(call, NO_COORDINATOR))
    timeout_ms = client.config.timeout_ms if call.timeout_ms is None else call.timeout_ms
    tc_id = client.begun % client.config.cluster.coordinators
    return client.ask_coordinator(tc_id, NewTxn(tc_id, timeout_ms))


def finish_begin(client: Client, call: NewTransaction, answer: NewTxnResponse) -> Result:
    if answer.txn is None:
        return client.finish(build_failure(call, name_exception(answer.error)))
    new = client.keep(call.name, Transaction(answer.txn))
    timeout_ms = client.config.timeout_ms if call.timeout_ms is None else call.timeout_ms
    new, effects = new.finish(build_success(call, str(answer.txn)))
    return new, (SetTimer(TIME_OUT + call.name, timeout_ms), *effects)


def time_out(client: Client, name: str) -> Client:
    """Only an open transaction; commit and abort have cancelled the timer."""
    txn = client.txns.get(name)
    if txn is None or txn.state is not _S.OPEN:
        return client
    return client.keep(name, txn.enter(_S.TIME_OUT))


# ---- commit and abort ----------------------------------------------------------------------


def find_action(txn: Transaction, call: Commit | Abort) -> TxnAction:
    """A commit of a transaction in which something failed aborts it."""
    if isinstance(call, Abort) or txn.failed:
        return TxnAction.ABORT
    return TxnAction.COMMIT


def begin_end(client: Client, call: Commit | Abort) -> Result:
    """Every operation has returned by now, so there is nothing to wait for."""
    txn = client.txns[call.name]
    wanted = _S.COMMITTING if isinstance(call, Commit) else _S.ABORTING
    if txn.state not in (_S.OPEN, wanted):
        return client.finish(build_failure(call, f"{INVALID_STATUS} {txn.state}"))
    txn = txn.enter(wanted)
    under_way, _ = ENDS[find_action(txn, call)]
    new = client.keep(call.name, txn.enter(under_way))
    new, effects = ask_end(new, call)
    return new, (CancelTimer(TIME_OUT + call.name), *effects)


def ask_end(client: Client, call: Commit | Abort) -> Result:
    txn = client.txns[call.name]
    return client.ask_coordinator(txn.id.most, EndTxn(txn.id, find_action(txn, call)))


def finish_end(client: Client, call: Commit | Abort, answer: Answer) -> Result:
    """An error that says that the transaction is gone is the end of it here as well; after any
    other one the same call may be made again. A commit that aborts instead fails either way."""
    txn = client.txns[call.name]
    action = find_action(txn, call)
    if answer.ok:
        client = client.keep(call.name, txn.enter(ENDS[action][1]))
    elif answer.error in LOST:
        client = client.keep(call.name, txn.enter(_S.ERROR))
    if isinstance(call, Commit) and action is TxnAction.ABORT:
        return client.finish(build_failure(call, OPERATION_FAILED))
    if answer.ok:
        return client.finish(build_success(call))
    return client.finish(build_failure(call, name_exception(answer.error)))


def end_by_id(client: Client, call: EndById) -> Result:
    return client.ask_coordinator(call.txn.most, EndTxn(call.txn, call.action))


def tell_state(client: Client, call: GetState) -> Result:
    return client.finish(build_success(call, client.txns[call.name].state))
