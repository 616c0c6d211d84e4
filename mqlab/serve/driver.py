"""The driver behind the sockets: one node, all roles on it, in real time.

It does what `kernel.world` does for a lesson's node, on values that grow in place: a step
takes an event from the inbox, the role answers with itself and its effects, the effects
are done in order. It contains no protocol: which roles there are, which of them come and go
with a key of a durable table, and who plays one that is no more, its `Adapter` says.

*Durable before answered.* Effects are done in memory and noted in the journal as they come;
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
from typing import Any

from ..kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    ConnectionLost,
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
from .adapter import Adapter, Drained, Start, Unsent, keep, put
from .disk import ServerDisk
from .journal import Journal
from .trace.live import Live

log = logging.getLogger("mqlab.serve")

LARGE = 1 << 20  # bytes of dropped logs: when they go, the live trace begins again
TITLE = Words("Live from mqlab serve {name}")
Push = Callable[[str, int, Any], bool]
CLIENT = "conn-"  # how the names of connections begin
PACED = "paced "  # the name of a timer that delivers a message


def now_ms() -> int:
    return int(time.time() * 1000)


class Driver:
    """`answer(conn, number, body)` is called for each answer to a client of this turn; what a
    role sends to a client unasked goes to the function that it connected with.
    `pace_ms`: how long a message between two roles is in flight. With 0 all that follows from
    a request has happened before the next one is read; with more, a client can come in
    between, as it can where every role is on a node of its own."""

    def __init__(
        self,
        adapter: Adapter,
        answer: Callable[[int, int, Any], None],
        journal: Journal | None = None,
        pace_ms: int = 0,
    ) -> None:
        """Prepare a node without roles; `start` reads the journal and starts them. `answer(conn,
        number, body)` takes the answer to a client's request `number` on connection `conn`;
        `journal` is None where nothing is kept; `pace_ms`: how long a message between roles
        takes."""
        self.adapter = adapter
        self.pace_ms = pace_ms
        self._paced_events: dict[str, Event] = {}  # by the timer that delivers each to a role
        self.answer = answer
        self.journal = journal
        self.disk = ServerDisk(adapter.keeping)
        self.roles: dict[str, Any] = {}  # by name
        self.readers: dict[str, list[str]] = {}  # by log, the roles that read it along
        self._log_read_by: dict[str, str] = {}  # by role, the log that it reads along
        self.inbox: deque[tuple[str, Event]] = deque()  # (role, event), next first
        self.now = now_ms()
        observer = adapter.observe(self.now, self.disk.log)
        self.live = Live(adapter.system, TITLE(name=adapter.name), observer, adapter.weigh)
        self.recorder = self.live.recorder
        self._can_push = adapter.push is not None
        self._clients: dict[str, Push] = {}  # those that are connected, by name
        # by client, the roles that have pushed to it, and those whose pushes it did not take
        # (a dict to None is a set in order)
        self._pushed_by: dict[str, dict[str, None]] = {}
        self._refused_pushes: dict[str, dict[str, None]] = {}
        self._request_size = 0  # bytes of the request that is delivered just now
        # by (role, timer): when it is due, in ms, and the number of its setting; the heap may also
        # hold settings that are no longer valid
        self._timers: dict[tuple[str, str], tuple[int, int]] = {}
        self._timer_heap: list[tuple[int, int, str, str]] = []
        self._count = itertools.count()  # numbers timers: those due at once keep their order

    # -- starting ------------------------------------------------------------------------------

    def start(self) -> None:
        """Replay the journal, then let every role recover from what it finds."""
        if self.journal is not None:
            for effect in self.journal.replay():
                try:
                    keep(self.adapter, self.disk, effect)
                except ValueError as error:
                    raise self.journal.misfit(error) from error
            if self.journal.is_mostly_dead(self.disk.effects()):
                self.journal.rewrite(self.disk.effects())
        self._wake()

    def crash(self) -> None:
        """The node dies and starts again at once: what is in no log and no table is gone, with it
        timers, messages in flight and clients. Recovery is shown in the live trace."""
        for memory in (
            self.inbox, self._paced_events, self._timers, self._timer_heap, self.roles,
            self.readers, self._log_read_by, self._clients, self._pushed_by, self._refused_pushes,
        ):  # fmt: skip
            memory.clear()
        self._wake()

    def _wake(self) -> None:
        for start in self.adapter.starting(self.disk):
            self._start(start)
        self.run()

    def _start(self, start: Start) -> None:
        name = start.name
        role, effects = start.recover(self.disk, self.now)
        self.roles[name] = role
        if start.reads:
            self.readers.setdefault(start.reads, []).append(name)
            self._log_read_by[name] = start.reads
        else:
            self.recorder.record_start(self.now, name, role, effects)
        self._do_effects(name, effects)

    def _stop(self, name: str) -> None:
        self.roles.pop(name, None)
        log_name = self._log_read_by.pop(name, None)
        if log_name is not None:
            self.readers[log_name].remove(name)

    # -- one step ------------------------------------------------------------------------------

    def deliver(self, name: str, event: Event, size: int = 0) -> None:
        """An event from outside, and everything that follows from it on this node. `size`: of
        the request it is, in bytes."""
        self.inbox.append((name, event))
        self._request_size = size
        self.run()

    def look_ahead(self, name: str, event: Event) -> tuple[Any, Effects]:
        """What a role would do; it does not."""
        outcome: tuple[Any, Effects] = self.roles[name].step(event, self.disk)
        return outcome

    def run(self) -> None:
        """Step until nothing is left to do. A role that raises is a bug in it: its step has not
        happened, all others go on, and the error is raised at the end so that its caller gets
        it."""
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
        new, effects = self.roles.get(name, self.adapter.gone).step(event, self.disk)
        if name in self.roles:
            self.roles[name] = new
        size, self._request_size = self._request_size, 0
        self.recorder.record_step(self.now, name, new, event, effects, size)
        self._do_effects(name, effects)

    def _do_effects(self, me: str, effects: Effects) -> None:
        """Carry out the effects of one step of the role `me`, in order: messages to roles join the
        inbox (after `pace_ms`, if set), messages and answers to clients go to their connections,
        appends and puts to disk and journal, timers are set or cancelled. A Flush has nothing to do
        here: the journal is written, and flushed if asked, at the end of the turn."""
        now, inbox, pushes = self.now, self.inbox, self._can_push
        for effect in effects:
            if isinstance(effect, Send):
                if pushes and effect.to.startswith(CLIENT):
                    self._push_to_client(me, effect)
                    continue
                # conn=0: a role asks, not a connection
                request = Request(Caller(me, conn=0, corr=effect.corr), effect.body, now)
                if self.pace_ms:
                    self._send_paced(me, effect.to, request)
                else:
                    inbox.append((effect.to, request))
            elif isinstance(effect, Reply):
                caller = effect.caller
                if caller.conn:  # a client; 0 for a role
                    self.answer(caller.conn, caller.corr, effect.body)
                    continue
                response = Response(me, caller.corr, effect.body, now)
                if self.pace_ms:
                    self._send_paced(me, caller.name, response)
                else:
                    inbox.append((caller.name, response))
            elif isinstance(effect, Append):
                keep(self.adapter, self.disk, effect)
                self._add_to_journal(effect)
                if effect.notify:  # the role learns that the entry is safe
                    appended = Appended(effect.log, effect.entry.last + 1, now)
                    inbox.append((me, appended))
                    # roles that read the log along with its own role
                    if effect.log in self.readers:
                        for reader in self.readers[effect.log]:
                            inbox.append((reader, appended))
            elif isinstance(effect, SetTimer):
                self._set_timer(me, effect.timer, effect.after_ms)
            elif isinstance(effect, CancelTimer):
                self._timers.pop((me, effect.timer), None)
            elif isinstance(effect, Put | Truncate):
                self._do_put_or_truncate(effect)

    def _send_paced(self, me: str, to: str, event: Request | Response) -> None:
        """A message that takes its time; the front is no broker of its own, so not to it."""
        if self.adapter.front in (me, to) or me == to:
            self.inbox.append((to, event))
            return
        timer = f"{PACED}{next(self._count)}"
        self._paced_events[timer] = event
        self._set_timer(to, timer, self.pace_ms)

    def _do_put_or_truncate(self, effect: Put | Truncate) -> None:
        """A table's key, or a log cut back; roles may come and go with the key."""
        if isinstance(effect, Truncate):
            keep(self.adapter, self.disk, effect)
            self._add_to_journal(effect)
            return
        change, freed = put(self.adapter, self.disk, effect)
        self._add_to_journal(effect)
        for name in change.end:
            self._stop(name)
        if freed > LARGE:
            self.recorder.clear()  # its steps refer to what is to be freed
        for start in change.begin:
            self._start(start)

    def _add_to_journal(self, effect: Append | Put | Truncate) -> None:
        if self.journal is not None:
            self.journal.note(effect)

    # -- clients -------------------------------------------------------------------------------

    def connect(self, client: str, push: Push) -> None:
        """A client asks for the first time, so that roles know it and may push to it.
        `push(role, corr, body)` says whether it was sent."""
        if self._can_push:
            self._clients[client] = push

    def disconnect(self, client: str) -> None:
        """A client has gone: tell the front, and each role that has pushed to it."""
        self._clients.pop(client, None)
        self._refused_pushes.pop(client, None)
        for name in dict.fromkeys((self.adapter.front, *self._pushed_by.pop(client, ()))):
            self.inbox.append((name, ConnectionLost(client, self.now)))
        self.run()

    def _push_to_client(self, me: str, effect: Send) -> None:
        push = self._clients.get(effect.to)
        if push is None:
            self.inbox.append((me, ConnectionLost(effect.to, self.now)))
            return
        self._pushed_by.setdefault(effect.to, {})[me] = None
        if not push(me, effect.corr, effect.body):
            self._refused_pushes.setdefault(effect.to, {})[me] = None
            unsent = Response(effect.to, effect.corr, Unsent(effect.body), self.now)
            self.inbox.append((me, unsent))

    def drain(self, client: str) -> None:
        """A client has read what was in flight: tell the roles whose pushes were refused."""
        for name in self._refused_pushes.pop(client, ()):
            self.inbox.append((name, Response(client, 0, Drained(), self.now)))
        self.run()

    # -- time ----------------------------------------------------------------------------------

    def begin_turn(self) -> None:
        self.now = now_ms()

    def end_turn(self) -> None:
        """What this turn did is made durable; answers may leave after this."""
        if self.journal is not None:
            self.journal.write()

    def _set_timer(self, role: str, timer: str, after_ms: int) -> None:
        due, number = self.now + after_ms, next(self._count)
        self._timers[role, timer] = (due, number)
        heapq.heappush(self._timer_heap, (due, number, role, timer))
        if len(self._timer_heap) > 64 + 4 * len(self._timers):
            # Most of what is on the heap was cancelled or set again.
            self._timer_heap = [(d, n, r, t) for (r, t), (d, n) in self._timers.items()]
            heapq.heapify(self._timer_heap)

    def next_timer(self) -> int | None:
        """When the next timer is due, in ms since the epoch."""
        heap = self._timer_heap
        while heap and self._timers.get(heap[0][2:]) != heap[0][:2]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def fire_early(self, role: str, timer: str) -> bool:
        """Fire a timer that is set, however long it has to go; False where none is set."""
        if (role, timer) not in self._timers:
            return False
        self._set_timer(role, timer, 0)
        self.fire()
        return True

    def fire(self) -> None:
        """Fire every timer that is due."""
        while (due := self.next_timer()) is not None and due <= self.now:
            _, _, role, timer = heapq.heappop(self._timer_heap)
            del self._timers[role, timer]
            event = self._paced_events.pop(timer, None)
            fired = Fired(timer, self.now) if event is None else replace(event, at_ms=self.now)
            self.deliver(role, fired)
