"""The producer: TransactionMQProducer, a half message, a local transaction, and one word.

`sendMessageInTransaction` does three things, one after the other:

    1. sends the message as a *half*: stored by the broker where no consumer looks
    2. runs the local transaction, only if the half was stored without reservation (SEND_OK)
    3. tells the broker how that ended, *one-way*: no answer, no retry

What it returns says how the half was stored and what the local transaction came to. **Whether
the broker has heard of it nobody knows**, and an exception while it is told is swallowed. What
mends that is the check: the broker asks any live producer of the group, over the connection that
this one opened, and `checkLocalTransaction` answers.

**Durable** is nothing here but the number of the process's life, which makes message ids differ
and lets a restarted application know which calls were made before. `memory` is what a listener
kept in its process; it is lost with it.

*What can go wrong.* The answer to the half is lost: the send is repeated, two halves lie there
with one UNIQ_KEY, and the first is nobody's: only the check decides it. The process dies between
half and row, between row and end. The listener raises: the state stays UNKNOW, which is no
rollback. It returns null: to the local transaction that is UNKNOW as well, to a check it is no
answer at all.

*Left out:* several brokers and the choice among them, message batches, the send timeout (a break
of the connection stands for it; a real client closes the connection then too).
Read on in DefaultMQProducerImpl#sendMessageInTransaction, #endTransaction, #checkTransactionState,
TransactionMQProducer (5.5.0).
"""

from __future__ import annotations

from typing import Any

from ...kernel import (
    Call,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Outcome,
    Put,
    Quiet,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    build_failure,
    build_success,
    frozen,
    replace,
)
from ...kernel.outcome import UNKNOWN
from ..application import orders
from ..application.listener import LOST, Finished, Rule, Task, run_task
from ..config import RocketMQConfig
from ..errors import ResponseCode
from ..messages import (
    CheckTransactionState,
    EndTransactionResponse,
    Heartbeat,
    HeartbeatResponse,
    ResumeCheckHalfMessageResponse,
    SendMessageResponse,
    Statement,
    StatementResponse,
)
from . import checking, sending
from .calls import End, Resume, SendInTransaction, SendPlain, SetListener

__all__ = ["Producer", "ProducerConfig"]

HEARTBEAT = "heartbeat"
#: the process's own table; a name with a dot is not told
LIVES = ".lives"
#: the numbers of requests to the database, by the listener method that made them
EXECUTE, CHECK = sending.EXECUTE, checking.CHECK


@frozen
class ProducerConfig(Config):
    """`group`: the producer group. `early`: the broker knows of this producer from its start
    (4.9 with autoCreateTopicEnable; 5.2 and later with a list of topics in its constructor);
    else from its first send on. `execute`, `check`: the transaction listener."""

    cluster: RocketMQConfig = RocketMQConfig()
    name: str = "app"
    group: str = "order-service"
    early: bool = False
    execute: Rule = orders.execute
    check: Rule = orders.check
    heartbeat_ms: int = 30_000
    tries: int = 3


@frozen
class Producer(Quiet):
    """`life`: the number of this process; `before`: how many calls earlier lives began, `begun`
    how many this one was given. `registered`: a heartbeat went out over this connection.
    `call`: what has not returned; `half`: the request for it; `tries`: how often that was sent.
    `results`: what the broker said of each order's half. `local`: the local transaction at work,
    `decided`: what it came to; `checks`: those to be answered, the first one at work (one
    thread). `memory`: what the listener keeps in this process."""

    config: ProducerConfig
    life: int = 1
    before: int = 0
    begun: int = 0
    sent: int = 0
    registered: bool = False
    listener: orders.Scripted | None = None
    call: Any = None
    half: Any = None
    tries: int = 0
    results: Map[str, SendMessageResponse] = Map()
    local: Task | None = None
    decided: Finished | None = None
    checks: tuple[Task, ...] = ()
    memory: Map[str, Any] = Map()

    def step(self, event: Event, disk: Disk) -> tuple[Producer, Effects]:
        match event:
            case Call(body=call, at_ms=at_ms):
                return self._begin_call(call, at_ms)
            case Request(body=CheckTransactionState() as ask):
                return checking.take_check(self, ask)
            case Request(body=HeartbeatResponse()):
                return self, ()  # the broker knows this client now
            case Response(body=SendMessageResponse() as answer) if self.half is not None:
                return sending.handle_sent(self, answer)
            case Response(corr=corr, body=StatementResponse(value=value)):
                return self._resume(corr, value)
            case Response(
                body=EndTransactionResponse() | ResumeCheckHalfMessageResponse() as answer
            ):
                failed = answer.code is not ResponseCode.SUCCESS
                outcome = build_failure(self.call, answer) if failed else build_success(self.call)
                return self.finish(outcome)
            case ConnectionLost(peer=peer) if peer == self.config.cluster.database:
                return self._lose_database()
            case ConnectionLost():
                return self._lose_broker()
            case Fired():
                return self.register()
        # An answer that nobody waits for any more.
        return self, ()

    # -- calls ---------------------------------------------------------------------------

    def _begin_call(self, call: Any, at_ms: int) -> tuple[Producer, Effects]:
        """A process that was restarted is not asked again what an earlier life was asked: its
        users do not repeat what they wanted, and never hear what became of it."""
        new = replace(self, call=call, begun=self.begun + 1)
        if new.begun <= self.before and not isinstance(call, SetListener):
            return new.finish(Outcome(call, UNKNOWN, "the process died"))
        counted = (Put(LIVES, "calls", max(new.begun, self.before)),)
        new, effects = new._handle_call(call, at_ms)
        return new, (*counted, *effects)

    def _handle_call(self, call: Any, at_ms: int) -> tuple[Producer, Effects]:
        match call:
            case SetListener(execute=execute, checks=checks):
                new = replace(self, listener=orders.Scripted(execute, checks))
                return new.finish(build_success(call))
            case SendInTransaction() | SendPlain():
                return sending.begin_send(self, call, at_ms)
            case End() | Resume():
                return sending.send_by_hand(self, call)
        return self.finish(build_failure(call, "a producer has no such call"))

    def finish(self, outcome: Outcome) -> tuple[Producer, Effects]:
        new = replace(self, call=None, half=None, tries=0, local=None, decided=None)
        return new, (Return(outcome),)

    # -- the connection to the broker --------------------------------------------------------

    def register(self) -> tuple[Producer, Effects]:
        """Tell the broker which group is behind this connection, unless it was told."""
        if self.registered:
            return self, ()
        beat = Send(self.config.cluster.broker, Heartbeat((self.config.group,)))
        return replace(self, registered=True), (beat,)

    def use_connection(self) -> tuple[Producer, Effects]:
        """What a request does on a connection that has not registered: since 5.2 a client
        heartbeats as soon as a connection is there; before, when its next heartbeat is due."""
        if self.config.cluster.release != "4.9":
            return self.register()
        return self, () if self.registered else (SetTimer(HEARTBEAT, self.config.heartbeat_ms),)

    def _lose_broker(self) -> tuple[Producer, Effects]:
        """A new connection has not registered; the next heartbeat will, at the latest."""
        later = (SetTimer(HEARTBEAT, self.config.heartbeat_ms),) if self.registered else ()
        new = replace(self, registered=False)
        new, effects = sending.try_again(new)
        return new, (*later, *effects)

    # -- the listener ------------------------------------------------------------------------

    def run(self, corr: int) -> tuple[Producer, Effects]:
        """Run the local transaction, or the first check, up to its next statement or its end."""
        task = self.local if corr == EXECUTE else self.checks[0]
        assert task is not None
        if self.listener is not None:
            return self._take_result(corr, task, self.listener.answer(task.times))
        rule = self.config.execute if corr == EXECUTE else self.config.check
        task, memory, result = run_task(rule, task, self.memory)
        new = replace(self, memory=memory)
        if isinstance(result, Statement):
            ask = Send(self.config.cluster.database, result, corr)
            if corr == EXECUTE:
                return replace(new, local=task), (ask,)
            return replace(new, checks=(task, *self.checks[1:])), (ask,)
        return new._take_result(corr, task, result)

    def _take_result(self, corr: int, task: Task, result: Finished) -> tuple[Producer, Effects]:
        if corr == EXECUTE:
            return sending.finish_local(replace(self, local=None), result)
        return checking.answer_check(self, task, result)

    def _resume(self, corr: int, value: Any) -> tuple[Producer, Effects]:
        """The database has answered: the function goes on."""
        if corr == EXECUTE and self.local is not None and self.local.statement:
            return replace(self, local=self.local.resume(value)).run(EXECUTE)
        if corr == CHECK and self.checks and self.checks[0].statement:
            return replace(self, checks=(self.checks[0].resume(value), *self.checks[1:])).run(CHECK)
        return self, ()

    def _lose_database(self) -> tuple[Producer, Effects]:
        """Calls that wait for an answer get an exception instead."""
        new, effects = self._resume(EXECUTE, LOST)
        new, more = new._resume(CHECK, LOST)
        return new, (*effects, *more)

    @classmethod
    def recover(cls, config: ProducerConfig, disk: Disk, at_ms: int) -> tuple[Producer, Effects]:
        lives = disk.table(LIVES)
        life = lives.get("life", 0) + 1
        new = cls(config, life=life, before=lives.get("calls", 0))
        new, effects = new.register() if config.early else (new, ())
        return new, (Put(LIVES, "life", life), *effects)
