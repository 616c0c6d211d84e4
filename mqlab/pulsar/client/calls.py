"""What an application may call on its PulsarClient, and what only a tester or an operator would.

An application has several transactions at once, so each has a name of its own: "t1".
"""

from __future__ import annotations

import re
from typing import Any

from ...kernel import frozen, phrase, worded
from ...kernel.usages import quote
from ..messages import MessageId, TxnID
from ..states import AccessMode, SubType, TxnAction


def _given(*pairs: tuple[str, object]) -> str:
    """What of a call's options was said; 0 may be."""
    said = (pair for pair in pairs if pair[1] not in (None, ""))
    return "".join(f" {name}={value}" for name, value in said)


@frozen
class NewTransaction:
    """client.newTransaction().withTransactionTimeout(…).build()"""

    name: str
    timeout_ms: int | None = None

    def __str__(self) -> str:
        return f"new-transaction {self.name}{_given(('timeout', self.timeout_ms))}"


@frozen
class CreateProducer:
    """client.newProducer().accessMode(…).create(): a client has one producer for each partition. It
    returns when the producer is ready. A partition without this call has one that shares.
    `access_mode`: shared, exclusive …"""

    partition: str
    access_mode: AccessMode = AccessMode.SHARED

    def __str__(self) -> str:
        shares = self.access_mode is AccessMode.SHARED
        return f"producer {self.partition}{_given(('access', '' if shares else self.access_mode))}"


@worded("close-producer {partition}")
class Release:
    """producer.close()"""

    partition: str


@frozen
class Send:
    """producer.newMessage(txn).value(…).send(): several values are one batch. `txn`: the name
    of a transaction; `sequence`: an explicit sequence id. `metadata` False: the message does not
    say its transaction, only its command does, as with Pulsar's Go client 0.19.0.
    `plain`: so many of the values, the first ones, were sent in no transaction; the batch goes out
    with the transaction of the others all the same (apache/pulsar#26547,
    AbstractBatchMessageContainer#hasSameTxn, 4.2.4)."""

    partition: str
    values: tuple[str, ...]
    txn: str = ""
    sequence: int | None = None
    metadata: bool = True
    plain: int = 0

    def __str__(self) -> str:
        named = "" if self.metadata else "no"
        more = _given(
            ("txn", self.txn),
            ("plain", self.plain or ""),
            ("sequence", self.sequence),
            ("metadata", named),
        )
        return f"send {self.partition} {' '.join(map(quote, self.values))}{more}"


@worded("commit {name}")
class Commit:
    """txn.commit()"""

    name: str


@worded("abort {name}")
class Abort:
    """txn.abort()"""

    name: str


@worded("state {name}")
class GetState:
    """txn.getState()"""

    name: str


@frozen
class SubscribeTo:
    """client.newConsumer().subscribe(). `queue`: receiverQueueSize; 0: no message comes before it
    is received. `dead_letter`: the partition
    for what comes more often than `max_redeliver` times again (a DeadLetterPolicy).
    `batch_index_ack` 0: enableBatchIndexAcknowledgment(false), the Java client's default: a batch
    is acknowledged once all of its messages are, except in a transaction. `durable` False:
    client.newReader(), whose subscription goes with it. `sub_type`: Exclusive, Shared,
    Failover or Key_Shared; `initial_position`: Latest or Earliest."""

    partition: str
    subscription: str
    sub_type: SubType = SubType.EXCLUSIVE
    initial_position: str = "Latest"
    queue: int = 1_000
    dead_letter: str = ""
    max_redeliver: int = 0
    batch_index_ack: int = 1
    durable: bool = True

    def __str__(self) -> str:
        first = self.initial_position
        more = _given(
            ("type", "" if self.sub_type is SubType.EXCLUSIVE else self.sub_type),
            ("from", "" if first == "Latest" else first.lower()),
            ("queue", "" if self.queue == 1_000 else str(self.queue)),
            ("dead_letter", self.dead_letter),
            ("max_redeliver", self.max_redeliver if self.dead_letter else ""),
            ("batch_index_ack", "" if self.batch_index_ack else "0"),
        )
        verb = "subscribe" if self.durable else "reader"
        return f"{verb} {self.partition} {self.subscription}{more}"


#: of a message that came before, how often
AGAIN = re.compile(r"\bagain (\d+)")


@worded("receive {subscription}")
class Receive:
    """consumer.receive(), until no more message is there; returns those that came, or "nothing".
    With a queue of 0: one message, for which it waits."""

    subscription: str

    def say_detail(self, detail: str) -> str:
        return AGAIN.sub(lambda found: phrase("again {}", found[1]), detail)


@frozen
class Acknowledge:
    """consumer.acknowledge(id, txn) and acknowledgeCumulative(id, txn). `ids` empty: all that was
    received and not acknowledged; cumulatively, the last of it in each partition. `cumulative`: all
    up to the id."""

    subscription: str
    ids: tuple[MessageId, ...]
    txn: str = ""
    cumulative: bool = False

    def __str__(self) -> str:
        verb = "ack-cumulative" if self.cumulative else "ack"
        more = _given(("txn", self.txn))
        return f"{' '.join((verb, self.subscription, *map(str, self.ids)))}{more}"


@worded("redeliver {subscription}")
class RedeliverAll:
    """consumer.redeliverUnacknowledgedMessages()"""

    subscription: str


@frozen
class Nack:
    """consumer.negativeAcknowledge(id) whose redelivery delay is over: the whole entry comes again.
    `ids`: which messages."""

    subscription: str
    ids: tuple[MessageId, ...]

    def __str__(self) -> str:
        return " ".join(("nack", self.subscription, *map(str, self.ids)))


@worded("seek {subscription} {to}")
class SeekTo:
    """consumer.seek(id): it reads on from there. Its connection to the partition is closed and made
    again; so are those of the subscription's other consumers, whose clients hear nothing of it
    here: let them subscribe again. `to`: the message that comes next."""

    subscription: str
    to: MessageId


@worded("close {subscription}")
class Close:
    """consumer.close()"""

    subscription: str


@worded("reopen {name}")
class Reopen:
    """For tests: set the state of an ended transaction back to OPEN, as reflection can, so that the
    client sends what a stale one would."""

    name: str


@worded("end-by-id {action} {txn.most}/{txn.least}")
class EndById:
    """A raw END_TXN by its id, as another client that knows the id can send; and what the
    REST call abortTransaction comes to."""

    txn: TxnID
    action: TxnAction


@frozen
class AskAdmin:
    """A call of the administration (REST), or a raw command: this request to the node that owns
    what it is about. A client makes it here so that a scenario needs no other node. `words`: how
    a scenario says it."""

    to: str
    request: Any
    words: str = ""

    def __str__(self) -> str:
        return self.words or f"ask {self.to} {self.request}"


def find_name(call: object) -> str:
    """The name of the transaction that a call uses, "" where it uses none."""
    match call:
        case Commit(name=name) | Abort(name=name) | GetState(name=name) | Reopen(name=name):
            return name
        case Send(txn=name) | Acknowledge(txn=name):
            return name
    return ""
