"""What a program talks to: clients of a broker, driven line by line.

A program says what it wants in its own names (`orders-0`, the subscription `billing`, the
transaction that it has begun); on the wire topics get a prefix. Each question is noted with its
answer in the wording of the engine's own messages, so that a recording, a scenario's narration
and a live broker can be laid side by side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from mqlab.pulsar.evidence import BROKER
from mqlab.real.program import RealBrokerError

from .driver import Thrown
from .notebook import ADMIN, TRANSACTIONS, Notebook, Txn

#: how long to wait for a message that should not come
SILENCE_MS = 700


@dataclass(frozen=True, slots=True)
class Got:
    """A message that was received. `wire`: its id as the driver knows it."""

    text: str
    place: str
    wire: str
    again: int


@dataclass(frozen=True, slots=True)
class Consumer:
    """`label`: what the driver calls it; `who`: the node; `place`: topic and subscription."""

    label: str
    who: str
    topic: str
    subscription: str

    @property
    def place(self) -> str:
        return f"{self.topic}/{self.subscription}"


@dataclass
class Lab(Notebook):
    """`notes`: what it noted; `clients`: what spoke for it."""

    _made: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.clients["pulsar-client"] = self.target.version

    def close(self) -> None:
        """Raises RealBrokerError where a transaction stays open: its watermark would hold back
        what the next program does."""
        try:
            for txn in self._begun:
                self.http("POST", f"{TRANSACTIONS}/abortTransaction/{txn.most}/{txn.least}")
            self.forget()
            if not self.wait_until(lambda: not any(map(self._lives, self._begun))):
                raise RealBrokerError("the program leaves an open transaction that cannot end")
        finally:
            self.perform("over")

    def _lives(self, txn: Txn) -> bool:
        path = f"{TRANSACTIONS}/transactionMetadata/{txn.most}/{txn.least}"
        return bool(self.http("GET", path)["status"] == 200)

    # -- transactions ----------------------------------------------------------------------

    def client(self, who: str, **settings: object) -> None:
        """Connect, unless it is connected."""
        if who not in self._made:
            self._made.add(who)
            self.perform(f"client {who}{_write(settings)}")

    def forget(self) -> None:
        """Every client goes, and what it had made; transactions stay as they are."""
        self.perform("forget")
        self._made.clear()

    def begin(self, who: str, timeout_ms: int = 600_000) -> Txn:
        self.client(who)
        label = f"t{len(self._begun)}"
        txn_id = self.perform(f"begin {label} {who} {timeout_ms}")
        most, least = map(int, txn_id.strip("()").split(","))
        txn = Txn(label, who, most, least)
        self._begun.append(txn)
        self.note(who, BROKER, f"NewTxn timeout={timeout_ms}", f"ok {self.id(txn)}")
        return txn

    def begin_refused(self, who: str) -> None:
        """One that the coordinator is not to give."""
        question = "NewTxn timeout=600000"
        self.note(who, BROKER, question, self.attempt(f"begin refused {who} 600000"))

    def commit(self, txn: Txn) -> None:
        self._end(txn, "commit")

    def abort(self, txn: Txn) -> None:
        self._end(txn, "abort")

    def _end(self, txn: Txn, action: str) -> None:
        outcome = self.attempt(f"{action} {txn.label}")
        self.note(txn.owner, BROKER, f"EndTxn {action} {self.id(txn)}", outcome)

    def begin_end(self, txn: Txn, action: str) -> None:
        """Ask for the end and go on; `join` waits for what comes of it."""
        self.perform(f"later end-{txn.label} {action} {txn.label}")

    def join(self, txn: Txn, action: str) -> None:
        outcome = self.attempt(f"join end-{txn.label}")
        self.note(txn.owner, BROKER, f"EndTxn {action} {self.id(txn)}", outcome)

    def end_by_id(self, who: str, txn: Txn, action: str) -> None:
        """By its id alone, past everything that a client remembers."""
        self.client(who)
        outcome = self.attempt(f"end {who} {txn.most} {txn.least} {action}")
        self.note(who, BROKER, f"EndTxn {action} {self.id(txn)} by its id", outcome)

    def end_twice(self, who: str, txn: Txn, action: str) -> None:
        outcomes = self.perform(f"end-twice {who} {txn.most} {txn.least} {action}")
        question = f"EndTxn {action} {self.id(txn)} by its id, twice"
        self.note(who, BROKER, question, ", ".join(outcomes))

    def register(self, txn: Txn, topic: str) -> None:
        outcome = self.attempt(f"register {txn.label} {self.url(topic)}")
        question = f"AddPartitionToTxn {self.id(txn)} {topic}"
        self.note(txn.owner, BROKER, question, outcome)

    def reopen(self, txn: Txn) -> None:
        """Its client has not heard of the end; nothing is asked."""
        self.perform(f"reopen {txn.label}")

    def state(self, txn: Txn) -> None:
        """As its client sees it."""
        answer = self.perform(f"state {txn.label}")
        self.note(txn.owner, txn.owner, f"state of {self.id(txn)}", answer)

    def wait_state(self, txn: Txn, state: str) -> None:
        self.wait_until(lambda: self.perform(f"state {txn.label}") == state)
        self.state(txn)

    # -- producers -------------------------------------------------------------------------

    def producer(self, who: str, topic: str, **settings: object) -> str:
        """The driver's name for it; made where it is not yet."""
        self.client(who)
        label = f"{who}>{topic}"
        if label not in self._made:
            self._made.add(label)
            self.perform(f"producer {label} {who} {self.url(topic)}{_write(settings)}")
        return label

    def _name_producer(self, who: str, topic: str, access: str) -> tuple[str, str]:
        """The label of a producer with an access mode, and the line that opens it."""
        self.client(who)
        label = f"{who}>{topic}"
        self._made.add(label)
        return label, f"producer {label} {who} {self.url(topic)} name={who} access={access}"

    def open_producer(self, who: str, topic: str, access: str) -> None:
        """A producer with an access mode; another one of the same client comes in its place."""
        _, line = self._name_producer(who, topic, access)
        self.note(who, topic, f"OpenProducer {access}", self.attempt(line))

    def begin_producer(self, who: str, topic: str, access: str) -> None:
        """One that is to wait; `join_producer` tells when its turn has come."""
        label, line = self._name_producer(who, topic, access)
        self.perform(f"later {label} {line}")
        self.pause(SILENCE_MS / 1000)
        state = "ready" if self.perform(f"has-ended {label}") else "waits"
        self.note(who, topic, f"OpenProducer {access}", state)

    def join_producer(self, who: str, topic: str) -> None:
        outcome = self.attempt(f"join {who}>{topic}")
        self.note(who, topic, "the producer that waited", outcome)

    def close_producer(self, who: str, topic: str) -> None:
        outcome = self.attempt(f"close {who}>{topic}")
        self.note(who, topic, "CloseProducer", outcome)

    def send(
        self, who: str, topic: str, text: str, txn: Txn | None = None, **settings: object
    ) -> str:
        """The message's id on the wire; "" where there is none."""
        line = f"send {self.producer(who, topic)} {text}{_in(txn)}{_write(settings)}"
        more = "".join(f" {name}={value}" for name, value in settings.items())
        question = f"Send {text}{self.name(txn)}{more}"
        try:
            wire = str(self.perform(line))
        except Thrown as thrown:
            self.note(who, topic, question, thrown)
            return ""
        self.note(who, topic, question, f"ok @{self.place(topic, wire)}")
        return wire

    def producer_in_chunks(self, who: str, topic: str, name: str, size: int) -> None:
        """A producer that cuts what is longer than `size` bytes."""
        self.producer(who, topic, name=name, chunk=size)
        self.note(who, topic, f"Producer {name} chunk={size}", "ok")

    def see_everything(self, who: str, topic: str, way: str, codec: str, fate: str) -> None:
        """Messages of every kind, and all that a consumer can see of each."""
        self.client(who)
        line = f"everything {who} {self.url(topic)} {way} {codec} {fate}"
        for number, fields in enumerate(self.perform(line)):
            self.note(topic, who, f"everything of {way} {codec} {fate} {number}", "; ".join(fields))

    def send_unnamed(self, who: str, topic: str, text: str, txn: Txn) -> None:
        """By a frame of a client that names the transaction in its command and not in the message;
        the topic is registered with the transaction and loaded before."""
        self.client(who)
        wire = self.perform(f"send-unnamed {self.url(topic)} {text}{_in(txn)}")
        question = f"Send {text}{self.name(txn)}, which the message does not say"
        self.note(who, topic, question, f"ok @{self.place(topic, wire)}")

    def send_unplaced(self, who: str, topic: str, text: str, txn: Txn | None = None) -> None:
        """Behind nobody knows how many markers: where it lies is not noted."""
        self.send(who, topic, text, txn)
        last = self.notes.pop()
        self.notes.append(replace(last, answered=re.sub(r" @\d+$", "", last.answered)))

    def send_batch(
        self, who: str, topic: str, texts: list[str], txn: Txn | None = None, **settings: object
    ) -> None:
        """Several messages as one entry. plain: so many of the first ones are sent in no
        transaction, and in the same batch; seq: the number of the first."""
        label = self.producer(who, topic, batching="yes")
        ids = self.perform(f"batch {label} {' '.join(texts)}{_in(txn)}{_write(settings)}")
        places = ", ".join(f"@{self.place(topic, wire)}" for wire in ids)
        first = f" seq={settings['seq']}" if "seq" in settings else ""
        self.note(who, topic, f"Send {', '.join(texts)}{self.name(txn)}{first}", f"ok {places}")

    # -- consumers -------------------------------------------------------------------------

    def subscribe(
        self, who: str, topic: str, subscription: str, kind: str = "Shared", **settings: object
    ) -> Consumer:
        """From the first message there is."""
        self.client(who)
        consumer = Consumer(f"{who}<{topic}/{subscription}", who, topic, subscription)
        line = f"consumer {consumer.label} {who} {self.url(topic)} {subscription} {kind}"
        outcome = self.attempt(f"{line}{_write(settings)}")
        self.note(who, topic, f"Subscribe {subscription} {kind}", outcome)
        return consumer

    def wait_connected(self, consumer: Consumer) -> None:
        """Until the broker has it again: a client comes back by itself."""

        def is_back() -> bool:
            stats = self.json(f"{ADMIN}/{self.wire(consumer.topic)}/stats")
            there = stats["subscriptions"] if isinstance(stats, dict) else {}
            return bool(there.get(consumer.subscription, {}).get("consumers"))

        self.wait_until(is_back)

    def receive(self, consumer: Consumer, count: int) -> list[Got]:
        """Note `count` messages, or as many as come."""
        return self._received(consumer, f"receive {consumer.label} {count}", count)

    def silent(self, consumer: Consumer, wait_ms: int = SILENCE_MS) -> None:
        """Note that nothing comes, or what comes."""
        self._received(consumer, f"receive {consumer.label} 99 wait={wait_ms}", 0)

    def receive_only(self, consumer: Consumer, count: int) -> None:
        """So many, and then nothing more."""
        self.receive(consumer, count)
        self.silent(consumer)

    def _received(self, consumer: Consumer, line: str, count: int) -> list[Got]:
        messages = [
            Got(m["text"], self.place(consumer.topic, m["id"]), m["id"], m["again"])
            for m in self.perform(line)
        ]
        for got in messages:
            again = f" redelivered {got.again}" if got.again else ""
            delivery = f"Message {got.text} @{got.place}{again}"
            self.note(consumer.topic, consumer.who, delivery, "")
        if len(messages) < count or not messages:
            self.note(consumer.who, consumer.place, "receive", "nothing")
        return messages

    def take(self, consumer: Consumer) -> None:
        """One message, however long it takes: a consumer without a queue has no other receive."""
        try:
            self._received(consumer, f"take {consumer.label}", 1)
        except Thrown as thrown:
            self.note(consumer.who, consumer.place, "receive", thrown)

    def receive_unplaced(self, consumer: Consumer, count: int) -> None:
        """Without their places, as of `send_unplaced`."""
        before = len(self.notes)
        self.receive(consumer, count)
        self.notes[before:] = [
            replace(o, asked=re.sub(r" @\d+", "", o.asked)) for o in self.notes[before:]
        ]

    def receive_again(self, consumer: Consumer) -> None:
        """A message that has come by another topic, the retry topic; how it is called and where it
        lies there is not noted."""
        for message in self.perform(f"receive {consumer.label} 1"):
            self.note(consumer.topic, consumer.who, f"Message {message['text']}", "")

    def invent(self, got: Got, ahead: int, part: str = "", ledgers: int = 0) -> Got:
        """The id of a message that nobody was sent, so many entries behind one that was. `part`: an
        index of a batch and its size, as 0/3; `ledgers`: in another ledger, so far from its own."""
        ledger, entry = map(int, got.wire.split(":")[:2])
        place = f"{int(got.place.split(':')[0]) + ahead}"
        if part:
            place += f":{part.partition('/')[0]}"
        if ledgers:
            place += f" of {'a later' if ledgers > 0 else 'an older'} ledger"
        wire = f"{ledger + ledgers}:{entry + ahead}{':' if part else ''}{part}"
        return Got("", place, wire, 0)

    def ack(self, consumer: Consumer, *messages: Got, txn: Txn | None = None) -> None:
        self._ack("ack", "", consumer, messages, txn)

    def ack_all(self, consumer: Consumer, message: Got, txn: Txn | None = None) -> None:
        """Cumulatively: it and all before it."""
        self._ack("ack-all", " cumulative", consumer, (message,), txn)

    def _ack(
        self, verb: str, kind: str, consumer: Consumer, messages: tuple[Got, ...], txn: Txn | None
    ) -> None:
        ids = " ".join(m.wire for m in messages)
        outcome = self.attempt(f"{verb} {consumer.label} {ids}{_in(txn)}")
        where = ", ".join(m.place for m in messages)
        question = f"Ack{kind} {consumer.subscription} {where}{self.name(txn)}"
        self.note(consumer.who, consumer.topic, question, outcome)

    def retry(self, consumer: Consumer, message: Got) -> None:
        """Send it to the retry topic, and acknowledge it (reconsumeLater)."""
        self.perform(f"retry {consumer.label} {message.wire}")
        question = f"retry {consumer.subscription} {message.text}"
        self.note(consumer.who, consumer.topic, question, "ok")

    def nack(self, consumer: Consumer, message: Got) -> None:
        """A negative acknowledgement, whose delay is over."""
        self.perform(f"nack {consumer.label} {message.wire}")
        self.note(consumer.who, consumer.topic, f"Nack {consumer.subscription} {message.place}", "")

    def redeliver(self, consumer: Consumer) -> None:
        """All that it holds and has not acknowledged."""
        self.perform(f"redeliver {consumer.label}")
        question = f"Redeliver {consumer.subscription}"
        self.note(consumer.who, consumer.topic, question, "")

    def leave(self, consumer: Consumer) -> None:
        """Close it; the subscription stays."""
        self.perform(f"close {consumer.label}")
        question = f"CloseConsumer {consumer.subscription}"
        self.note(consumer.who, consumer.topic, question, "ok")

    def read_all(self, who: str, topic: str) -> None:
        """What a new reader finds, from the first message until it is told that there is none."""
        self.client(who)
        label = f"{who}?{topic}{len(self._made)}"
        self._made.add(label)
        self.perform(f"reader {label} {who} {self.url(topic)}")
        while self.perform(f"has-next {label}"):
            m = self.perform(f"read {label}")
            if m == "nothing":
                self.note(who, topic, "read", m)
                break
            self.note(topic, who, f"Message {m['text']} @{self.place(topic, m['id'])}", "")
        self.note(who, topic, "hasMessageAvailable", "false")
        self.perform(f"close {label}")


def _in(txn: Txn | None) -> str:
    return "" if txn is None else f" txn={txn.label}"


def _write(settings: dict[str, object]) -> str:
    return "".join(f" {name}={value}" for name, value in settings.items())
