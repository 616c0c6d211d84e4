"""Who is connected: the producers and consumers of each connection, under their clients' numbers.

All of it is memory. When a connection ends its consumers are closed, as their client would have
closed them, and its producers' names are free again (ServerCnx#channelInactive, 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....kernel import Caller, Effects, Map, Send, replace
from ....pulsar.messages import CloseConsumer
from ..wire.asks import Handed


@dataclass(frozen=True, slots=True)
class Producer:
    topic: str
    name: str


@dataclass(frozen=True, slots=True)
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
        asked = CloseConsumer(self.topic, self.subscription)
        return Send(self.topic, Handed(Caller(self.name), asked))


@dataclass(frozen=True, slots=True)
class Session:
    """One connection."""

    producers: Map[int, Producer] = field(default_factory=Map)
    consumers: Map[int, Consumer] = field(default_factory=Map)


@dataclass(frozen=True, slots=True)
class Sessions:
    """`names`: (topic, producer's name) → its connection and number."""

    by_conn: Map[str, Session] = field(default_factory=Map)
    names: Map[tuple[str, str], tuple[str, int]] = field(default_factory=Map)

    def of(self, conn: str) -> Session:
        return self.by_conn.get(conn) or Session()

    def put(self, conn: str, session: Session) -> Sessions:
        return replace(self, by_conn=self.by_conn.set(conn, session))

    # -- producers -------------------------------------------------------------------------

    def add_producer(self, conn: str, number: int, producer: Producer) -> Sessions:
        new = self.drop_producer(conn, number)
        session = new.of(conn)
        session = replace(session, producers=session.producers.set(number, producer))
        names = new.names.set((producer.topic, producer.name), (conn, number))
        return replace(new.put(conn, session), names=names)

    def drop_producer(self, conn: str, number: int) -> Sessions:
        session = self.of(conn)
        producer = session.producers.get(number)
        if producer is None:
            return self
        session = replace(session, producers=session.producers.remove(number))
        key = (producer.topic, producer.name)
        names = self.names.remove(key) if self.names.get(key) == (conn, number) else self.names
        return replace(self.put(conn, session), names=names)

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
        for number in session.producers:
            new = new.drop_producer(conn, number)
        if conn in new.by_conn:
            new = replace(new, by_conn=new.by_conn.remove(conn))
        return new, tuple(consumer.close() for consumer in session.consumers.values())

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
        found: list[tuple[str, str, int]] = []
        for conn, session in self.by_conn.items():
            producers = session.producers.items()
            found += (("producer", conn, n) for n, p in producers if p.topic == topic)
            consumers = session.consumers.items()
            found += (("consumer", conn, n) for n, c in consumers if c.topic == topic)
        return tuple(found)
