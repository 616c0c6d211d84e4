"""A client on a stand: what it sends is kept, and a test gives the answers."""

from __future__ import annotations

from typing import Any

from mqlab.kernel import (
    Call,
    Caller,
    ConnectionLost,
    Event,
    Fired,
    MemoryDisk,
    Outcome,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
)
from mqlab.pulsar.client import Client, ClientConfig
from mqlab.pulsar.client.calls import NewTransaction, SubscribeTo
from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.messages import (
    AddPartitionToTxn,
    AddPartitionToTxnResponse,
    AddSubscriptionToTxn,
    AddSubscriptionToTxnResponse,
    MessageId,
    NewTxn,
    NewTxnResponse,
    PushMessage,
    Subscribe,
    Subscribed,
    TcClientConnect,
    TcClientConnectResponse,
    TxnID,
)
from mqlab.pulsar.states import SubType


class Stand:
    """Coordinators answer by themselves what `begins` and `registers`; the rest a test answers."""

    def __init__(self, begins: bool = True, registers: bool = True, **cluster: Any) -> None:
        self.begins, self.registers = begins, registers
        config = PulsarConfig(on=frozenset(SAFEGUARDS), **cluster)
        self.client, _ = Client.recover(ClientConfig(cluster=config), MemoryDisk(), 0)
        self.open: list[Send] = []
        self.sent: list[str] = []
        self.returned: list[Outcome] = []
        self.timers: list[str] = []
        self.given = -1
        self.asked: list[bool] = []  # of each Subscribe: beside another consumer

    def call(self, call: Any) -> str:
        """Gives what it returned, "" while it has not."""
        before = len(self.returned)
        self.step(Call(call))
        return self.returned[-1].result if len(self.returned) > before else ""

    def begin(self, name: str = "t1") -> str:
        return self.call(NewTransaction(name))

    def answer(self, body: Any) -> str:
        """Answer the oldest open request; gives what the call returned."""
        ask = self.open.pop(0)
        before = len(self.returned)
        self.step(Response(ask.to, ask.corr, body))
        return self.returned[-1].result if len(self.returned) > before else ""

    def push(self, value: Any, position: int, count: int = 0, acked: tuple[int, ...] = ()) -> None:
        values = value if isinstance(value, tuple) else (value,)
        at = MessageId("orders-0", position)
        self.told("orders-0", PushMessage(at, "shop", values, count, None, acked))

    def told(self, peer: str, body: Any) -> str:
        before = len(self.returned)
        self.step(Request(Caller(peer), body))
        return self.returned[-1].result if len(self.returned) > before else ""

    def lose(self, peer: str) -> None:
        self.open = [ask for ask in self.open if ask.to != peer]
        self.step(ConnectionLost(peer))

    def fire(self, timer: str) -> None:
        self.step(Fired(timer))

    def take_sent(self) -> list[str]:
        """What went out since it was last asked, as `to: words`."""
        sent, self.sent = self.sent, []
        return sent

    def step(self, event: Event) -> None:
        self.client, effects = self.client.step(event, MemoryDisk())
        for effect in effects:
            match effect:
                case Send(to=to, body=body):
                    self.sent.append(f"{to}: {body}")
                    self.asked += [body.beside] if isinstance(body, Subscribe) else []
                    self._send(effect)
                case Return(value=value):
                    self.returned.append(value)
                case SetTimer(timer=timer):
                    self.timers.append(timer)

    def _send(self, effect: Send) -> None:
        answer: Any
        match effect.body:
            case TcClientConnect():
                answer = TcClientConnectResponse()
            case NewTxn(tc_id=tc_id) if self.begins:
                self.given += 1
                answer = NewTxnResponse(txn=TxnID(tc_id, self.given))
            case AddPartitionToTxn() if self.registers:
                answer = AddPartitionToTxnResponse()
            case AddSubscriptionToTxn():
                answer = AddSubscriptionToTxnResponse()
            case _:
                self.open += [effect] if effect.corr else []
                return
        self.step(Response(effect.to, effect.corr, answer))


SHARED = SubscribeTo("orders-0", "shop", SubType.SHARED)


def connected(call: SubscribeTo = SHARED) -> Stand:
    """A consumer that is open, and a transaction t1."""
    stand = Stand()
    stand.begin()
    assert stand.call(call) == ""
    assert stand.told("orders-0", Subscribed(partition="orders-0", subscription="shop")) == "ok"
    stand.take_sent()
    return stand
