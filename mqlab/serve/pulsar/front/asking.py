"""One request of an administrator, and the ways in which it is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from ....kernel import Caller, Disk, Effects, Reply, Send, replace
from ....pulsar.config import CURSORS, name_coordinator
from ....pulsar.errors import ServerError
from ....pulsar.ledger import Cursor
from ....pulsar.messages import CloseConsumer, Subscribe
from ....pulsar.states import SubType
from ..wire.answers import AdminAnswer, AdminAsk, Handed
from ..wire.commands import split_name
from .hosting import ADMINISTRATOR, AskNext, Hosted, Inspect, write_close
from .inspecting import NOT_FOUND, refuse
from .sessions import Sessions
from .topics import PARTITIONED, Refusal, exists, find_row

if TYPE_CHECKING:
    from . import Front

NO_PART = "Topic partitions were not yet created"
NO_TOPIC = "Topic {name} not found"
PART, NUMBER = "([^/]+)", r"(\d{1,18})"
#: a tenant, a namespace and a topic, which a handler gets as the topic's whole name
TOPIC = "/(?P<topic>[^/]+/[^/]+/[^/]+)"
Result = tuple["Front", Effects]
#: what a role is read for: the host with its notes, and its disk
Read = Callable[[Hosted, Disk], AdminAnswer | AskNext]
Fill = Callable[[Hosted, Disk], None]


class Call:
    """`disk`: with the tables of the front, and every role's."""

    def __init__(self, front: Front, caller: Caller, ask: AdminAsk, disk: Disk, query: str) -> None:
        self.front, self.caller, self.ask, self.disk = front, caller, ask, disk
        self._query = parse_qs(query)

    def query(self, name: str) -> str:
        return self._query.get(name, [""])[-1]

    @property
    def forced(self) -> bool:
        return self.query("force").lower() == "true"

    def body(self) -> Any:
        """The JSON that came with it; None where there is none that can be read."""
        try:
            return json.loads(self.ask.body)
        except (ValueError, RecursionError):
            return None

    # -- answers ---------------------------------------------------------------------------

    def say(self, status: int, body: Any = "", *effects: Any) -> Result:
        return self.front, (*effects, Reply(self.caller, AdminAnswer(status, body)))

    def refuse(self, status: int, why: str) -> Result:
        return self.front, (Reply(self.caller, refuse(status, why)),)

    def inspect(self, role: str, read: Read, *before: Any) -> Result:
        return self.front, (*before, Send(role, Handed(self.caller, Inspect(read, noted=True))))

    def at_topic(self, name: str, read: Read, *before: Any) -> Result:
        if find_row(self.disk, name) is None or not self.has(name):
            owner, number = split_name(name)
            unmade = number >= 0 and owner in self.disk.table(PARTITIONED)
            return self.refuse(NOT_FOUND, NO_PART if unmade else NO_TOPIC.format(name=name))
        return self.inspect(name, read, *before)

    def hand(self, role: str, body: Any, *before: Any) -> Result:
        return self.front, (*before, Send(role, Handed(self.caller, body)))

    # -- what there is ---------------------------------------------------------------------

    def has(self, topic: str) -> bool:
        return exists(self.disk, topic)

    def need(self, topic: str) -> None:
        """Raises Refusal where there is no such topic."""
        if not self.has(topic):
            raise Refusal(ServerError.TopicNotFound, NO_TOPIC.format(name=topic))

    def has_coordinator(self, tc_id: int) -> bool:
        return 0 <= tc_id < self.front.config.coordinators

    def coordinators(self) -> list[str]:
        return [name_coordinator(n) for n in range(self.front.config.coordinators)]

    def find_cursor(self, topic: str, subscription: str) -> Cursor | None:
        cursor: Cursor | None = self.disk.table(f"{topic}/{CURSORS}").get(subscription)
        return cursor

    def subscribe(self, topic: str, subscription: str, start: str) -> Effects:
        """A subscription comes to be as always: by a consumer that subscribes, and leaves at
        once."""
        nobody = Caller(ADMINISTRATOR)
        request = Subscribe(topic, subscription, SubType.SHARED, start, durable=True)
        return (
            Send(topic, Handed(nobody, request)),
            Send(topic, Handed(nobody, CloseConsumer(topic, subscription))),
        )

    def close_all(self, topic: str) -> tuple[Sessions, Effects]:
        """All that use a topic have to look it up again."""
        closing: list[Send] = []
        sessions = self.front.sessions
        for kind, conn, number in sessions.using(topic):
            closing.append(Send(conn, write_close(kind, number)))
            if kind == "producer":
                sessions = sessions.drop_producer(conn, number, by_broker=True)
            else:
                sessions = sessions.drop_consumer(conn, number)
        return sessions, tuple(closing)

    def with_sessions(self, sessions: Sessions) -> Front:
        return replace(self.front, sessions=sessions)


def visit(asks: Sequence[tuple[str, Fill]], finish: Callable[[], AdminAnswer]) -> Any:
    """Ask several roles for their parts of one answer, one after the other. Returns the order to
    ask the first of them (`AskNext`), from whose reply the next is asked, or, where there are none,
    the answer. `asks` pairs each role's name with a function that notes its part; `finish` makes
    the answer when all have been asked."""
    remaining = iter(asks)

    def go_on() -> Any:
        role, fill = next(remaining, ("", None))
        if fill is None:  # all have been asked
            return finish()

        def read(hosted: Hosted, disk: Disk) -> Any:
            fill(hosted, disk)
            return go_on()

        return AskNext(role, Inspect(read, noted=True))

    return go_on()
