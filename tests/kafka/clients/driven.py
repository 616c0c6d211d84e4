"""A producer driven by hand: a test calls it, answers it, and looks at what it sends."""

from __future__ import annotations

from typing import Any

from mqlab.kafka import SAFEGUARDS, KafkaConfig
from mqlab.kafka.clients.calls import Begin, Init, SendRecord
from mqlab.kafka.clients.producer import Producer, ProducerConfig
from mqlab.kafka.messages import InitProducerIdResponse
from mqlab.kernel import Call, ConnectionLost, Fired, MemoryDisk, Response, Return, Send, SetTimer

CLUSTER = KafkaConfig(on=frozenset(SAFEGUARDS))


class Client:
    """`sent`: requests without an answer, oldest first; `heard`: what calls returned;
    `timers`: (name, ms) as set."""

    def __init__(self, **config: Any) -> None:
        config = {"txn_id": "t", **config}
        self.role = Producer(ProducerConfig(cluster=CLUSTER, **config))
        self.sent: list[Send] = []
        self.heard: list[str] = []
        self.timers: list[tuple[str, int]] = []

    def call(self, *calls: object) -> Client:
        for call in calls:
            self._step(Call(call))
        return self

    def send(self, *values: str, to: str = "o-0") -> Client:
        return self.call(*(SendRecord(to, value) for value in values))

    def answer(self, *bodies: Any) -> Client:
        """The oldest requests are answered, one with each body."""
        for body in bodies:
            ask = self.sent.pop(0)
            self._step(Response(ask.to, ask.corr, body))
        return self

    def lost(self, peer: str) -> Client:
        self.sent = [s for s in self.sent if s.to != peer]
        self._step(ConnectionLost(peer))
        return self

    def fired(self, timer: str = "retry") -> Client:
        self._step(Fired(timer))
        return self

    def begun(self, pid: int = 7, epoch: int = 3) -> Client:
        """Inside a transaction, with this id and epoch."""
        self.call(Init()).answer(InitProducerIdResponse(pid=pid, epoch=epoch)).call(Begin())
        self.heard.clear()
        return self

    @property
    def requests(self) -> list[str]:
        return [f"{s.to} {s.body}" for s in self.sent]

    def _step(self, event: Any) -> None:
        self.role, effects = self.role.step(event, MemoryDisk())
        for effect in effects:
            match effect:
                case Send():
                    self.sent.append(effect)
                case Return(value=value):
                    self.heard.append(str(value))
                case SetTimer(timer=timer, after_ms=ms):
                    self.timers.append((timer, ms))
