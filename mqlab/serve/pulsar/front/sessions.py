"""Who is connected: the producers and consumers of each connection, under their clients' numbers.

All of it is memory. When a connection ends its consumers are closed, as their client would have
closed them, and its topics hear that its producers have gone (ServerCnx#channelInactive, 4.2).
"""

from __future__ import annotations

from dataclasses import field

from ....kernel import Caller, Effects, Map, Send, frozen, replace
from ....pulsar.messages import CloseConsumer
from ..wire.asks import Handed
from .hosting import Left


@frozen
class Producer:
    """`conn`, `number`: its connection, and its number there."""

    topic: str
    name: str
    conn: str
    number: int

    def caller(self, asker: Caller) -> Caller:
        """Its client, asking as this producer."""
        return replace(asker, name=f"{self.name}@{self.conn}/{self.number}")

    def leave(self) -> Send:
        return Send(self.topic, Handed(self.caller(Caller("")), Left()))


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
    had sent before it heard of that is ignored (ServerCnx#recentlyClosedProducers)."""

    producers: Map[int, Producer] = field(default_factory=Map)
    consumers: Map[int, Consumer] = field(default_factory=Map)
    closed: frozenset[int] = frozenset()


@frozen
class Sessions:
    by_conn: Map[str, Session] = field(default_factory=Map)

    def of(self, conn: str) -> Session:
        return self.by_conn.get(conn) or Session()

    def put(self, conn: str, session: Session) -> Sessions:
        return replace(self, by_conn=self.by_conn.set(conn, session))

    # -- producers -------------------------------------------------------------------------

    def find_producer(self, conn: str, number: int) -> Producer | None:
        producer: Producer | None = self.of(conn).producers.get(number)
        return producer

    def add_producer(self, producer: Producer) -> Sessions:
        session = self.of(producer.conn)
        producers = session.producers.set(producer.number, producer)
        closed = session.closed - {producer.number}
        return self.put(producer.conn, replace(session, producers=producers, closed=closed))

    def drop_producer(self, conn: str, number: int, by_broker: bool = False) -> Sessions:
        session = self.of(conn)
        if number not in session.producers:
            return self
        closed = session.closed | {number} if by_broker else session.closed
        producers = session.producers.remove(number)
        return self.put(conn, replace(session, producers=producers, closed=closed))

    # -- consumers -------------------------------------------------------------------------

    def add_consumer(self, conn: str, number: int, consumer: Consumer) -> Sessions:
        session = self.of(conn)
        return self.put(conn, replace(session, consumers=session.consumers.set(number, consumer)))

    def drop_consumer(self, conn: str, number: int) -> Sessions:
        session = self.of(conn)
        if number not in session.consumers:
            return self
        return self.put(conn, replace(session, consumers=session.consumers.remove(number)))

    # -- connections -----------------------------------------------------------------------

    def forget(self, conn: str) -> tuple[Sessions, Effects]:
        """The connection has ended."""
        session, new = self.of(conn), self
        if conn in new.by_conn:
            new = replace(new, by_conn=new.by_conn.remove(conn))
        producers = (producer.leave() for producer in session.producers.values())
        return new, (*producers, *(consumer.close() for consumer in session.consumers.values()))

    def consuming(self, topic: str, subscription: str) -> tuple[tuple[str, int], ...]:
        """(connection, number) of all consumers of this subscription."""
        return tuple(
            (conn, number)
            for conn, session in self.by_conn.items()
            for number, c in session.consumers.items()
            if (c.topic, c.subscription) == (topic, subscription)
        )

    def using(self, topic: str) -> tuple[tuple[str, str, int], ...]:
        """("producer" or "consumer", connection, number) of all that use this topic."""
        users: list[tuple[str, str, int]] = []
        for conn, session in self.by_conn.items():
            producers = session.producers.items()
            users += (("producer", conn, n) for n, p in producers if p.topic == topic)
            consumers = session.consumers.items()
            users += (("consumer", conn, n) for n, c in consumers if c.topic == topic)
        return tuple(users)
