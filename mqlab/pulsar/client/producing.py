"""Transactions and producers, as their client sees them.

To send: the partition is registered with the transaction first, once, and then written to.

The answer to a send says that the entry is durable. It says nothing of the transaction: a send is
done before its commit, and long before a consumer can read it. What the broker has not answered
when a connection breaks is sent again with the same number; without deduplication it is then there
twice.

A producer that its application has opened by a call may have asked for the topic alone. When the
broker does not know it (any more), it is opened again with the topic epoch that it was sent; if
that is refused, its message has failed, and the commit of its transaction will abort instead. Once
it was fenced it is not opened again.

Sources: TypedMessageBuilderImpl#sendAsync, ProducerImpl#connectionOpened (4.2). *Left out:* that
a producer which shares is opened again until sendTimeout, however often it is refused; chunks,
batches that fill by time or size: a call with several values is one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import CancelTimer, Effects, SetTimer, build_failure, build_success, frozen, replace
from ...kernel import Send as Ask
from ..errors import NO_COORDINATOR, OPERATION_FAILED, ServerError, name_exception
from ..messages import (
    AddPartitionToTxn,
    Answer,
    EndTxn,
    MessageMetadata,
    NewTxn,
    NewTxnResponse,
    OpenProducer,
    ProducerOpened,
    SendMessage,
    SendReceipt,
    TxnID,
)
from ..states import CLIENT_PREVIOUS, AccessMode, ClientTxnState, TxnAction
from .calls import Abort, Commit, CreateProducer, EndById, GetState, NewTransaction, Send

if TYPE_CHECKING:
    from . import Client


# ---- A transaction as its client sees it: TransactionImpl ----------------------------
#
# The client has states of its own (`states.CLIENT_PREVIOUS`). TIME_OUT is entered by a timer of the
# client's, and the coordinator knows nothing of it; ERROR means that the coordinator knows the
# transaction no more. Neither says how the transaction ended.
#
# Sources: TransactionBuilderImpl, TransactionImpl#commit, #abort, #registerProducedTopic,
# #registerAckedTopic (4.2).

Result = tuple["Client", Effects]

_S = ClientTxnState
TIME_OUT = "timeout "
INVALID_STATUS = name_exception(ServerError.InvalidTxnStatus)
#: answers after which the client does not know the transaction's end
LOST = (ServerError.TransactionNotFound, ServerError.InvalidTxnStatus)
#: action → the state while it is asked for, and the state when it is done
ENDS = {TxnAction.COMMIT: (_S.COMMITTING, _S.COMMITTED), TxnAction.ABORT: (_S.ABORTING, _S.ABORTED)}


@frozen
class Transaction:
    """`partitions`, `subscriptions`: what was sent to the coordinator, once each. `failed`:
    an operation of this transaction has failed, and it can only be aborted."""

    id: TxnID
    state: ClientTxnState = _S.OPEN
    partitions: tuple[str, ...] = ()
    subscriptions: tuple[tuple[str, str], ...] = ()
    failed: bool = False

    def enter(self, state: ClientTxnState) -> Transaction:
        assert self.state in CLIENT_PREVIOUS[state], f"{self.state} → {state}"
        return replace(self, state=state)


# ---- newTransaction ------------------------------------------------------------------


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


# ---- commit and abort ----------------------------------------------------------------


def find_action(txn: Transaction, call: Commit | Abort) -> TxnAction:
    """A commit of a transaction in which something failed aborts it."""
    return TxnAction.ABORT if isinstance(call, Abort) or txn.failed else TxnAction.COMMIT


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


ONE_EACH = "a client has one producer for {partition} here: close-producer {partition} first"


# ---- a producer ----------------------------------------------------------------------


def open_producer(client: Client, call: CreateProducer) -> Result:
    if call.partition in client.producers and call.partition not in client.fenced:
        return client.finish(build_failure(call, ONE_EACH.format(partition=call.partition)))
    ask = OpenProducer(call.partition, client.config.name, call.access_mode)
    return client.drop_producer(call.partition), (Ask(call.partition, ask),)


def finish_opening(client: Client, answer: ProducerOpened) -> Result:
    """Take the answer to PRODUCER. A producer is opened by a call, or by the client itself: again
    after its connection broke, or because a message to send needs one. In the last case the send
    goes on, or fails with the broker's error."""
    call = client.call
    if isinstance(call, CreateProducer) and call.partition == answer.partition:
        return _finish_create(client, call, answer)
    if answer.error is ServerError.ProducerFenced and answer.partition in client.producers:
        client = replace(client, fenced=tuple(sorted({*client.fenced, answer.partition})))
    # `flight`: the message with its number; None while its partition is still being registered
    send_waits = (
        isinstance(call, Send) and call.partition == answer.partition and client.flight is not None
    )
    if _must_open(client, call, answer.partition):
        if not answer.ok:
            return _fail(client, call, answer)
        return _keep_producer(client, AccessMode.SHARED, answer).proceed()
    # not ready: it waits for exclusive access, and another answer follows
    if not send_waits or not answer.ready:
        return client, ()
    assert isinstance(call, Send)
    if not answer.ok:
        # the message sent there has no answer any more
        return _fail(client.forget_requests(answer.partition), call, answer)
    # `waits_for`: the message was sent, and its own answer ends the call. After a broken
    # connection, or ServiceNotReady, its request is gone: it is sent again with its number
    return (client, ()) if client.waits_for(answer.partition) else client.proceed()


def _finish_create(client: Client, call: CreateProducer, answer: ProducerOpened) -> Result:
    if not answer.ready:
        return client, ()
    if not answer.ok:
        return client.finish(build_failure(call, name_exception(answer.error)))
    client, epoch = _keep_producer(client, call.access_mode, answer), answer.topic_epoch
    return client.finish(build_success(call, "" if epoch is None else f"epoch {epoch}"))


def _keep_producer(client: Client, mode: AccessMode, answer: ProducerOpened) -> Client:
    """It is open, and with deduplication goes on after the last number of its name that the broker
    knows: what an application sends again is new, unless it says its own numbers."""
    at, sequences = answer.partition, client.sequences
    opened = OpenProducer(at, client.config.name, mode, answer.topic_epoch)
    if client.config.cluster.dedup:
        sequences = sequences.set(at, answer.last_sequence)
    return replace(client, producers=client.producers.set(at, opened), sequences=sequences)


def _must_open(client: Client, call: Any, partition: str) -> bool:
    """Whether this is a call that sends there and has to hear of the last number first."""
    to_send = isinstance(call, Send) and call.partition == partition and call.sequence is None
    known = partition in client.producers or partition in client.sequences
    return to_send and bool(client.config.cluster.dedup) and not known


def reconnect(client: Client, partition: str) -> Effects:
    """The connection broke: its producer is opened again."""
    call = client.call
    if _must_open(client, call, partition):
        return (Ask(partition, OpenProducer(partition, client.config.name)),)
    if isinstance(call, CreateProducer) and call.partition == partition:
        return (Ask(partition, OpenProducer(partition, client.config.name, call.access_mode)),)
    if partition in client.producers and partition not in client.fenced:
        return (Ask(partition, client.producers[partition]),)
    return ()


# ---- a message -----------------------------------------------------------------------


def proceed(client: Client, call: Send) -> Result:
    """Send the next request of a send call: first register the partition with the transaction's
    coordinator, if there is a transaction and it has not written there yet, then send the message.
    Fails at once if the producer was fenced, or the transaction is not open. `client.flight`: the
    message of this call with its sequence number; None: it has none yet."""
    if call.partition in client.fenced:
        return _fail(client, call, Answer(ServerError.ProducerFenced))
    if _must_open(client, call, call.partition):
        return client, (Ask(call.partition, OpenProducer(call.partition, client.config.name)),)
    txn = client.txns[call.txn] if call.txn else None
    # a message that has its number already was in order then: it is only sent again
    if txn is not None and client.flight is None:
        if txn.state is not ClientTxnState.OPEN:
            failure = build_failure(call, f"{INVALID_STATUS} {txn.state}")
            return client.spoil(call.txn).finish(failure)
        if call.partition not in txn.partitions:
            registration = AddPartitionToTxn(txn.id, (call.partition,))
            return client.ask_coordinator(txn.id.most, registration)
    if client.flight is None:
        client = _number(client, call)
    assert client.flight is not None
    return client.ask(call.partition, client.flight)


def _number(client: Client, call: Send) -> Client:
    """The message with the producer's next number, or with the one that the call says; each of a
    batch has its own."""
    number = client.sequences.get(call.partition, -1) + 1
    if call.sequence is not None:
        number = call.sequence
    txn = client.txns[call.txn].id if call.txn else None
    name = client.config.name
    last, lowest = number + len(call.values) - 1, number if len(call.values) > 1 else None
    metadata = None if call.metadata else MessageMetadata(name, last)
    opened = call.partition in client.producers
    flight = SendMessage(
        call.partition, name, last, call.values, txn, lowest, metadata, opened=opened
    )
    highest = max(last, client.sequences.get(call.partition, -1))
    sequences = client.sequences.set(call.partition, highest)
    return replace(client, flight=flight, sequences=sequences)


def finish_registration(client: Client, call: Send, answer: Answer) -> Result:
    if not answer.ok:
        return _fail(client, call, answer)
    txn = client.txns[call.txn]
    registered = tuple(sorted((*txn.partitions, call.partition)))
    return client.keep(call.txn, replace(txn, partitions=registered)).proceed()


def finish_send(client: Client, call: Send, receipt: SendReceipt) -> Result:
    if receipt.error is ServerError.ServiceNotReady:
        return client, (Ask(call.partition, client.producers[call.partition]),)
    if not receipt.ok:
        return _fail(client, call, receipt)
    return client.finish(build_success(call, f"@{receipt.position}"))


def _fail(client: Client, call: Send, answer: Answer) -> Result:
    return client.spoil(call.txn).finish(build_failure(call, name_exception(answer.error)))
