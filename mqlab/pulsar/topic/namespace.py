"""A partition in a namespace that does not exist.

Nobody can serve it, and its lookup fails: a producer gets TopicDoesNotExistException, and a
coordinator that has it as a participant **tries again every second, without limit**, telling all
other participants as well, each of which appends one more marker each time. It ends within a
second of creating the namespace. (A topic that was never created, in a namespace that exists, is a
success at once.) Seen on running brokers 4.0.8 and 4.2.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Caller, Effects, Map, Put, Reply, Send, replace
from ..config import TOPIC, PulsarConfig
from ..errors import ServerError
from ..messages import (
    Answer,
    CreateNamespace,
    EndTxnOnPartition,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    OpenProducer,
    ProducerOpened,
    SendMessage,
    SendReceipt,
    Subscribe,
    Subscribed,
)

if TYPE_CHECKING:
    from . import Topic

Result = tuple["Topic", Effects]

#: the row of the table "topic" that says that the namespace was created
CREATED = "namespace"
NOT_READY, NOT_FOUND = ServerError.ServiceNotReady, ServerError.TopicNotFound


def has_namespace(config: PulsarConfig, name: str, rows: Map[str, bool]) -> bool:
    return name not in config.missing or CREATED in rows


def refuse(topic: Topic, body: Any, caller: Caller) -> Result:
    """What anybody hears who asks for this partition."""
    match body:
        case CreateNamespace():
            done = (Put(TOPIC, CREATED, True), Reply(caller, Answer()))
            return replace(topic, namespace=True), done
        case EndTxnOnPartition(txn=txn):
            return topic, (Reply(caller, EndTxnOnPartitionResponse(NOT_READY, txn=txn)),)
        case EndTxnOnSubscription(txn=txn, subscription=name):
            refusal = EndTxnOnSubscriptionResponse(NOT_READY, txn=txn, subscription=name)
            return topic, (Reply(caller, refusal),)
        case SendMessage():
            return topic, (Reply(caller, SendReceipt(NOT_FOUND)),)
        case OpenProducer(partition=partition):
            return topic, (Send(caller.name, ProducerOpened(NOT_FOUND, partition=partition)),)
        case Subscribe(partition=partition, subscription=name):
            answer = Subscribed(NOT_FOUND, partition=partition, subscription=name)
            return topic, (Send(caller.name, answer),)
    return topic, (Reply(caller, Answer(NOT_FOUND)),)
