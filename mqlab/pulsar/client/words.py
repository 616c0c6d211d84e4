"""What a step has changed in a client's memory, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...kernel import Text, Words
from .consumer import Consumer, list_messages

if TYPE_CHECKING:
    from . import Client

ENTERED = Words("{name} {txn}: {state}")
WAITS = Words("{sub}: to be received: {values}")


def tell_client(old: Client | None, new: Client) -> tuple[Text, ...]:
    """A transaction's state, and what waits in a queue when it has grown."""
    return tuple(_tell(old, new)) if old is not None else ()


def _tell(old: Client, new: Client) -> Iterator[Text]:
    for name, txn in new.txns.items():
        before = old.txns.get(name)
        if before is None or before.state is not txn.state:
            yield ENTERED(name=name, txn=txn.id, state=txn.state)
    for consumer in new.consumers:
        before = old.find_consumer(consumer.partition, consumer.subscription)
        if before is not None and len(consumer.queue) > len(before.queue):
            yield WAITS(sub=consumer.subscription, values=", ".join(_list_values(consumer)))


def _list_values(consumer: Consumer) -> list[str]:
    return [str(value) for message in consumer.queue for _, value in list_messages(message)]
