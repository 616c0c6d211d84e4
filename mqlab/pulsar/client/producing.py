"""Sending: the partition is registered with the transaction first, once, and then written to.

The answer to a send says that the entry is durable. It says nothing of the transaction: a send is
done before its commit, and long before anybody can read it. What the broker has not answered when
a connection breaks is sent again with the same number; without deduplication it then lies there
twice.

A producer that its application has opened by a call may have asked for the topic alone. When the
broker does not know it (any more), it is opened again with the topic epoch that it was told; if
that is refused, its message has failed, and the commit of its transaction will abort instead. Once
it was fenced it is not opened again.

Sources: TypedMessageBuilderImpl#sendAsync, ProducerImpl#connectionOpened (4.2). *Left out:* that
a producer which shares is opened again until sendTimeout, however often it is refused; chunks,
batches that fill by time or size: a call with several values is one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Effects, build_failure, build_success, replace
from ...kernel import Send as Ask
from ..errors import ServerError, name_exception
from ..messages import (
    AddPartitionToTxn,
    Answer,
    MessageMetadata,
    OpenProducer,
    ProducerOpened,
    SendMessage,
    SendReceipt,
)
from ..states import ClientTxnState
from .calls import CreateProducer, Send
from .transactions import INVALID_STATUS

if TYPE_CHECKING:
    from . import Client

Result = tuple["Client", Effects]

ONE_EACH = "a client has one producer for {partition} here: close-producer {partition} first"


# ---- a producer ------------------------------------------------------------------------------


def open_producer(client: Client, call: CreateProducer) -> Result:
    if call.partition in client.producers and call.partition not in client.fenced:
        return client.finish(build_failure(call, ONE_EACH.format(partition=call.partition)))
    ask = OpenProducer(call.partition, client.config.name, call.access_mode)
    return client.drop_producer(call.partition), (Ask(call.partition, ask),)


def finish_opening(client: Client, answer: ProducerOpened) -> Result:
    """The answer is for the call that opens it, or it was opened again: for a message that waits
    for that, or because the connection broke."""
    call = client.call
    if isinstance(call, CreateProducer) and call.partition == answer.partition:
        return _finish_create(client, call, answer)
    if answer.error is ServerError.ProducerFenced and answer.partition in client.producers:
        client = replace(client, fenced=tuple(sorted({*client.fenced, answer.partition})))
    mine = (
        isinstance(call, Send) and call.partition == answer.partition and client.flight is not None
    )
    if not mine or not answer.ready:
        return client, ()
    assert isinstance(call, Send)
    if not answer.ok:
        return _fail(client.forget_requests(answer.partition), call, answer)
    return (client, ()) if client.waits_for(answer.partition) else client.proceed()


def _finish_create(client: Client, call: CreateProducer, answer: ProducerOpened) -> Result:
    if not answer.ready:
        return client, ()
    if not answer.ok:
        return client.finish(build_failure(call, name_exception(answer.error)))
    name, epoch = client.config.name, answer.topic_epoch
    opened = OpenProducer(call.partition, name, call.access_mode, epoch)
    client = replace(client, producers=client.producers.set(call.partition, opened))
    return client.finish(build_success(call, "" if epoch is None else f"epoch {epoch}"))


def reconnect(client: Client, partition: str) -> Effects:
    """The connection broke: its producer is opened again."""
    call = client.call
    if isinstance(call, CreateProducer) and call.partition == partition:
        return (Ask(partition, OpenProducer(partition, client.config.name, call.access_mode)),)
    if partition in client.producers and partition not in client.fenced:
        return (Ask(partition, client.producers[partition]),)
    return ()


# ---- a message -------------------------------------------------------------------------------


def proceed(client: Client, call: Send) -> Result:
    """The next request of this send."""
    if call.partition in client.fenced:
        return _fail(client, call, Answer(ServerError.ProducerFenced))
    txn = client.txns[call.txn] if call.txn else None
    if txn is not None and client.flight is None:
        if txn.state is not ClientTxnState.OPEN:
            refused = build_failure(call, f"{INVALID_STATUS} {txn.state}")
            return client.spoil(call.txn).finish(refused)
        if call.partition not in txn.partitions:
            ask = AddPartitionToTxn(txn.id, (call.partition,))
            return client.ask_coordinator(txn.id.most, ask)
    if client.flight is None:
        client = _number(client, call)
    assert client.flight is not None
    return client.ask(call.partition, client.flight)


def _number(client: Client, call: Send) -> Client:
    """The message with the producer's next number, or with the one that the call says."""
    number = client.sequences.get(call.partition, -1) + 1
    if call.sequence is not None:
        number = call.sequence
    txn = client.txns[call.txn].id if call.txn else None
    name = client.config.name
    metadata = None if call.metadata else MessageMetadata(name, number)
    opened = call.partition in client.producers
    flight = SendMessage(
        call.partition, name, number, call.values, txn, metadata=metadata, opened=opened
    )
    highest = max(number, client.sequences.get(call.partition, -1))
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
