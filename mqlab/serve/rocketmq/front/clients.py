"""Who is connected: the members of each consumer group, and what each group subscribes to.

A client says who it is by its heartbeat, on the connection that it came by; the broker keeps that
in memory and forgets it with the connection. Whenever a member comes or goes, all members of its
group are notified that the ids have changed (NOTIFY_CONSUMER_IDS_CHANGED, one-way), ask for the
list, and each works out for itself which queues are its own: there is no coordinator who assigns
them.

A group has one subscription, whichever member spoke last. A member that pulls by another one is
refused until its own heartbeat has come.

Source: ConsumerManager#registerConsumer, ConsumerGroupInfo#updateSubscription,
ClientManageProcessor#heartBeat, DefaultConsumerIdsChangeListener (5.5.0). Left out: a client that
keeps its connection and says nothing for two minutes stays registered here. Producer groups are
the engine's broker's: it asks them.
"""

from __future__ import annotations

from typing import Any

from ....kernel import Effects, Map, Send, frozen, replace
from ....rocketmq.remoting import RemotingCommand, RequestCode
from ..wire.headers import RequestError

ALL = "*"
TAG = "TAG"


@frozen
class Subscription:
    """What a group wants of a topic, by its expression `text`. `tags`: those that it names;
    `kind`: its language, of which only TAG is served; `version`: of the expression."""

    topic: str
    tags: frozenset[str] = frozenset()
    version: int = 0
    text: str = ALL
    kind: str = TAG

    def wants(self, tag: str | None) -> bool:
        return self.text == ALL or tag in self.tags

    def check_kind(self) -> None:
        """Raises RequestError: only tags are filtered by."""
        if self.kind != TAG:
            remark = f"The broker does not support consumer to filter message by {self.kind}"
            raise RequestError(remark)

    def row(self) -> dict[str, Any]:
        """SubscriptionData."""
        tags = sorted(self.tags)
        return {
            "classFilterMode": False,
            "codeSet": [hash_text(tag) for tag in tags],
            "expressionType": self.kind,
            "subString": self.text,
            "subVersion": self.version,
            "tagsSet": tags,
            "topic": self.topic,
        }


def hash_text(text: str) -> int:
    """Java's String#hashCode, by which a broker compares tags."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "big")) & 0xFFFF_FFFF
    return value - (value >> 31 << 32)


def read_expression(topic: str, text: str, version: int = 0, kind: str = TAG) -> Subscription:
    """`TagA || TagB`, or `*` (FilterAPI#buildSubscriptionData); a blank one wants nothing."""
    if kind != TAG or text in ("", ALL):
        return Subscription(topic, version=version, text=text if kind != TAG else ALL, kind=kind)
    tags = frozenset(tag.strip() for tag in text.split("||") if tag.strip())
    return Subscription(topic, tags, version, text)


@frozen
class Kind:
    """How a group consumes, in the client's words: ConsumeType, MessageModel, ConsumeFromWhere.
    `consume_type`, `model`, `from_where`: these, in this order."""

    consume_type: str = "CONSUME_PASSIVELY"
    model: str = "CLUSTERING"
    from_where: str = "CONSUME_FROM_LAST_OFFSET"


@frozen
class Consumer:
    """One consumer group of a client. `subscriptions`: topics with their filters."""

    group: str
    subscriptions: tuple[Subscription, ...] = ()
    kind: Kind = Kind()


@frozen
class Software:
    """What a client says of itself in each command, and where it is. `language`: the client
    library's."""

    address: str = ""
    language: str = "JAVA"
    version: int = 0


@frozen
class ClientBeat:
    """A heartbeat: the client's id, its groups, and what it runs. `producers`, `consumers`: its
    groups; `software`: see there."""

    client_id: str
    producers: tuple[str, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    software: Software = Software()


@frozen
class Connected:
    """The client on a connection, as its last heartbeat has it. `groups`: the consumer groups
    that it has ever named. `software`: see there; `beat_ms`: when that heartbeat came."""

    client_id: str
    software: Software
    beat_ms: int
    groups: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Connection."""
        return {
            "clientAddr": self.software.address,
            "clientId": self.client_id,
            "language": self.software.language,
            "version": self.software.version,
        }

    def producer_row(self) -> dict[str, Any]:
        """ProducerInfo."""
        return {
            "clientId": self.client_id,
            "language": self.software.language,
            "lastUpdateTimestamp": self.beat_ms,
            "remoteIP": f"/{self.software.address}",
            "version": self.software.version,
        }


@frozen
class Group:
    """A consumer group: its members' ids by connection, its subscriptions by topic."""

    members: Map[str, str] = Map()
    subscriptions: Map[str, Subscription] = Map()
    kind: Kind = Kind()


@frozen
class Clients:
    """`groups`: the consumer groups that have a member; `producers`: the connection of each client
    that has a producer, by the client's id; `connected`: who is at the end of a connection."""

    groups: Map[str, Group] = Map()
    producers: Map[str, str] = Map()
    connected: Map[str, Connected] = Map()

    def find(self, name: str) -> Group | None:
        group: Group | None = self.groups.get(name)
        return group

    def list_ids(self, name: str) -> tuple[str, ...]:
        group = self.find(name)
        return tuple(sorted(set(group.members.values()))) if group is not None else ()

    # -- coming and going --------------------------------------------------------------------

    def register(self, connection: str, beat: ClientBeat) -> tuple[Clients, Effects]:
        new, effects = self, list[Any]()
        if beat.producers:
            new = replace(new, producers=new.producers.set(beat.client_id, connection))
        for consumer in beat.consumers:
            old = new.find(consumer.group) or Group()
            group = _subscribed(old, consumer.subscriptions)
            members = old.members.set(connection, beat.client_id)
            group = replace(group, members=members, kind=consumer.kind)
            new = replace(new, groups=new.groups.set(consumer.group, group))
            changed = tuple(group.subscriptions) != tuple(old.subscriptions)
            if connection not in old.members or changed:
                effects += _notify(consumer.group, group)
        return new, tuple(effects)

    def note(self, connection: str, beat: ClientBeat, at_ms: int) -> Clients:
        """Who it is that beats, for those who ask later, and for when it goes."""
        old: Connected | None = self.connected.get(connection)
        before = old.groups if old is not None else ()
        groups = tuple(dict.fromkeys((*before, *(one.group for one in beat.consumers))))
        one = Connected(beat.client_id, beat.software, at_ms, groups)
        new = self if old is None or old.client_id == one.client_id else self._unask(connection)
        return replace(new, connected=new.connected.set(connection, one))

    def _unask(self, connection: str) -> Clients:
        """Ask this connection no longer in the name of the client that it was."""
        one = self.connected.get(connection)
        if one is None or self.producers.get(one.client_id) != connection:
            return self
        return replace(self, producers=self.producers.remove(one.client_id))

    def unregister(self, connection: str, name: str) -> tuple[Clients, Effects]:
        group = self.find(name)
        if group is None or connection not in group.members:
            return self, ()
        left = replace(group, members=group.members.remove(connection))
        if not left.members:
            return replace(self, groups=self.groups.remove(name)), ()
        return replace(self, groups=self.groups.set(name, left)), _notify(name, left)

    def forget(self, connection: str) -> tuple[Clients, Effects]:
        """A connection is gone, and with it all that spoke via it."""
        one: Connected | None = self.connected.get(connection)
        if one is None:
            return self, ()
        new = self._unask(connection)
        new = replace(new, connected=new.connected.remove(connection))
        effects = list[Any]()
        for name in sorted(one.groups):
            new, notices = new.unregister(connection, name)
            effects += notices
        return new, tuple(effects)


def _subscribed(group: Group, given: tuple[Subscription, ...]) -> Group:
    """The group by what this member says: newer expressions replace older ones, and a topic that
    it does not name is no longer subscribed to."""
    kept = {}
    for one in given:
        old = group.subscriptions.get(one.topic)
        kept[one.topic] = one if old is None or one.version > old.version else old
    return replace(group, subscriptions=Map(kept.items()))


def _notify(name: str, group: Group) -> Effects:
    """NOTIFY_CONSUMER_IDS_CHANGED to every member."""
    command = RemotingCommand(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": name})
    return tuple(Send(connection, command) for connection in group.members)
