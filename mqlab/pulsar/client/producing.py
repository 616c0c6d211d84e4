"""Sending: the partition is registered with the transaction first, once, and then written to.

The answer to a send says that the entry is durable. It says nothing of the transaction: a send is
done before its commit, and long before anybody can read it. What the broker has not answered when
a connection breaks is sent again with the same number; without deduplication it then lies there
twice.

Sources: TypedMessageBuilderImpl#sendAsync, ProducerImpl#connectionOpened (4.2). *Left out:*
sendTimeout, chunks, batches that fill by time or size: a call with several values is one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Effects, build_failure, build_success, replace
from ..errors import name_exception
from ..messages import AddPartitionToTxn, Answer, MessageMetadata, SendMessage, SendReceipt
from ..states import ClientTxnState
from .calls import Send
from .transactions import INVALID_STATUS

if TYPE_CHECKING:
    from . import Client

Result = tuple["Client", Effects]


def proceed(client: Client, call: Send) -> Result:
    """The next request of this send."""
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
    said = None if call.metadata else MessageMetadata(name, number)
    flight = SendMessage(call.partition, name, number, call.values, txn, metadata=said)
    highest = max(number, client.sequences.get(call.partition, -1))
    sequences = client.sequences.set(call.partition, highest)
    return replace(client, flight=flight, sequences=sequences)


def finish_registration(client: Client, call: Send, said: Answer) -> Result:
    if not said.ok:
        return _fail(client, call, said)
    txn = client.txns[call.txn]
    registered = tuple(sorted((*txn.partitions, call.partition)))
    return client.keep(call.txn, replace(txn, partitions=registered)).proceed()


def finish_send(client: Client, call: Send, said: SendReceipt) -> Result:
    if not said.ok:
        return _fail(client, call, said)
    return client.finish(build_success(call, f"@{said.position}"))


def _fail(client: Client, call: Send, said: Answer) -> Result:
    return client.spoil(call.txn).finish(build_failure(call, name_exception(said.error)))
