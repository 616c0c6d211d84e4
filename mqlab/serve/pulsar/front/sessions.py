"""Who is connected: the producers and consumers of each connection, under their clients' numbers.

All of it is memory. When a connection ends its consumers are closed, as their client would have
closed them, and its topics learn that its producers have gone (ServerCnx#channelInactive, 4.2).
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ....kernel import Caller, Effects, Map, Send, frozen, replace
from ....pulsar.messages import CloseConsumer
from ..wire.answers import Handed

FRONT = "front"


class ProducerLost:
    """The connection of a producer has ended: its role has to know."""


@frozen
class Gone:
    """To the front: the consumer or producer of this number was not let in by its topic, or the
    topic has closed it."""

    conn: str
    number: int
    consumes: bool


@frozen
class Producer:
    """`conn`, `number`: its connection, and its number there; `version`: of its schema."""

    topic: str
    name: str
    conn: str
    number: int
    version: bytes

    def caller(self, asker: Caller) -> Caller:
        """Its client, asking as this producer."""
        return replace(asker, name=f"{self.name}@{self.conn}/{self.number}")

    def leave(self) -> Send:
        return Send(self.topic, Handed(self.caller(Caller("")), ProducerLost()))


@frozen
class Consumer:
    """`name`: by which its topic knows it; `in_order`: Exclusive or Failover."""

    topic: str
    subscription: str
    name: str
    in_order: bool = False

    def caller(self, asker: Caller) -> Caller:
        """Its client, asking as this consumer."""
        return replace(asker, name=self.name)

    def close(self) -> Send:
        request = CloseConsumer(self.topic, self.subscription)
        return Send(self.topic, Handed(Caller(self.name), request))


@frozen
class Session:
    """One connection. `closed`: numbers of producers that the broker has closed; what their client
    had sent before it knew of that is ignored (ServerCnx#recentlyClosedProducers)."""

    producers: Map[int, Producer] = field(default_factory=Map)
    consumers: Map[int, Consumer] = field(default_factory=Map)
    closed: Map[int, bool] = field(default_factory=Map)


#: (connection, whether it is a consumer, number)
User = tuple[str, bool, int]
Index = Map[Any, Map[User, bool]]


@frozen
class Sessions:
    """`users`: of each topic; `readers`: of each subscription, by its topic and name. A request
    that names one of them must not look at all that there are."""

    by_conn: Map[str, Session] = field(default_factory=Map)
    users: Index = field(default_factory=Map)
    readers: Index = field(default_factory=Map)

    def of(self, conn: str) -> Session:
        return self.by_conn.get(conn) or Session()

    def put(self, conn: str, session: Session) -> Sessions:
        return replace(self, by_conn=self.by_conn.set(conn, session))

    # -- producers -------------------------------------------------------------------------

    def find_producer(self, conn: str, number: int) -> Producer | None:
        producer: Producer | None = self.of(conn).producers.get(number)
        return producer

    def add_producer(self, producer: Producer) -> Sessions:
        conn, number = producer.conn, producer.number
        new = self.drop_producer(conn, number)
        session = new.of(conn)
        producers = session.producers.set(number, producer)
        closed = session.closed.remove(number)
        new = new.put(conn, replace(session, producers=producers, closed=closed))
        return replace(new, users=_enter(new.users, producer.topic, (conn, False, number)))

    def drop_producer(self, conn: str, number: int, by_broker: bool = False) -> Sessions:
        session = self.of(conn)
        producer: Producer | None = session.producers.get(number)
        if producer is None:
            return self
        closed = session.closed.set(number, True) if by_broker else session.closed
        producers = session.producers.remove(number)
        new = self.put(conn, replace(session, producers=producers, closed=closed))
        return replace(new, users=_leave(new.users, producer.topic, (conn, False, number)))

    # -- consumers -------------------------------------------------------------------------

    def add_consumer(self, conn: str, number: int, consumer: Consumer) -> Sessions:
        new = self.drop_consumer(conn, number)
        session, user = new.of(conn), (conn, True, number)
        new = new.put(conn, replace(session, consumers=session.consumers.set(number, consumer)))
        return replace(
            new,
            users=_enter(new.users, consumer.topic, user),
            readers=_enter(new.readers, (consumer.topic, consumer.subscription), user),
        )

    def drop_consumer(self, conn: str, number: int) -> Sessions:
        session, user = self.of(conn), (conn, True, number)
        consumer: Consumer | None = session.consumers.get(number)
        if consumer is None:
            return self
        new = self.put(conn, replace(session, consumers=session.consumers.remove(number)))
        return replace(
            new,
            users=_leave(new.users, consumer.topic, user),
            readers=_leave(new.readers, (consumer.topic, consumer.subscription), user),
        )

    # -- connections -----------------------------------------------------------------------

    def forget(self, conn: str) -> tuple[Sessions, Effects]:
        """The connection has ended."""
        session, new = self.of(conn), self
        producers, consumers = session.producers.items(), session.consumers.items()
        for number, _ in producers:
            new = new.drop_producer(conn, number)
        for number, _ in consumers:
            new = new.drop_consumer(conn, number)
        new = replace(new, by_conn=new.by_conn.remove(conn))
        return new, (*(p.leave() for _, p in producers), *(c.close() for _, c in consumers))

    def consuming(self, topic: str, subscription: str) -> tuple[tuple[str, int], ...]:
        """(connection, number) of all consumers of this subscription."""
        readers = self.readers.get((topic, subscription)) or ()
        return tuple((conn, number) for conn, _, number in readers)

    def using(self, topic: str) -> tuple[tuple[str, str, int], ...]:
        """("producer" or "consumer", connection, number) of all that use this topic."""
        kinds = ("producer", "consumer")
        users = self.users.get(topic) or ()
        return tuple((kinds[consumes], conn, number) for conn, consumes, number in users)


def _enter(index: Index, key: Any, user: User) -> Index:
    return index.set(key, (index.get(key) or Map()).set(user, True))


def _leave(index: Index, key: Any, user: User) -> Index:
    left = index[key].remove(user)
    return index.set(key, left) if len(left) else index.remove(key)
