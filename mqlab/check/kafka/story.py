"""A story in which released clients use a broker that is killed, and the history of it.

Nothing in it is measured in time. A client whose answer is to ask again, and again, is refused for
good when nothing else has happened on the server between `MANY` such answers; one that hears
nothing in `PATIENCE_S` is unanswered.

Two ids write to both partitions at once, one commits and one aborts. The server is killed when a
commit has been answered, its markers still in flight, and again while a transaction is open. At
last each id is introduced once more. That answer comes when all that the id had begun has ended,
so what the readers then have is all that they will ever have.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from typing import Any, Protocol
from urllib.request import ProxyHandler, build_opener

from ...kernel import FactKind
from ...kernel.text import WordedError
from ..history import (
    ABORT,
    ABORTED,
    COMMIT,
    COMMITTED,
    Assign,
    Drained,
    End,
    Ended,
    Event,
    Read,
    Send,
)

PATIENCE_S = 60.0  # for one call; a machine that is busy takes its time
CALL_S = 6.0  # until a client that waits looks what the server does
MANY = 10
LAST = 1_000  # facts that the server is asked for
AGAIN = "CONCURRENT_TRANSACTIONS"
TOPICS = ("payments", "invoices")


class Killable(Protocol):
    """A server of the engine's that can be killed, such as `mqlab.serve.RunningBroker`."""

    @property
    def address(self) -> str: ...
    @property
    def trace_url(self) -> str: ...
    def kill(self) -> None: ...
    def restart(self) -> None: ...


class Unanswered(WordedError):
    """A client has waited for too long; the message says for what."""


class Refused(WordedError):
    """A client can do no more, although no other had its id; the message says what it was
    answered."""


class Story:
    """The clients of one server, and the history that they write. `older`: whether the coordinator
    knows that librdkafka's EndTxn keeps the epoch; else a client is good for one transaction."""

    def __init__(self, broker: Killable, older: bool) -> None:
        from confluent_kafka import KafkaException, Producer

        self._failure, self._producer = KafkaException, Producer
        self.broker, self.older = broker, older
        self.history: list[Event] = []
        self._open = build_opener(ProxyHandler({})).open  # no proxy reaches this machine
        self._clock, self._txns = count(1), count()

    def note(self, event: type[Event], process: str, **values: Any) -> None:
        self.history.append(event(time=next(self._clock), process=process, **values))

    def introduce(self, txn_id: str) -> Client:
        return Client(self, txn_id)

    def retry(self, what: str, call: Callable[[float], object]) -> None:
        """Make a call of librdkafka, with CALL_S to answer, and repeat it while its error is
        retriable. Raises KafkaException where the transaction must be aborted, Refused when the
        client can do no more (a fatal error, or the server's last `MANY` answers were all
        CONCURRENT_TRANSACTIONS), Unanswered after PATIENCE_S, or for any other error. `what`: the
        call, for the message."""
        give_up_at = time.monotonic() + PATIENCE_S
        while True:
            try:
                call(CALL_S)
                return
            except self._failure as error:
                cause = error.args[0]
                if cause.txn_requires_abort():
                    raise
                if cause.fatal():
                    raise Refused(f"{what}: {cause.str()}") from error
                if (times := self.count_refusals()) >= MANY:
                    raise Refused(
                        "{}: {}, {} times, and nothing else happens", what, AGAIN, times
                    ) from None
                if not cause.retriable() or time.monotonic() > give_up_at:
                    raise Unanswered(f"{what}: {cause.str()}") from error

    def count_refusals(self) -> int:
        """How often the server has last said that one must ask again, with nothing in between."""
        with self._open(f"{self.broker.trace_url}/trace?after=0&last={LAST}") as lines:
            facts = [json.loads(line).get("fact") for line in lines]
        times = 0
        for fact in reversed([fact for fact in facts if fact is not None]):
            if fact["kind"] not in (FactKind.SEND, FactKind.REPLY):
                break
            if fact["kind"] == FactKind.REPLY and fact["text"] != AGAIN:
                break
            times += fact["kind"] == FactKind.REPLY
        return times

    def crash(self) -> None:
        """kill -9, and a start with what is on disk."""
        self.broker.kill()
        self.broker.restart()

    def read_back(self) -> None:
        """Read both topics, each of one partition, to their last stable offsets, as a
        read_committed consumer does, and note each message and the ends in the history. Raises
        Unanswered."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        ends: dict[str, int] = {}
        consumer = Consumer({"bootstrap.servers": self.broker.address, "group.id": "reader",
                             "enable.partition.eof": True, "fetch.wait.max.ms": 10})  # fmt: skip
        self.note(Assign, "reader", isolation="read_committed")
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in TOPICS])
        give_up_at = time.monotonic() + PATIENCE_S
        with closing(consumer):
            while len(ends) < len(TOPICS):
                message = consumer.poll(1)
                if time.monotonic() > give_up_at:
                    raise Unanswered("a reader did not come to the end")
                if message is None:
                    continue
                topic, offset, error = str(message.topic()), message.offset() or 0, message.error()
                if error is None:
                    value = (message.value() or b"").decode()
                    self.note(Read, "reader", topic=topic, partition=0, offset=offset, value=value)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ends[topic] = offset  # the next to be read
        for topic, offset in ends.items():
            self.note(Drained, "reader", topic=topic, partition=0, end=offset)


class Client:
    """A producer of a transactional id. Unanswered, Refused where it is not introduced."""

    def __init__(self, story: Story, txn_id: str) -> None:
        self.story = story
        self.producer = story._producer({
            "bootstrap.servers": story.broker.address, "transactional.id": txn_id, "linger.ms": 0,
            "transaction.timeout.ms": 600_000, "reconnect.backoff.max.ms": 250, "log_level": 0,
        })  # fmt: skip
        self.txn_id = txn_id
        self.name = f"{txn_id}-{next(story._txns)}"
        story.retry(f"{txn_id}: init_transactions", self.producer.init_transactions)

    def go_on(self) -> Client:
        """Who writes the next transaction of this id."""
        return self if self.story.older else self.story.introduce(self.txn_id)

    def begin(self) -> None:
        """Begin a transaction and send a message to each partition; return when each is
        acknowledged or has failed (then the end fails too). Raises Refused or Unanswered."""
        self.txn = f"{self.name}.{next(self.story._txns)}"
        try:
            self.producer.begin_transaction()
            for topic in TOPICS:
                message: dict[str, Any] = {
                    "topic": topic,
                    "partition": 0,
                    "value": f"{self.txn} {topic}",
                }
                self.story.note(Send, self.name, txn=self.txn, **message)
                self.producer.produce(**message)
            unsent = self.producer.flush(PATIENCE_S)
        except self.story._failure as error:
            error_type = Refused if error.args[0].fatal() else Unanswered
            raise error_type(f"{self.txn}: {error.args[0].str()}") from error
        if unsent:
            raise Unanswered("{}: a message was not acknowledged", self.txn)

    def end(self, how: str = COMMIT) -> None:
        self.story.note(End, self.name, txn=self.txn, how=how)
        outcome, error = self._end(how)
        self.story.note(Ended, self.name, txn=self.txn, outcome=outcome, error=error)

    def _end(self, how: str) -> tuple[str, str]:
        abort = self.producer.abort_transaction
        if how == ABORT:
            self.story.retry(f"{self.txn}: abort", abort)
            return ABORTED, ""
        try:
            self.story.retry(f"{self.txn}: commit", self.producer.commit_transaction)
            return COMMITTED, ""
        except self.story._failure as error:
            self.story.retry(f"{self.txn}: abort", abort)
            return ABORTED, error.args[0].str()


def tell(story: Story) -> None:
    """Run the clients through the scenario of the module's docstring, and write their history:
    transactions that commit and abort, crashes of the broker in between, and clients that start
    again. Raises Unanswered or Refused where one of them cannot go on."""
    orders, billing = story.introduce("orders"), story.introduce("billing")
    for client in (orders, billing):
        client.begin()
    orders.end()
    billing.end(ABORT)
    # the client for this id's next transaction: another one where an epoch is good for one only
    orders = orders.go_on()
    orders.begin()
    orders.end()
    story.crash()
    billing = billing.go_on()
    billing.begin()
    story.crash()
    billing.end()
    for txn_id in ("orders", "billing"):
        client = story.introduce(txn_id)
        client.begin()
        client.end()
    # returns when the id's last transaction has ended, so that all of it can be read
    for txn_id in ("orders", "billing"):
        story.introduce(txn_id)
    story.read_back()
