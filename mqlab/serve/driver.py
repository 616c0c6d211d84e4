"""The driver behind the sockets: one node, all roles on it, in real time.

It does what `kernel.world` does for a lesson's node, on values that grow in place: a step
takes an event from the inbox, the role answers with itself and its effects, the effects
are done in order. It contains no protocol: which partitions there are it reads from the
table `topics`, and a partition that is no more is played by `Gone`.

*Durable before told.* Effects are done in memory and noted in the journal as they come;
answers to clients are collected and leave at the end of the *turn*, after the journal was
written (and flushed to the disk, if asked). A stop in between loses answers, never what was
answered.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ..kafka.config import KafkaConfig
from ..kafka.coordinator import Coordinator
from ..kafka.group import GroupCoordinator
from ..kafka.leader import Leader, index_of
from ..kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    Effects,
    Event,
    Fired,
    Put,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Truncate,
    Words,
    replace,
)
from .broker import BROKER, Broker, BrokerConfig, Gone, Topic
from .broker.internal import STATE, StateReader
from .disk import ServerDisk
from .journal import Journal
from .trace.live import Live

log = logging.getLogger("mqlab.serve")

LARGE = 1 << 20  # bytes of a topic: when it is deleted, the live trace begins anew
TITLE = Words("Live from mqlab serve kafka", "mqlab serve kafka 实时")


PACED = "paced "  # the name of a timer that delivers a message


def now_ms() -> int:
    return int(time.time() * 1000)


class Driver:
    """`answer(conn, number, body)` is called for each answer to a client of this turn.
    `pace_ms`: how long a message between two roles is under way. With 0 all that follows from
    a request has happened before the next one is read; with more, a client can come in
    between, as it can where coordinator and leaders are brokers of their own."""

    def __init__(
        self,
        config: BrokerConfig,
        answer: Callable[[int, int, Any], None],
        journal: Journal | None = None,
        pace_ms: int = 0,
    ) -> None:
        self.config = config
        self.pace_ms = pace_ms
        self._under_way: dict[str, Event] = {}  # by the timer that delivers it
        self.answer = answer
        self.journal = journal
        self.disk = ServerDisk()
        self.roles: dict[str, Any] = {}
        self.readers: set[str] = set()  # roles that are told of appends to another's log
        self.inbox: deque[tuple[str, Event]] = deque()
        self.now = now_ms()
        kafka = config.kafka
        system = f"kafka transaction_version={kafka.transaction_version}"
        self.live = Live(system, TITLE(), kafka.coordinator, self.now, self.disk.log)
        self.recorder = self.live.recorder
        self._gone = Gone()
        self._arrived = 0  # bytes of the request that is delivered just now
        self._timers: dict[tuple[str, str], tuple[int, int]] = {}
        self._heap: list[tuple[int, int, str, str]] = []
        self._count = itertools.count()

    # -- starting ------------------------------------------------------------------------------

    def start(self) -> None:
        """Replay the journal, then let every role recover from what it finds."""
        if self.journal is not None:
            for effect in self.journal.replay():
                self._keep(effect)
            if self.journal.is_mostly_dead(self.disk.effects()):
                self.journal.rewrite(self.disk.effects())
        kafka = self.config.kafka
        self._start(BROKER, partial(Broker.recover, self.config))
        for name in range(kafka.offsets_partitions):
            group = f"__consumer_offsets-{name}"
            self._start(group, partial(GroupCoordinator.recover, kafka, group))
        for topic in self.disk.table("topics").values():
            self._lead(topic)
        self._start(kafka.coordinator, partial(Coordinator.recover, kafka))
        for number in range(kafka.txn_partitions):
            log_name = f"{STATE}-{number}"
            self.roles[log_name] = StateReader(log_name, kafka.transaction_version > 0)
            self.readers.add(log_name)
        self.run()

    def _start(self, name: str, recover: Callable[[ServerDisk, int], tuple[Any, Effects]]) -> None:
        role, effects = recover(self.disk, self.now)
        self.roles[name] = role
        self.recorder.recovered(self.now, name, role, effects)
        self._do(name, effects)

    def _lead(self, topic: Topic, since: int = 0) -> None:
        """This node is the leader of every partition there is; of a topic that grows, those
        before `since` are led already."""
        kafka: KafkaConfig = self.config.kafka
        for partition in topic.partitions[since:]:
            self._start(partition, partial(Leader.recover, kafka, partition))

    # -- one step ------------------------------------------------------------------------------

    def deliver(self, name: str, event: Event, size: int = 0) -> None:
        """An event from outside, and everything that follows from it on this node. `size`: of
        the request it is, in bytes."""
        self.inbox.append((name, event))
        self._arrived = size
        self.run()

    def run(self) -> None:
        """Step until nothing is left to do. A role that raises is a bug in it: its step has
        not happened, everybody else goes on, and the error is raised at the end so that
        whoever asked can be told."""
        inbox, failure = self.inbox, None
        while inbox:
            name, event = inbox.popleft()
            try:
                self._step(name, event)
            except Exception as error:
                log.exception("%s could not handle %s", name, type(event).__name__)
                failure = error
        if failure is not None:
            raise failure

    def _step(self, name: str, event: Event) -> None:
        new, effects = self.roles.get(name, self._gone).step(event, self.disk)
        if name in self.roles:
            self.roles[name] = new
        size, self._arrived = self._arrived, 0
        self.recorder.stepped(self.now, name, new, event, effects, size)
        self._do(name, effects)

    def _do(self, me: str, effects: Effects) -> None:
        now, inbox = self.now, self.inbox
        for effect in effects:
            if isinstance(effect, Send):
                ask = Request(Caller(me, 0, effect.corr), effect.body, now)
                if self.pace_ms:
                    self._pass(me, effect.to, ask)
                else:
                    inbox.append((effect.to, ask))
            elif isinstance(effect, Reply):
                caller = effect.caller
                if caller.conn:
                    self.answer(caller.conn, caller.corr, effect.body)
                    continue
                response = Response(me, caller.corr, effect.body, now)
                if self.pace_ms:
                    self._pass(me, caller.name, response)
                else:
                    inbox.append((caller.name, response))
            elif isinstance(effect, Append):
                self._keep(effect)
                self._note(effect)
                if effect.notify:
                    appended = Appended(effect.log, effect.entry.last + 1, now)
                    inbox.append((me, appended))
                    if effect.log in self.readers:
                        inbox.append((effect.log, appended))
            elif isinstance(effect, SetTimer):
                self._set(me, effect.timer, effect.after_ms)
            elif isinstance(effect, CancelTimer):
                self._timers.pop((me, effect.timer), None)
            elif isinstance(effect, Put | Truncate):
                self._placed(effect)

    def _pass(self, me: str, to: str, event: Request | Response) -> None:
        """A message that takes its time; the front is no broker of its own, so not to it."""
        if BROKER in (me, to) or me == to:
            self.inbox.append((to, event))
            return
        timer = f"{PACED}{next(self._count)}"
        self._under_way[timer] = event
        self._set(to, timer, self.pace_ms)

    def _placed(self, effect: Put | Truncate) -> None:
        """A table's key, or a log cut back; a topic's leaders come and go with its key."""
        old = new = None
        if isinstance(effect, Put) and effect.table == "topics":
            old, new = self.disk.table("topics").get(effect.key), effect.value
        gone = old.partitions if old is not None and new is None else ()
        freed = sum(self.disk.log(partition).bytes for partition in gone)
        self._keep(effect)
        self._note(effect)
        for partition in gone:
            self.roles.pop(partition, None)
        if freed > LARGE:
            self.recorder.clear()  # its steps refer to what is to be freed
        if new is not None:
            self._lead(new, since=old.count if old is not None else 0)

    def _keep(self, effect: Append | Put | Truncate) -> None:
        match effect:
            case Append(log=name, entry=entry):
                self.disk.append(name, entry)
            case Put(table=table, key=key, value=value):
                old = self.disk.table(table).get(key)
                self.disk.put(table, key, value)
                if table == "topics" and value is None and old is not None:
                    for partition in old.partitions:
                        self.disk.drop(partition)
                        self.disk.drop(index_of(partition))
            case Truncate(log=name, end=end):
                self.disk.cut(name, end)

    def _note(self, effect: Append | Put | Truncate) -> None:
        if self.journal is not None:
            self.journal.note(effect)

    # -- time ----------------------------------------------------------------------------------

    def begin_turn(self) -> None:
        self.now = now_ms()

    def end_turn(self) -> None:
        """What this turn did is made durable; answers may leave after this."""
        if self.journal is not None:
            self.journal.write()

    def _set(self, role: str, timer: str, after_ms: int) -> None:
        due, number = self.now + after_ms, next(self._count)
        self._timers[role, timer] = (due, number)
        heapq.heappush(self._heap, (due, number, role, timer))
        if len(self._heap) > 64 + 4 * len(self._timers):
            # Most of what is on the heap was cancelled or set anew.
            self._heap = [(d, n, r, t) for (r, t), (d, n) in self._timers.items()]
            heapq.heapify(self._heap)

    def next_timer(self) -> int | None:
        """When the next timer is due, in ms since the epoch."""
        heap = self._heap
        while heap and self._timers.get(heap[0][2:]) != heap[0][:2]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def fire(self) -> None:
        """Fire every timer that is due."""
        while (due := self.next_timer()) is not None and due <= self.now:
            _, _, role, timer = heapq.heappop(self._heap)
            del self._timers[role, timer]
            event = self._under_way.pop(timer, None)
            fired = Fired(timer, self.now) if event is None else replace(event, at_ms=self.now)
            self.deliver(role, fired)
