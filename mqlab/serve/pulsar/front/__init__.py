"""The broker's front: what is between a client's commands and the engine's roles.

The coordinator, and each topic with its transaction buffer, subscriptions and pending acks, are the
very roles that the lessons step through. Each of them is *hosted* (`hosting.py`), and the front
hands on to them what a client asks. What it does itself is what a real client needs besides and a
lesson does without: it knows where topics are, who is connected and under which numbers.

    hosting.py       a role on the server's one disk, asked by clients
    sessions.py      the producers and consumers of each connection
    topics.py        names, lookups, how topics come to be; ledgers and topics in numbers
    producing.py     producers and their messages; schemas: what its messages are said to be
    consuming.py     consumers and their acknowledgements; a subscription moves to another place
    transactions.py  what a coordinator is asked
    admin.py         the admin interface, by HTTP at the same address, with its parts: asking.py,
                     administered.py, places.py, transacting.py
    inspecting.py    what an administrator reads of a role

**Durable** are the tables of topics.py and the names given to producers; **memory** is who is
connected. *What can go wrong:* a client leaves while a request is in flight; what it asked for
happens all the same, and its consumers are closed. A broker that starts knows no consumer; clients
come back and subscribe again.
Read on in ServerCnx (4.2), where nearly every handler named below is a method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ....kernel import (
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Quiet,
    Reply,
    Request,
    Words,
    frozen,
    replace,
)
from ....pulsar.config import PulsarConfig
from ....pulsar.errors import ServerError
from ....pulsar.messages import Answer
from ...adapter import Hangup
from ..wire.answers import AdminAsk, Ask, CommandAnswer
from ..wire.commands import MAX_MESSAGE
from . import admin, consuming, producing, topics, transactions
from .sessions import FRONT, Gone, Sessions

__all__ = ["FRONT", "Front"]

PROTOCOL_VERSION = 21
#: how the names of a broker's answers end
ANSWERS = ("SUCCESS", "ERROR", "RESPONSE")
NOT_SERVED = Words("{name} is not served here")

Result = tuple["Front", Effects]
Handler = Callable[["Front", Caller, Ask, Disk], Result]


@frozen
class Front(Quiet):
    config: PulsarConfig
    sessions: Sessions = field(default_factory=Sessions)

    def step(self, event: Event, disk: Disk) -> Result:
        match event:
            case Request(caller=caller, body=Ask() as ask):
                return self._answer(caller, ask, disk)
            case Request(caller=caller, body=AdminAsk() as ask):
                return admin.answer(self, caller, ask, disk)
            case Request(body=Gone(conn=conn, number=number, consumes=consumes)):
                drop = self.sessions.drop_consumer if consumes else self.sessions.drop_producer
                return replace(self, sessions=drop(conn, number)), ()
            case ConnectionLost(peer=peer):
                sessions, effects = self.sessions.forget(peer)
                return replace(self, sessions=sessions), effects
        # Roles answer the clients themselves, so the front sees nothing of them.
        return self, ()

    def _answer(self, caller: Caller, ask: Ask, disk: Disk) -> Result:
        handler = HANDLERS.get(ask.command.name, refuse)
        try:
            return handler(self, caller, ask, disk)
        except topics.Refusal as refusal:
            return self, (Reply(caller, refusal.answer),)

    @staticmethod
    def recover(config: PulsarConfig, disk: Disk, at_ms: int) -> Result:
        return Front(config), ()


# ---- who handles what ----------------------------------------------------------------------


def connect(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """CONNECT: what this broker is; it speaks what 4.2 speaks, as far as it serves it."""
    theirs = ask.command.body.protocol_version
    flags = {"supports_get_partitioned_metadata_without_auto_creation": True}
    fields = (
        ("server_version", "Pulsar Server mqlab"),
        ("protocol_version", min(theirs, PROTOCOL_VERSION)),
        ("max_message_size", MAX_MESSAGE),
        ("feature_flags", flags),
    )
    return front, (Reply(caller, CommandAnswer(name="CONNECTED", fields=fields)),)


def pong(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    return front, (Reply(caller, CommandAnswer(name="PONG")),)


def ignore(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    return front, ()


def refuse(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """A command of the protocol that is not served: an error under its number. One that has none,
    and an answer, are no client's to send, and end the connection."""
    why, is_answer = NOT_SERVED(name=ask.command.name), ask.command.name.endswith(ANSWERS)
    if is_answer or "request_id" not in ask.command.body.DESCRIPTOR.fields_by_name:
        return front, (Reply(caller, Hangup(why)),)
    return front, (Reply(caller, Answer(ServerError.NotAllowedError, why.en)),)


HANDLERS: dict[str, Handler] = {
    "CONNECT": connect,
    "PING": pong,
    "PONG": ignore,
    "PARTITIONED_METADATA": topics.answer_partitions,
    "LOOKUP": topics.answer_lookup,
    "GET_TOPICS_OF_NAMESPACE": topics.answer_names,
    "GET_SCHEMA": producing.answer_schema,
    "GET_OR_CREATE_SCHEMA": producing.name_schema,
    "PRODUCER": producing.create_producer,
    "SEND": producing.send,
    "CLOSE_PRODUCER": producing.close_producer,
    "SUBSCRIBE": consuming.subscribe,
    "FLOW": consuming.give_permits,
    "ACK": consuming.acknowledge,
    "REDELIVER_UNACKNOWLEDGED_MESSAGES": consuming.redeliver,
    "UNSUBSCRIBE": consuming.unsubscribe,
    "CLOSE_CONSUMER": consuming.close_consumer,
    "GET_LAST_MESSAGE_ID": consuming.get_last_message_id,
    "SEEK": consuming.seek,
    "TC_CLIENT_CONNECT_REQUEST": transactions.connect,
    "NEW_TXN": transactions.begin,
    "ADD_PARTITION_TO_TXN": transactions.add_partitions,
    "ADD_SUBSCRIPTION_TO_TXN": transactions.add_subscriptions,
    "END_TXN": transactions.end,
}
