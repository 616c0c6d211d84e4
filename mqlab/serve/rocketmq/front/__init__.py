"""The broker's front: what is between a client's commands and the engine's broker.

The engine's broker stores half messages, ends transactions and lets the check service ask; it is
the very role that the lessons step through. Around it is what a real client needs besides, and
what a lesson does without: topics and the routes to them, members of consumer groups, long polling,
locks on queues, look-ups. A command is read into a request (`wire/requests.py`); one that is the
broker's own is handed to it, with the client's connection as the caller, so that the broker's
question about a transaction goes out over that very connection.

    topics.py     routes, and topics that are made or make themselves
    registry.py   heartbeats, members of groups, locks; clients.py and locks.py hold them
    sending.py    what is looked at before a message is stored; batches
    pulling.py    the long poll; held.py: the pulls that wait
    pushing.py    pushes that a client could not take yet
    offsets.py    committed offsets of groups, queue bounds
    admin.py      what mqadmin asks and changes; messages by key and by id; questions and answers
                  between clients

**Durable** are the tables `topics` and `groups`, the commit log and what the broker says of
offsets. **Memory** is who is connected, who waits, who holds a lock.

*What can go wrong.* A client leaves while its request is in flight: what it asked for happens all
the same. A broker that starts knows no client, so it can ask none until they heartbeat again.
*Left out:* other brokers, slaves, access control, SQL filters, pop consumption, message tracks.
Read on in BrokerController#registerProcessor and the processors named in each file (5.5.0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

from ....kernel import (
    Append,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    frozen,
    replace,
)
from ....rocketmq.broker import Broker
from ....rocketmq.config import DLQ_PREFIX, RocketMQConfig
from ....rocketmq.log import COMMIT_LOG, Offsets, Stored
from ....rocketmq.messages import (
    TAGS,
    UNIQ_KEY,
    WAIT,
    CheckTransactionState,
    HeartbeatResponse,
    Message,
)
from ....rocketmq.remoting import RequestCode, ResponseCode, make_msg_id
from ...adapter import Unsent
from ..wire import answers, requests
from ..wire.answers import REGION, Ask, FrontAnswer, OfQueue, Question
from ..wire.headers import INTEGER, LONG, MAYBE, TEXT, RequestError, copy_to
from . import admin, offsets, pulling, pushing, registry, sending, topics
from .clients import Clients
from .held import Arrival, HeldPulls
from .locks import Locks
from .pulling import PULL
from .sending import FRONT
from .topics import CLUSTER

__all__ = ["FRONT", "REQUESTS", "Front", "FrontConfig"]

Result = tuple["Front", Effects]


@frozen
class FrontConfig:
    """`auto_create`: autoCreateTopicEnable. `rocketmq`: of the roles."""

    rocketmq: RocketMQConfig = field(default_factory=RocketMQConfig)
    auto_create: bool = True


@frozen
class Wake:
    """To the front itself: these messages are in their queues, and pulls wait for them. `stored`:
    where they are."""

    stored: tuple[Arrival, ...]


@frozen
class Front(Quiet):
    """`here`: the address at which clients reach this broker; `held`: pulls that wait; `unsent`:
    pushes that their clients could not take yet. `resets`: positions that groups are sent back to
    at their next pull; `pulled`: how far groups have been sent messages. `locks`: of queues that
    consumers have locked; `last`: the number of the newest request."""

    config: FrontConfig
    broker: Broker
    here: tuple[str, int] = ("127.0.0.1", 0)
    clients: Clients = Clients()
    locks: Locks = Locks()
    held: HeldPulls = HeldPulls()
    unsent: Map[int, Send] = Map()
    last: int = 0
    resets: Offsets = Offsets()
    pulled: Offsets = Offsets()

    def step(self, event: Event, disk: Disk) -> Result:
        """Take one event of the server: a client's request goes to the handler of its command;
        timers and stored messages end waiting pulls; pushes that a client did not read are kept and
        sent again. Everything else is the broker's own. Returns the new front and its effects."""
        match event:
            case Request(caller=caller, body=Ask() as ask, at_ms=at_ms):
                here = self if self.here == ask.here else replace(self, here=ask.here)
                _, handle = REQUESTS[ask.command.code]
                try:
                    return handle(here, caller, ask, at_ms, disk)
                except RequestError as error:
                    return here, (Reply(caller, FrontAnswer(error.code, error.remark)),)
            case Request(body=Wake(stored=stored)):
                return pulling.wake(self, stored, disk)
            case Fired(timer=timer) if timer.startswith(PULL):
                return pulling.end_wait(self, int(timer.removeprefix(PULL)), disk)
            case Fired(timer=pushing.AGAIN):
                return pushing.push_again(self)
            case Response(peer=peer, body=Unsent(body=body)):
                return pushing.keep_unsent(self, peer, body)
            case ConnectionLost(peer=peer):
                return self._forget_client(peer, event, disk)
        # The broker's own: a timer of the check service, say.
        return self.ask_broker(event, disk)

    # -- the engine's broker -----------------------------------------------------------------

    def ask_broker(self, event: Event, disk: Disk) -> Result:
        """Let the engine's broker take an event, and return its effects as this server sends them:
        transaction checks become commands to clients, dead letters get a topic to be stored in, and
        pulls that wait for what was just stored are woken."""
        broker, effects = self.broker.step(event, disk)
        new = self if broker is self.broker else replace(self, broker=broker)
        done = list[Any]()
        for effect in effects:
            match effect:
                case Send(body=HeartbeatResponse()):
                    continue  # only a lesson's client needs it; here it has its connection already
                case Send(to=client, body=CheckTransactionState() as check):
                    done += self._send_check(client, check)
                case Append(entry=Stored(message=message)) if message.topic.startswith(DLQ_PREFIX):
                    done += (*topics.create_once(disk, message.topic), effect)
                case _:
                    done.append(effect)
        if self.held.pulls:
            awaited = tuple(filter(self.held.is_awaited, list_arrivals(effects)))
            done += (Send(FRONT, Wake(awaited)),) if awaited else ()
        return new, tuple(done)

    def _forget_client(self, client: str, event: ConnectionLost, disk: Disk) -> Result:
        new, effects = self.ask_broker(event, disk)
        met = new.broker.met.remove(client)  # no client comes by this name again
        new = replace(new, broker=replace(new.broker, met=met))
        new, ended = pulling.forget_client(pushing.forget_unsent(new, client), client)
        clients, notices = new.clients.forget(client)
        return replace(new, clients=clients), (*effects, *ended, *notices)

    # -- what depends on the release ---------------------------------------------------------

    @property
    def is_older(self) -> bool:
        return self.config.rocketmq.release == "4.9"

    def code_of_illegal(self, code: ResponseCode) -> ResponseCode:
        """4.9 has one code for all that is wrong with a request."""
        return ResponseCode.SYSTEM_ERROR if self.is_older else code

    def mark(self, message: Message, at_ms: int, disk: Disk) -> Message:
        """The properties that a broker adds to what it stores. Since 5 it also gives a key to a
        message that its client gave none: of the broker's address, the time and where it is. 4.9
        drops WAIT, not that of half and delayed messages (SendMessageProcessor)."""
        marks = [("CLUSTER", CLUSTER)]
        if self.is_older:
            written_anew = message.is_half or message.delay_level > 0
            return (message if written_anew else message.clear((WAIT,))).put(*marks)
        if not message.get(UNIQ_KEY):
            place = make_msg_id(self.here, disk.log(COMMIT_LOG).end)
            marks.append((UNIQ_KEY, f"{place}{at_ms & 0xFFFFFFFF:08X}"))
        return message.put(*marks, ("MSG_REGION", REGION), ("TRACE_ON", "true"))

    def mark_in_batch(self, message: Message) -> Message:
        """Since 5 a broker adds nothing to the messages of a batch."""
        return message.put(("CLUSTER", CLUSTER)) if self.is_older else message

    def _send_check(self, client: str, check: CheckTransactionState) -> Effects:
        """4.9 never asks about a message without a body: it stumbles over it, and the check
        counts all the same."""
        if not self.is_older:
            return (Send(client, Question(check, self.here, topics.BROKER_NAME)),)
        return (Send(client, Question(check, self.here)),) if check.message.body else ()

    @staticmethod
    def recover(config: FrontConfig, disk: Disk, at_ms: int) -> Result:
        broker, effects = Broker.recover(config.rocketmq, disk, at_ms)
        return Front(config, broker), effects


def list_arrivals(effects: Effects) -> dict[Arrival, None]:
    """Queue and tag of each message that these effects store."""
    records = (e.entry for e in effects if isinstance(e, Append) and isinstance(e.entry, Stored))
    return {(one.message.queue, one.message.get(TAGS)): None for one in records}


# ---- who handles what ------------------------------------------------------------------------


def hand_over(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """The broker's own business."""
    return front.ask_broker(Request(caller, ask.body, at_ms), disk)


Handler = Callable[[Front, Caller, Ask, int, Disk], Result]
SHORT = partial(requests.read_send, names=requests.SHORT)
OF_TOPIC, OF_CLUSTER = copy_to(str, topic=TEXT), copy_to(str, cluster=TEXT)
OF_PRODUCERS, OF_CONSUMERS = copy_to(str, producerGroup=TEXT), copy_to(str, consumerGroup=TEXT)
OF_QUEUE = copy_to(OfQueue, topic=TEXT, queueId=INTEGER)
OF_NOTHING = copy_to(lambda: None)

#: of each request that is served: how it is read, and what it does
REQUESTS: dict[int, tuple[requests.Reader, Handler]] = {
    RequestCode.SEND_MESSAGE: (requests.read_send, sending.begin_send),
    RequestCode.SEND_MESSAGE_V2: (SHORT, sending.begin_send),
    RequestCode.SEND_BATCH_MESSAGE: (partial(SHORT, batch=True), sending.begin_send),
    RequestCode.SEND_REPLY_MESSAGE: (requests.read_reply, admin.push_reply),
    RequestCode.SEND_REPLY_MESSAGE_V2:
        (partial(requests.read_reply, names=requests.SHORT), admin.push_reply),
    RequestCode.CONSUMER_SEND_MSG_BACK: (requests.read_send_back, registry.take_back),
    RequestCode.END_TRANSACTION: (requests.read_end, hand_over),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: (requests.read_resume, sending.resume_half),
    RequestCode.PULL_MESSAGE: (requests.read_pull, pulling.begin_pull),
    RequestCode.LITE_PULL_MESSAGE: (requests.read_pull, pulling.begin_pull),
    RequestCode.QUERY_CONSUMER_OFFSET: (requests.read_query_offset, offsets.query_offset),
    RequestCode.UPDATE_CONSUMER_OFFSET:
        (copy_to(answers.UpdateConsumerOffset, consumerGroup=TEXT, topic=TEXT, queueId=INTEGER,
            commitOffset=LONG), offsets.update_offset),
    RequestCode.HEART_BEAT: (requests.read_heartbeat, registry.take_heartbeat),
    RequestCode.UNREGISTER_CLIENT:
        (copy_to(answers.UnregisterClient, producerGroup=MAYBE, consumerGroup=MAYBE),
            registry.unregister),
    RequestCode.CHECK_CLIENT_CONFIG: (requests.read_client_config, registry.accept),
    RequestCode.GET_PRODUCER_CONNECTION_LIST: (OF_PRODUCERS, registry.list_producers),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: (OF_CONSUMERS, registry.list_consumers),
    RequestCode.LOCK_BATCH_MQ: (requests.read_locks, registry.lock_queues),
    RequestCode.UNLOCK_BATCH_MQ: (requests.read_locks, registry.unlock_queues),
    RequestCode.GET_ROUTEINFO_BY_TOPIC: (OF_TOPIC, topics.answer_route),
    RequestCode.GET_BROKER_CLUSTER_INFO: (OF_NOTHING, topics.answer_cluster),
    RequestCode.UPDATE_AND_CREATE_TOPIC:
        (copy_to(answers.UpdateAndCreateTopic, topic=TEXT, readQueueNums=INTEGER,
            writeQueueNums=INTEGER, perm=INTEGER, topicSysFlag=partial(INTEGER, default=0)),
            topics.create_topic),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: (requests.read_group, registry.create_group),
    RequestCode.GET_MAX_OFFSET: (OF_QUEUE, offsets.answer_bound),
    RequestCode.GET_MIN_OFFSET: (OF_QUEUE, offsets.answer_bound),
    RequestCode.GET_EARLIEST_MSG_STORETIME: (OF_QUEUE, offsets.answer_earliest),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP:
        (copy_to(OfQueue, topic=TEXT, queueId=INTEGER, timestamp=LONG), offsets.search_offset),
    RequestCode.QUERY_MESSAGE:
        (copy_to(answers.QueryMessage, topic=TEXT, key=TEXT, maxNum=INTEGER, beginTimestamp=LONG,
            endTimestamp=LONG), admin.query_messages),
    RequestCode.VIEW_MESSAGE_BY_ID: (copy_to(int, offset=LONG), admin.view_message),
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: (OF_NOTHING, admin.list_topics),
    RequestCode.GET_TOPICS_BY_CLUSTER: (OF_CLUSTER, admin.list_topics),
    RequestCode.GET_TOPIC_CONFIG: (OF_TOPIC, admin.describe_topic),
    RequestCode.GET_TOPIC_STATS_INFO: (OF_TOPIC, admin.answer_topic_stats),
    RequestCode.GET_CONSUME_STATS:
        (copy_to(answers.GetConsumeStats, consumerGroup=TEXT, topic=MAYBE), admin.answer_progress),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: (OF_CONSUMERS, admin.list_members),
    RequestCode.GET_ALL_PRODUCER_INFO: (OF_NOTHING, admin.list_all_producers),
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: (OF_TOPIC, admin.list_readers),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: (requests.read_reset, admin.reset_offset),
    RequestCode.DELETE_TOPIC_IN_BROKER: (OF_TOPIC, admin.delete_topic),
    RequestCode.DELETE_TOPIC_IN_NAMESRV: (OF_TOPIC, registry.accept),
}  # fmt: skip
