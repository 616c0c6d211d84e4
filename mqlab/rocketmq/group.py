"""Groups and their connections: who is there, whom the broker asks, who reads which queue."""

from __future__ import annotations

from ..kernel import Caller, Map, frozen, replace, worded
from .log import Stored
from .messages import Answer

# ---- connections, in the order in which they registered -------------------------------

#: group → its connections
Members = Map[str, tuple[str, ...]]


@frozen
class Known:
    """A client that has come: by the connection number `came` last; `first` is the first that is
    not known to be closed. `groups`: all that it has named, so that no search is needed."""

    came: int
    first: int
    groups: tuple[str, ...] = ()


#: client → what is known of it
Met = Map[str, Known]


def meet(met: Met, caller: Caller, groups: tuple[str, ...] = ()) -> Met | None:
    """A client comes by a connection; None where that one has closed already. The news of a close
    may be heard later than what comes by the next connection, and earlier than what was still
    in flight by the old one; a real broker reads each channel to its end, and then hears of it."""
    known = met.get(caller.name, Known(caller.conn, caller.conn))
    if caller.conn < known.first:
        return None
    groups = tuple(dict.fromkeys((*known.groups, *groups)))
    return met.set(caller.name, Known(max(known.came, caller.conn), known.first, groups))


def close(met: Met, client: str) -> tuple[Met, tuple[str, ...] | None]:
    """The oldest connection of a client that was not known to be closed has closed; its groups
    where the client has come by no newer one (ProducerManager#doChannelCloseEvent)."""
    known: Known | None = met.get(client)
    if known is None:
        return met, None
    if known.came > known.first:
        return met.set(client, replace(known, first=known.first + 1)), None
    return met.set(client, Known(known.came, known.first + 1)), known.groups


def join_group(members: Members, group: str, client: str) -> Members:
    there: tuple[str, ...] = members.get(group, ())
    return members if client in there else members.set(group, (*there, client))


def leave_group(members: Members, group: str, client: str) -> Members:
    """A client that stays connected leaves one of its groups."""
    left = tuple(c for c in members.get(group, ()) if c != client)
    return members.set(group, left) if left else members.remove(group)


def leave_groups(members: Members, client: str, groups: tuple[str, ...]) -> Members:
    """The connection closed: none of its groups has it any more."""
    for group in groups:
        if client in members.get(group, ()):
            members = leave_group(members, group, client)
    return members


# ---- a producer group -----------------------------------------------------------------


@frozen
class Producers:
    """Whom can the broker ask? The connections of each producer group.

    A check goes to *some* connection of the group, in turn: not to the process that sent the half,
    which may be dead, and not to all. Each process that registered is asked, also a process that
    has never sent anything. A connection that closes is forgotten at once.

    Sources: ProducerManager#registerProducer, #getAvailableChannel, #doChannelCloseEvent (5.5.0).

    `counter`: one counter for all groups, by which their connections take turns.
    """

    groups: Members = Map()
    counter: int = 0

    def register(self, group: str, client: str) -> Producers:
        return replace(self, groups=join_group(self.groups, group, client))

    def forget(self, client: str, groups: tuple[str, ...]) -> Producers:
        return replace(self, groups=leave_groups(self.groups, client, groups))

    def choose(self, group: str, only: str | None = None) -> tuple[Producers, str | None]:
        """The next connection of the group, None where there is none. `only`: no other will do."""
        there: tuple[str, ...] = self.groups.get(group, ())
        if only is not None:
            return self, only if only in there else None
        if not there:
            return self, None
        return replace(self, counter=self.counter + 1), there[self.counter % len(there)]


# ---- a consumer group -----------------------------------------------------------------


def allocate_queues(me: str, members: tuple[str, ...], queues: tuple[str, ...]) -> tuple[str, ...]:
    """The queues that one consumer of a group reads. The broker does not assign them: it lists for
    each consumer who is in the group, and all of them use the same rule: sort members and queues,
    cut the queues into pieces of nearly equal length; the first members have one more where it does
    not come out even. While the members disagree on who is there, a queue can be read by two of
    them, or by none.

    Sources: AllocateMessageQueueAveragely, RebalanceImpl#rebalanceByTopic (5.5.0).
    """
    sorted_members = sorted(members)
    if me not in sorted_members:
        return ()
    size, longer = divmod(len(queues), len(sorted_members))
    index = sorted_members.index(me)
    start = index * size + min(index, longer)
    return queues[start : start + size + (index < longer)]


# What consumers and the broker say to each other. A request's class is called as its code

# ---- reading ---------------------------------------------------------------------------


@worded("PullMessage {queue}@{offset}")
class PullMessage:
    """PULL_MESSAGE 11. `most`: so many messages at most."""

    group: str
    queue: str
    offset: int
    most: int = 32


@frozen
class PullMessageResponse(Answer):
    """`next_offset`: where to read on."""

    queue: str = ""
    messages: tuple[Stored, ...] = ()
    next_offset: int = 0

    def __str__(self) -> str:
        return ", ".join(s.message.words for s in self.messages) or self.words


# ---- offsets ---------------------------------------------------------------------------


@worded("QueryConsumerOffset {group} {queue}")
class QueryConsumerOffset:
    """QUERY_CONSUMER_OFFSET 14"""

    group: str
    queue: str


@worded("UpdateConsumerOffset {group} {queue}@{offset}")
class UpdateConsumerOffset:
    """UPDATE_CONSUMER_OFFSET 15, one-way"""

    group: str
    queue: str
    offset: int


@frozen
class OffsetResponse(Answer):
    """`offset`: the group's, where one is known."""

    queue: str = ""
    offset: int = -1

    def __str__(self) -> str:
        return self.words if self.code else f"{self.queue}@{self.offset}"


# ---- sending back ----------------------------------------------------------------------


@worded("ConsumerSendMsgBack {words}")
class ConsumerSendMsgBack:
    """CONSUMER_SEND_MSG_BACK 36: the consumer could not process a message. `delay_level` 0: the
    broker chooses, -1: no more tries. `most`: how often it may come back, None: as the broker's
    configuration says. `msg_id`: the offsetMsgId of the message, which says by which address the
    broker is reached; without it the broker's name and the offset take its place."""

    group: str
    commit_log_offset: int
    delay_level: int = 0
    most: int | None = None
    words: str = ""
    msg_id: str = ""


@frozen
class ConsumerSendMsgBackResponse(Answer):
    pass


# ---- who reads what --------------------------------------------------------------------


@worded("GetConsumerListByGroup {group}")
class GetConsumerListByGroup:
    """GET_CONSUMER_LIST_BY_GROUP 38"""

    group: str


@frozen
class GetConsumerListByGroupResponse(Answer):
    members: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.members) or self.words
