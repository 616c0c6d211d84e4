"""Consumers whose clients do not read: how much is offered to them, counted."""

from __future__ import annotations

import itertools
from typing import Any

from mqlab.kernel import Caller, Request
from mqlab.serve.driver import Driver
from mqlab.serve.pulsar.adapter import make_adapter
from mqlab.serve.pulsar.front import FRONT
from mqlab.serve.pulsar.front.hosting import PORTION
from mqlab.serve.pulsar.wire.answers import Ask, Push
from mqlab.serve.pulsar.wire.commands import cut_frame, decode_command, encode_command
from tests.serve.pulsar.raw import make_message

TOPIC = "persistent://public/default/unread"
EVERYTHING = (1 << 31) - 1
MESSAGES = 1_500


class Wire:
    """A connection that takes so many pushes until it is read. `offered`: how often one was tried;
    `taken`: the entries that went out."""

    def __init__(self, driver: Driver, number: int, room: int = 0) -> None:
        self.driver, self.number, self.room = driver, number, room
        self.offered, self.taken = 0, list[int]()
        self._asked = itertools.count(1)
        driver.connect(f"conn-{number}", self.push)
        self.tell("CONNECT", client_version="wire", protocol_version=21)

    def tell(self, name: str, message: bytes = b"", **fields: Any) -> None:
        frame = cut_frame(bytearray(encode_command(name, fields, message)))
        assert frame is not None
        caller = Caller(f"conn-{self.number}", self.number, next(self._asked))
        event = Request(caller, Ask(decode_command(frame)), self.driver.now)
        self.driver.deliver(FRONT, event)

    def push(self, role: str, corr: int, body: Any) -> bool:
        if not isinstance(body, Push):
            return True
        self.offered += 1
        if self.room:
            self.room -= 1
            self.taken.append(body.message.message_id.position)
            return True
        return False

    def read(self, room: int) -> None:
        self.room = room
        self.driver.drain(f"conn-{self.number}")

    def subscribe(self, name: str, kind: int) -> None:
        fields = {"consumer_id": 0, "initialPosition": 1, "subType": kind}
        self.tell("SUBSCRIBE", topic=TOPIC, subscription=name, request_id=1, **fields)
        self.tell("FLOW", consumer_id=0, messagePermits=EVERYTHING)


def make_driver() -> tuple[Driver, Wire]:
    """A broker without sockets, and a producer there."""
    driver = Driver(make_adapter(), lambda conn, number, body: None)
    driver.start()
    shop = Wire(driver, 1)
    shop.tell("PRODUCER", topic=TOPIC, producer_id=0, request_id=1)
    return driver, shop


def send(shop: Wire, count: int) -> None:
    for number in range(count):
        shop.tell("SEND", make_message(b"x", number), producer_id=0, sequence_id=number)


def test_what_is_not_read_is_not_dispatched() -> None:
    """Of all that is permitted a portion is offered; more messages cost such a reader nothing."""
    driver, shop = make_driver()
    send(shop, MESSAGES)
    slow = [Wire(driver, number, room=10) for number in (2, 3)]
    slow[0].subscribe("alone", 0)
    slow[1].subscribe("shared", 1)
    assert [len(wire.taken) for wire in slow] == [10, 10]
    assert all(wire.offered <= PORTION for wire in slow)
    before = [wire.offered for wire in slow]
    send(shop, MESSAGES)
    assert [wire.offered for wire in slow] == before
    waiting = driver.roles[TOPIC].late
    assert sum(len(pushes) for pushes in waiting.values()) < 2 * PORTION


def test_all_of_it_comes_in_order_when_it_is_read() -> None:
    """And nothing is offered more often than a portion's worth for each time that there is room."""
    driver, shop = make_driver()
    send(shop, MESSAGES)
    slow = Wire(driver, 2, room=10)
    slow.subscribe("alone", 0)
    turns = 0
    while len(slow.taken) < MESSAGES:
        slow.read(250)
        turns += 1
        assert turns <= MESSAGES // 100
    assert slow.taken == list(range(MESSAGES))
    assert slow.offered <= MESSAGES + (turns + 1) * PORTION
    send(shop, 5)
    assert slow.taken == list(range(MESSAGES + 5))


def test_a_consumer_is_sent_what_it_permits_and_no_more() -> None:
    driver, shop = make_driver()
    send(shop, MESSAGES)
    reader = Wire(driver, 2, room=MESSAGES)
    fields = {"consumer_id": 0, "initialPosition": 1, "subType": 0}
    reader.tell("SUBSCRIBE", topic=TOPIC, subscription="s", request_id=1, **fields)
    for permits, expected in [(250, 250), (1, 251), (99, 350), (1_000, 1_350)]:
        reader.tell("FLOW", consumer_id=0, messagePermits=permits)
        assert reader.taken == list(range(expected))
