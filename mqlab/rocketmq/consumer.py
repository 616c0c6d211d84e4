"""The consumer: delivered at least once, applied once.

A push consumer pulls. In each turn it finds out who else is in its group and which queues are
its own, pulls them, hands the messages to its listener, and reports how far it has come. What the
listener could not process it *sends back*: the broker writes a copy to the retry topic of the
group, for later. Then, and only then, the offset moves on.

The listener of these lessons applies orders to a table of its own. The consumer can be killed
after an order was applied and before its offset was reported; a half message can be committed
twice; a message can be sent back twice. So the same order comes again, and **only who looks the
order up before applying it applies it once**. The look-up and the change are one row, in one
statement.

**Durable**: the table of applied orders; in broadcasting mode the offsets too, which the consumer
then keeps. *Memory*: positions, who is in the group. *What can go wrong:* anything above; and in
broadcasting mode a failure is written to a log file, and the message never comes again.

*Left out:* threads and batches (one message after the other here), flow control, the 5 s between
two reports of an offset, pop consumption of 5.x.
Read on in DefaultMQPushConsumerImpl, ConsumeMessageConcurrentlyService#processConsumeResult,
ConsumeMessageOrderlyService, RebalanceImpl (5.5.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from ..kernel import (
    Call,
    CancelTimer,
    Config,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Fired,
    Map,
    Put,
    Quiet,
    Response,
    Return,
    Send,
    SetTimer,
    build_failure,
    build_success,
    frozen,
    phrase_word,
    replace,
)
from ..kernel.usages import quote
from .config import RETRY_PREFIX, RocketMQConfig
from .errors import ResponseCode
from .group import (
    ConsumerSendMsgBack,
    ConsumerSendMsgBackResponse,
    GetConsumerListByGroup,
    GetConsumerListByGroupResponse,
    OffsetResponse,
    PullMessage,
    PullMessageResponse,
    QueryConsumerOffset,
    UpdateConsumerOffset,
    allocate_queues,
)
from .log import Stored
from .messages import (
    KEYS,
    GetRouteInfoByTopic,
    Heartbeat,
    RouteInfo,
    name_queue,
    split_queue,
)

# ---- What a scenario may ask of a consumer -------------------------------------------


class Outcome(StrEnum):
    """What a message listener comes to. Null and an exception count as `later`; `suspend` is an
    orderly listener's SUSPEND_CURRENT_QUEUE_A_MOMENT; `working`: it is not over yet."""

    SUCCESS = "success"
    LATER = "later"
    SUSPEND = "suspend"
    WORKING = "working"


def say_ends(detail: str) -> str:
    """`o1, o2 sent back`: after each order, what became of it."""
    parts = (one.partition(" ") for one in detail.split(", "))
    return ", ".join(order + blank + phrase_word(end) for order, blank, end in parts)


@frozen
class Consume:
    """One turn of a push consumer: pull every queue it reads, and hand what came to the listener.
    `outcome` is what the listener comes to; `only`: for these orders, for the others `success`."""

    outcome: Outcome = Outcome.SUCCESS
    only: tuple[str, ...] = ()

    say_detail = staticmethod(say_ends)

    def of(self, order: str) -> Outcome:
        return self.outcome if not self.only or order in self.only else Outcome.SUCCESS

    def __str__(self) -> str:
        what = "" if self.outcome is Outcome.SUCCESS else f" {self.outcome}"
        return " ".join((f"consume{what}", *map(quote, self.only)))


@frozen
class Done:
    """The listener that is still working on this order finishes with success."""

    order: str
    say_detail = staticmethod(say_ends)

    def __str__(self) -> str:
        return f"done {quote(self.order)}"


# The listener: what becomes of each message that came, and when its offset is acknowledged
#
# Sources: ConsumeMessageConcurrentlyService#processConsumeResult,
# ConsumeMessageOrderlyService#processConsumeResult (5.5.0).

Result = tuple["Consumer", Effects]

#: the consumer's own table: order → how often it was applied
APPLIED = "applied"


class _Turn:
    """What the listener did with the messages of one turn, one after the other."""

    def __init__(self, consumer: Consumer, disk: Disk) -> None:
        self.on = consumer.config.cluster.on
        self.applied = disk.table(APPLIED)
        self.effects: list[Effect] = []
        self.back: list[ConsumerSendMsgBack] = []
        self.outcomes: list[str] = []
        self.working: list[tuple[str, Stored]] = []

    def apply(self, stored: Stored) -> None:
        """Look the order up, then apply it; without the look-up it is applied each time."""
        order = stored.message.get(KEYS) or stored.message.words
        times: int = self.applied.get(order, 0)
        if times and "idempotent_consumer" in self.on:
            self.outcomes.append(f"{order} known")
            return
        self.applied = self.applied.set(order, times + 1)
        self.effects.append(Put(APPLIED, order, times + 1))
        self.outcomes.append(order)

    def fail(self, consumer: Consumer, stored: Stored) -> None:
        """Send it back; in broadcasting mode, and without retries, it is written to a log file."""
        config, words = consumer.config, stored.message.words
        if config.broadcasting or "consumer_retry" not in self.on:
            self.outcomes.append(f"{words} dropped")
            return
        self.back.append(ConsumerSendMsgBack(config.group, stored.base, words=words))
        self.outcomes.append(f"{words} sent back")


def listen(consumer: Consumer, disk: Disk) -> Result:
    """Hand everything that came to the listener. The offset moves over a message that was sent
    back as over one that was processed; where an orderly listener suspends its queue, it stops."""
    assert consumer.call is not None
    turn = _Turn(consumer, disk)
    positions = consumer.positions
    for pulled in consumer.pulled:
        positions = positions.set(pulled.queue, _process_queue(consumer, turn, pulled))
    working = (*consumer.working, *turn.working)
    new = replace(consumer, positions=positions, outcomes=tuple(turn.outcomes), working=working)
    new, rest = new.ask(*turn.back) if turn.back else new.finish_turn()
    begins = new.list_unfinished() and not consumer.list_unfinished()
    timer = (SetTimer(CLEAN, consumer.config.consume_timeout_ms),) if begins else ()
    return new, (*turn.effects, *timer, *rest)


# ---- Work that takes long: consumeTimeout ---------------------------------------------
#
# Every 15 minutes, or what consumeTimeout says, a consumer looks through what its listeners have
# not finished, and sends back what takes longer than that: level 3, 10 s. The listener is not
# stopped. It goes on, and what it comes to in the end counts for the business all the same.
#
# Sources: ConsumeMessageConcurrentlyService#cleanExpireMsg, ProcessQueue#cleanExpiredMsg (5.5.0).

CLEAN = "clean expired"
LEVEL = 3


def clean_expired(consumer: Consumer) -> Result:
    """Send back all that is being worked on, each message once; their offsets are reported when
    that is answered. During a turn the task does nothing, and runs again a consumeTimeout later."""
    if consumer.in_flight:
        return consumer, (SetTimer(CLEAN, consumer.config.consume_timeout_ms),)
    group, expired = consumer.config.group, consumer.list_unfinished()
    back = tuple(
        ConsumerSendMsgBack(group, stored.base, delay_level=LEVEL, words=stored.message.words)
        for _, stored in expired
    )
    given = tuple(stored.base for _, stored in expired)
    return replace(consumer, given_back=(*consumer.given_back, *given)).ask(*back)


def finish_work(consumer: Consumer, call: Done, disk: Disk) -> Result:
    """The listener returns, minutes later; whether its message was sent back it does not know."""
    found = [one for one in consumer.working if one[1].message.words == call.order]
    if not found:
        why = f"nobody works on {call.order}"
        return consumer, (Return(build_failure(call, why)),)
    turn = _Turn(consumer, disk)
    turn.apply(found[0][1])
    working = tuple(one for one in consumer.working if one is not found[0])
    left = replace(consumer, working=working)
    quiet = () if left.list_unfinished() else (CancelTimer(CLEAN),)
    new, reports = left.report(found[0][0])
    done = Return(build_success(call, ", ".join(turn.outcomes)))
    return new, (*turn.effects, *quiet, *reports, done)


def _process_queue(consumer: Consumer, turn: _Turn, pulled: PullMessageResponse) -> int:
    """Give the pulled messages of one queue to the listener; returns the offset from which the
    queue is read on. Where an orderly listener suspends the queue, that is the offset of the
    suspended message."""
    assert consumer.call is not None
    for stored in pulled.messages:
        # what the listener returns for this message, as the call says
        match consumer.call.of(stored.message.words):
            case Outcome.SUCCESS:
                turn.apply(stored)
            case Outcome.LATER:
                turn.fail(consumer, stored)
            case Outcome.WORKING:
                turn.working.append((pulled.queue, stored))
                turn.outcomes.append(f"{stored.message.words} worked on")
            case Outcome.SUSPEND:
                turn.outcomes.append(f"{stored.message.words} suspended")
                return stored.queue_offset
    return max(pulled.next_offset, consumer.positions[pulled.queue])


#: where a consumer in broadcasting mode keeps its own offsets
LOCAL_OFFSETS = "offsets.json"


@frozen
class ConsumerConfig(Config):
    """`group`: the consumer group. `queues`: of the topics it has subscribed to. `broadcasting`:
    every member gets every message."""

    cluster: RocketMQConfig = RocketMQConfig()
    name: str = "shop"
    group: str = "shop"
    queues: tuple[str, ...] = ()
    broadcasting: bool = False
    consume_timeout_ms: int = 900_000

    @property
    def by_topic(self) -> tuple[tuple[str, ...], ...]:
        """The queues of each topic, and the one of the group's retry topic."""
        topics = dict.fromkeys(split_queue(queue)[0] for queue in self.queues)
        return (
            *(tuple(q for q in self.queues if split_queue(q)[0] == topic) for topic in topics),
            (name_queue(f"{RETRY_PREFIX}{self.group}", 0),),
        )


@frozen
class Consumer(Quiet):
    """`positions`: the next offset of each queue that it reads. `call`: what has not returned;
    `in_flight`: requests without an answer; `pulled`: what came so far in this turn; `outcomes`:
    what became of each message, for the call's result. `working`: (queue, message) that a listener
    has not finished, `given_back`: where those are that were sent back meanwhile. `read_from`: the
    broker that it reads from, by the last route, "" before there was one; `registered_at`: the
    brokers that have its heartbeat; `reported_to`: the one that has its offsets."""

    config: ConsumerConfig
    positions: Map[str, int] = Map()
    call: Consume | None = None
    in_flight: tuple[Any, ...] = ()
    pulled: tuple[PullMessageResponse, ...] = ()
    outcomes: tuple[str, ...] = ()
    working: tuple[tuple[str, Stored], ...] = ()
    given_back: tuple[int, ...] = ()
    read_from: str = ""
    registered_at: tuple[str, ...] = ()
    reported_to: str = ""

    def step(self, event: Event, disk: Disk) -> tuple[Consumer, Effects]:
        """Handle one event: a call of the application, an answer of the broker, a broken
        connection, or the timer that looks for messages that are processed for too long."""
        match event:
            case Call(body=Consume() as call):
                return replace(self, call=call)._begin_turn(disk)
            case Call(body=Done() as call):
                return finish_work(self, call, disk)
            case Fired(timer=timer) if timer == CLEAN:
                return clean_expired(self)
            case Call(body=call):
                failure = build_failure(call, "a consumer has no such call; producers= have")
                return self, (Return(failure),)
            # the slave refuses (a code other than 0) to take back the message that waits for its
            # answer (in_flight[0]): it stays here, and the offset does not pass it
            case Response(peer, _, ConsumerSendMsgBackResponse(code=code) as answer) if (
                code and self.in_flight and peer == self.config.cluster.slave
            ):
                new, clean = self._keep(self.in_flight[0])
                new = replace(new, in_flight=self.in_flight[1:])
                new, later = new._take_answer(answer, disk)
                return new, (*clean, *later)
            # answers come in the sequence of their requests, so this one is the first one's
            case Response(body=answer) if self.in_flight:
                new = replace(self, in_flight=self.in_flight[1:])
                return new._take_answer(answer, disk)
            case ConnectionLost(peer=peer):
                return self._lose(peer)
        # The answer to a heartbeat, or one that no call waits for any more.
        return self, ()

    # -- one turn ----------------------------------------------------------------------------

    def _begin_turn(self, disk: Disk) -> tuple[Consumer, Effects]:
        if self.config.broadcasting:
            kept = disk.table(LOCAL_OFFSETS)
            positions = Map((queue, kept.get(queue, 0)) for queue in self.config.queues)
            new = replace(self, positions=positions)
            return new._reach(*new._pulls())
        return self._reach(GetConsumerListByGroup(self.config.group))

    def _take_answer(self, answer: Any, disk: Disk) -> tuple[Consumer, Effects]:
        """Take an answer of the broker. Once all requests of the present phase (queues, offsets,
        messages, messages sent back) are answered, the requests of the next one are sent."""
        match answer:
            case RouteInfo(brokers=brokers):
                return self._take_route(brokers)
            case GetConsumerListByGroupResponse(members=members):
                return self._take_queues(members)
            case OffsetResponse(queue=queue, offset=offset, code=code):
                has_offset = code is ResponseCode.SUCCESS
                positions = self.positions.set(queue, offset if has_offset else 0)
                new = replace(self, positions=positions)
                return (new, ()) if new.in_flight else new._pull()
            case PullMessageResponse():
                new = replace(self, pulled=(*self.pulled, answer))
                return (new, ()) if new.in_flight else listen(new, disk)
            case ConsumerSendMsgBackResponse():
                if self.in_flight:
                    return self, ()
                # no call: these were sent back because they took too long (clean_expired)
                return self.report() if self.call is None else self.finish_turn()
        raise TypeError(f"a consumer never asks for a {type(answer).__name__}")

    def _take_queues(self, members: tuple[str, ...]) -> tuple[Consumer, Effects]:
        """Which queues are mine: of each topic by itself, the retry topic too. What was mine and
        is no more is forgotten, for another member moves its offset now."""
        me, config = self.config.name, self.config
        mine = [q for queues in config.by_topic for q in allocate_queues(me, members, queues)]
        kept = Map((q, self.positions[q]) for q in mine if q in self.positions)
        new = replace(self, positions=kept)
        unknown = tuple(QueryConsumerOffset(config.group, q) for q in mine if q not in kept)
        return new.ask(*unknown) if unknown else new._pull()

    def _pull(self) -> tuple[Consumer, Effects]:
        return self.ask(*self._pulls()) if self.positions else self.finish_turn()

    def _pulls(self) -> tuple[PullMessage, ...]:
        group = self.config.group
        return tuple(PullMessage(group, q, at) for q, at in self.positions.items())

    def finish_turn(self) -> tuple[Consumer, Effects]:
        """Report how far it has come, and be done with the call."""
        before = {p.queue: p.next_offset - len(p.messages) for p in self.pulled}
        far = {queue: self.committed(queue) for queue in self.positions}
        # The broker of the last turn has the offsets that did not move; another one has not.
        is_new = self.reported_to != self.read_from
        moved = [(q, at) for q, at in far.items() if before.get(q, at) != at or (is_new and at)]
        reports: Effects
        if self.config.broadcasting:
            reports = tuple(Put(LOCAL_OFFSETS, queue, at) for queue, at in moved)
        else:
            reports = self._report(moved)
        result = build_success(self.call, ", ".join(self.outcomes) or "nothing")
        new = replace(self, call=None, pulled=(), outcomes=(), reported_to=self.read_from)
        return new, (*reports, Return(result))

    def list_unfinished(self) -> list[tuple[str, Stored]]:
        """(queue, message) of what the listener works on and has not been sent back."""
        return [one for one in self.working if one[1].base not in self.given_back]

    def committed(self, queue: str) -> int:
        """The offset to commit for a queue: that of the first message that the listener has not
        finished and that was not sent back, else the next one to pull."""
        held = [stored.queue_offset for at, stored in self.list_unfinished() if at == queue]
        position: int = self.positions.get(queue, 0)
        return min([position, *held])

    def _keep(self, back: ConsumerSendMsgBack) -> tuple[Consumer, Effects]:
        """Keep a message that the slave refused to take back: the listener still has it, so that
        the group's offset does not pass it. A real consumer hands it to the listener again after
        5 s."""
        given = tuple(base for base in self.given_back if base != back.commit_log_offset)
        pulled = [
            (answer.queue, stored)
            for answer in self.pulled
            for stored in answer.messages
            if stored.base == back.commit_log_offset
        ]
        sent, kept = (f"{back.words} {how}" for how in ("sent back", "not taken back"))
        outcomes = tuple(kept if outcome == sent else outcome for outcome in self.outcomes)
        working = (*self.working, *pulled)
        new = replace(self, given_back=given, working=working, outcomes=outcomes)
        return new, (SetTimer(CLEAN, self.config.consume_timeout_ms),)

    def report(self, only: str = "") -> tuple[Consumer, Effects]:
        """The offsets of these queues, outside of a turn."""
        queues = dict.fromkeys(queue for queue, _ in self.working) if not only else (only,)
        return self, self._report((q, self.committed(q)) for q in queues)

    def _report(self, far: Iterable[tuple[str, int]]) -> Effects:
        broker, group = self.broker, self.config.group
        return tuple(Send(broker, UpdateConsumerOffset(group, q, at)) for q, at in far)

    # -- the connection ----------------------------------------------------------------------
    #
    # Without a name server there is one broker. With one, each turn begins with the question who is
    # there (a real client asks every 30 s): the master, and while that is not, its slave.
    # Sources: MQClientInstance#findBrokerAddressInSubscribe, #sendHeartbeatToAllBroker (5.5.0).

    @property
    def broker(self) -> str:
        """The node that requests go to: the broker of the last route, else the only one."""
        return self.read_from or self.config.cluster.broker

    def ask(self, *bodies: Any) -> tuple[Consumer, Effects]:
        """Questions to the broker, which answers them in order."""
        sends = tuple(Send(self.broker, body) for body in bodies)
        return replace(self, in_flight=(*self.in_flight, *bodies)), sends

    def _reach(self, *bodies: Any) -> tuple[Consumer, Effects]:
        """Send these requests to the broker; with a name server, ask it first which brokers
        run."""
        new, names = replace(self, in_flight=bodies), self.config.cluster.name_server
        if not names:
            return new._take_route(("",))
        route = GetRouteInfoByTopic()
        return replace(new, in_flight=(route, *bodies)), (Send(names, route),)

    def _take_route(self, brokers: tuple[str, ...]) -> tuple[Consumer, Effects]:
        """Register at each broker of the route that does not have this consumer yet, and send the
        waiting requests to the first, the master if it runs. Where none runs they wait for the one
        that was asked last. `brokers`: names; "" is the only broker, without a name server."""
        brokers = brokers or (self.read_from,)
        new = replace(self, read_from=brokers[0], in_flight=())
        running = [name or new.broker for name in brokers]
        beat = Heartbeat(consumers=(self.config.group,))
        beats = tuple(Send(name, beat) for name in running if name not in self.registered_at)
        registered = dict.fromkeys((*self.registered_at, *running))
        new, asks = replace(new, registered_at=tuple(registered)).ask(*self.in_flight)
        return new, (*beats, *asks)

    def _lose(self, peer: str) -> tuple[Consumer, Effects]:
        """Handle a broken connection to `peer`: requests that were not answered are sent again. A
        message that the broker had taken back already comes back twice."""
        registered = tuple(name for name in self.registered_at if name != peer)
        new = replace(self, registered_at=registered)
        waits = [body for body in self.in_flight if not isinstance(body, GetRouteInfoByTopic)]
        routed = len(waits) < len(self.in_flight)
        if not waits or peer != (self.config.cluster.name_server if routed else self.broker):
            return new, ()
        return new._reach(*waits)

    @classmethod
    def recover(cls, config: ConsumerConfig, disk: Disk, at_ms: int) -> tuple[Consumer, Effects]:
        return cls(config), ()
