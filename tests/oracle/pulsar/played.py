"""The engine at the end of the same line: it answers what `java/Driver.java` would be answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mqlab.pulsar.client.consumer import list_messages
from mqlab.real.differences import Listed
from mqlab.real.program import NotOffered, Program

from .differences import TABLE
from .driver import Thrown
from .engine import ENDERS, PAUSE_S, Engine
from .notebook import Target
from .rest import answer_http, name_topic

SETTING = re.compile(r"^[a-z]+=")
PATIENCE = 200
#: settings of lines that the engine has nothing for
LACKING = ("after", "size", "compacted", "chunk", "retry")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a program, as the Java driver reads it."""

    words: tuple[str, ...]
    settings: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> Line:
        words = text.split(" ")
        given = dict(word.split("=", 1) for word in words if SETTING.match(word))
        return cls(tuple(word for word in words if not SETTING.match(word)), given)

    def txn(self) -> str:
        return f" txn={self.settings['txn']}" if "txn" in self.settings else ""


@dataclass
class PlayedDriver:
    """Positions are those of one ledger, 0. `_came`: what a consumer was sent and nobody has
    received yet; `_begun`: calls that `join` waits for, each on a client of its own."""

    engine: Engine
    _ids: dict[str, str] = field(default_factory=dict)
    _subs: dict[str, tuple[str, str]] = field(default_factory=dict)
    _came: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _begun: dict[str, tuple[str, int]] = field(default_factory=dict)
    _enders: list[str] = field(default_factory=lambda: list(ENDERS))

    def perform(self, text: str) -> Any:
        """Raises NotOffered for what the engine does not model."""
        line = Line.parse(text)
        if line.words[0] == "everything":
            raise NotOffered("everything: the engine's messages are words")
        if "access" in line.settings:
            raise NotOffered(f"OpenProducer {line.settings['access']}")
        lacking = sorted(line.settings.keys() & set(LACKING))
        if lacking:
            raise NotOffered(f"{line.words[0]} with {', '.join(lacking)}")
        verbs: dict[str, Callable[[Line], Any]] = {
            "client": lambda line: "ok",
            "producer": lambda line: "ok",
            "begin": self._begin,
            "register": self._register,
            "send": self._send,
            "batch": self._send_batch,
            "send-unnamed": self._send_unnamed,
            "consumer": self._subscribe,
            "receive": self._receive,
            "ack": self._ack,
            "ack-all": self._ack,
            "redeliver": self._redeliver,
            "reader": self._read_from,
            "has-next": lambda line: bool(self._collect(line.words[1])),
            "read": self._read,
            "commit": self._end,
            "abort": self._end,
            "state": lambda line: self.engine.call(f"state {line.words[1]}"),
            "reopen": lambda line: self.engine.call(f"reopen {line.words[1]}") or "ok",
            "end": self._end_by_id,
            "end-twice": self._end_twice,
            "close": self._close,
            "later": self._begin_later,
            "join": self._join,
            "http": lambda line: answer_http(self, *line.words[1:3]),
            "forget": self._forget,
            "over": lambda line: self._begin_anew(),
        }
        return verbs[line.words[0]](line)

    # -- transactions --------------------------------------------------------------------

    def _begin(self, line: Line) -> str:
        name, timeout_ms = line.words[1], line.words[3]
        txn_id = self.engine.call(f"new-transaction {name} timeout={timeout_ms}")
        self._ids[name] = txn_id.strip("()").replace(",", "/")
        return txn_id

    def _register(self, line: Line) -> str:
        name, url = line.words[1:]
        self.engine.call(f"register {self._ids[name]} {name_topic(url)}")
        return "ok"

    def _end(self, line: Line) -> str:
        self.engine.call(" ".join(line.words))
        return "ok"

    def _end_by_id(self, line: Line) -> str:
        _, _, most, least, action = line.words
        return self._wait(*self._ask_end(f"{most}/{least}", action))

    def _ask_end(self, txn: str, action: str) -> tuple[str, int]:
        """Another client, of which there are several."""
        ender = self._enders.pop(0)
        return ender, self.engine.begin(f"end-by-id {action} {txn}", ender)

    def _wait(self, ender: str, place: int) -> str:
        try:
            self.engine.wait_for(ender, place)
        finally:
            self._enders.append(ender)
        return "ok"

    def _end_twice(self, line: Line) -> list[str]:
        _, _, most, least, action = line.words
        both = [self._ask_end(f"{most}/{least}", action) for _ in range(2)]
        self.engine.settle()
        return sorted(self._say(*one) for one in both)

    def _say(self, ender: str, place: int) -> str:
        try:
            return self._wait(ender, place)
        except Thrown as thrown:
            return str(thrown)

    def _begin_later(self, line: Line) -> str:
        _, label, action, name = line.words
        self._begun[label] = self._ask_end(self._ids[name], action)
        self.engine.settle()
        return "ok"

    def _join(self, line: Line) -> str:
        return self._wait(*self._begun.pop(line.words[1]))

    # -- messages ------------------------------------------------------------------------

    def _send(self, line: Line) -> str:
        _, producer, text = line.words
        number = f" sequence={line.settings['seq']}" if "seq" in line.settings else ""
        topic = name_topic(producer.partition(">")[2])
        return _place(self.engine.call(f"send {topic} {text}{line.txn()}{number}"))

    def _send_unnamed(self, line: Line) -> str:
        _, url, text = line.words
        words = f"send {name_topic(url)} {text}{line.txn()} metadata=no"
        return _place(self.engine.call(words))

    def _send_batch(self, line: Line) -> list[str]:
        _, producer, *texts = line.words
        topic = name_topic(producer.partition(">")[2])
        plain = f" plain={line.settings['plain']}" if "plain" in line.settings else ""
        place = _place(self.engine.call(f"send {topic} {' '.join(texts)}{line.txn()}{plain}"))
        return [f"{place}:{index}" for index in range(len(texts))]

    def _subscribe(self, line: Line) -> str:
        _, label, _, url, subscription, kind = line.words
        topic = name_topic(url)
        more = f" queue={line.settings['queue']}" if "queue" in line.settings else ""
        if "dead" in line.settings:
            more += f" dead_letter=dead-0 max_redeliver={line.settings['dead']}"
        self.engine.call(f"subscribe {topic} {subscription} type={kind} from=earliest{more}")
        self._subs[label], self._came[label] = (topic, subscription), []
        return "ok"

    def _collect(self, label: str) -> list[dict[str, Any]]:
        """What this consumer was sent, with what was collected before."""
        _, subscription = self._subs[label]
        for consumer in self.engine.role(self.engine.client).consumers_of(subscription):
            owner = next(
                k for k, v in self._subs.items() if v == (consumer.partition, subscription)
            )
            for message in consumer.queue:
                for at, value in list_messages(message):
                    index = "" if at.batch_index < 0 else f":{at.batch_index}"
                    self._came[owner].append({
                        "text": str(value),
                        "id": f"0:{at.position}{index}",
                        "again": message.redelivery_count,
                    })  # fmt: skip
        if subscription in {name for _, name in self._subs.values()}:
            self.engine.call(f"receive {subscription}")
        return self._came[label]

    def _receive(self, line: Line) -> list[dict[str, Any]]:
        _, label, count = line.words
        if "wait" in line.settings:
            self.engine.pause(int(line.settings["wait"]) / 1000)
        for _ in range(0 if "wait" in line.settings else PATIENCE):
            if len(self._collect(label)) >= int(count):
                break
            self.engine.pause(PAUSE_S)
        self._collect(label)
        came, left = self._came[label][: int(count)], self._came[label][int(count) :]
        self._came[label] = left
        return came

    def _ack(self, line: Line) -> str:
        verb, label, *ids = line.words
        topic, subscription = self._subs[label]
        if any(not wire.startswith("0:") for wire in ids):
            raise NotOffered("Ack of another ledger")
        if any("/" in wire for wire in ids):
            raise NotOffered("Ack of a batch that is not there")
        named = " ".join(f"{topic}@{wire.partition(':')[2]}" for wire in ids)
        verb = "ack-cumulative" if verb == "ack-all" else verb
        self.engine.call(f"{verb} {subscription} {named}{line.txn()}")
        return "ok"

    def _redeliver(self, line: Line) -> str:
        self._came[line.words[1]] = []
        self.engine.call(f"redeliver {self._subs[line.words[1]][1]}")
        return "ok"

    def _close(self, line: Line) -> str:
        _, subscription = self._subs.pop(line.words[1])
        self.engine.call(f"close {subscription}")
        return "ok"

    def _forget(self, line: Line) -> str:
        if self._ids:  # a client that has begun nothing is as good as another
            self.engine.replace_client()
        for known in (self._ids, self._subs, self._came):
            known.clear()
        return "ok"

    def _begin_anew(self) -> str:
        """Another program: on a broker of its own, which costs nothing here."""
        self.engine.begin_anew()
        self._ids, self._subs, self._came, self._begun = {}, {}, {}, {}
        self._enders = list(ENDERS)
        return "ok"

    # -- readers -------------------------------------------------------------------------

    def _read_from(self, line: Line) -> str:
        _, label, _, url = line.words
        subscription = f"reader-{label.rpartition('-0')[2]}"
        self.engine.call(f"subscribe {name_topic(url)} {subscription} from=earliest")
        self._subs[label], self._came[label] = (name_topic(url), subscription), []
        return "ok"

    def _read(self, line: Line) -> Any:
        return self._came[line.words[1]].pop(0)


def _place(position: str) -> str:
    """ "@3" or "orders-0@3" as a position on the wire; a duplicate has none."""
    place = position.rpartition("@")[2]
    return "-1:-1" if place in ("-1", "") else f"0:{place}"


@dataclass(frozen=True, slots=True)
class EngineHost:
    """The engine itself, without a port: the lines that a Java client is told are played on it."""

    broker: str = "mqlab"
    at_once: int = 1
    listed: tuple[Listed, ...] = TABLE

    def cannot(self, program: Program) -> str:
        return ""

    @contextmanager
    def own(self, program: Program, profile: str) -> Iterator[Target]:
        engine = Engine(dict(program.settings))
        yield Target(self.broker, PlayedDriver(engine), engine)

    @contextmanager
    def share_broker(self, profile: str) -> Iterator[Target]:
        engine = Engine()
        yield Target(self.broker, PlayedDriver(engine), engine)
