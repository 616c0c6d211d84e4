"""The producer: TransactionMQProducer, a half message, a local transaction, and one word.

`sendMessageInTransaction` does three things, one after the other:

    1. sends the message as a *half message*: stored by the broker where no consumer looks
    2. runs the local transaction, only if the half was stored without reservation (SEND_OK)
    3. reports to the broker how that ended, *one-way*: no answer, no retry

What it returns says how the half message was stored and what the local transaction came to.
**Whether the broker has received it is unknown**, and an exception while it is sent is swallowed.
The check repairs that: the broker asks any live producer of the group, over the connection
that this one opened, and `checkLocalTransaction` answers.

**Durable** is nothing here but the number of the process's incarnation, which makes message ids
differ and lets a restarted application know which calls were made before. `memory` is what a
listener kept in its process; it is lost with it.

*What can go wrong.* The answer to the half is lost: the send is repeated, there are two half
messages with one UNIQ_KEY, and the first belongs to no call: only the check decides it. The process
dies between half and row, between row and end. The listener raises: the state stays UNKNOW, which
is no rollback. It returns null: to the local transaction that is UNKNOW as well, to a check it is
no answer at all.

*Left out:* several brokers and the choice among them, message batches, the send timeout (a break
of the connection takes its place; a real client closes the connection then too).
Read on in DefaultMQProducerImpl#sendMessageInTransaction, #endTransaction, #checkTransactionState,
TransactionMQProducer (5.5.0).
"""

from __future__ import annotations

import re
from typing import Any

from ..kernel import (
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
    worded,
)
from ..kernel.role import UNKNOWN
from ..kernel.usages import quote
from . import application
from .application import LOST, Finished, Rule, Task, run_task
from .config import RocketMQConfig
from .errors import ResponseCode
from .messages import (
    CHECK_IMMUNITY,
    DELAY,
    KEYS,
    PGROUP,
    STORED,
    TRAN_MSG,
    UNIQ_KEY,
    CheckTransactionState,
    EndTransaction,
    EndTransactionResponse,
    Heartbeat,
    HeartbeatResponse,
    Message,
    ResumeCheckHalfMessage,
    ResumeCheckHalfMessageResponse,
    SendMessage,
    SendMessageResponse,
    Statement,
    StatementResponse,
    split_queue,
)
from .remoting.properties import decode_properties, encode_properties
from .states import END_OF, LocalTransactionState, SendStatus, TransactionType

# ---- What an application may call on its producer, and what only a tester would ------


@frozen
class SendInTransaction:
    """sendMessageInTransaction: returns when the local transaction is over. `immunity`: the
    message's own CHECK_IMMUNITY_TIME_IN_SECONDS; `delay`: a delay level; `property`: of its
    application's own (`read_property`). `queue`: where the message goes; `order`: its key and
    body."""

    queue: str
    order: str
    immunity: str = ""
    delay: int = 0
    property: str = ""

    def __str__(self) -> str:
        given = (("immunity", self.immunity), ("delay", self.delay), ("property", self.property))
        more = "".join(f" {name}={quote(str(value))}" for name, value in given if value)
        return f"send-in-transaction {self.queue} {quote(self.order)}{more}"


@frozen
class SendPlain:
    """send: an ordinary message, outside any transaction. `queue`: where it goes; `order`: its key
    and body; `delay`, `property`: as above."""

    queue: str
    order: str
    delay: int = 0
    property: str = ""

    def __str__(self) -> str:
        given = (("delay", self.delay), ("property", self.property))
        more = "".join(f" {name}={quote(str(value))}" for name, value in given if value)
        return f"send {self.queue} {quote(self.order)}{more}"


_PROPERTY = re.compile(r"([^:]+):(.+?)(?:\*([0-9]+))?")


def read_property(text: str) -> tuple[str, str] | None:
    """putUserProperty(NAME, VALUE) of `NAME:VALUE`: `note:x*32600` is that many x, and `\\x01` one
    character by its number. None for anything else."""
    match = _PROPERTY.fullmatch(text)
    if match is None or len(match[3] or "") > 6:
        return None
    name, value, times = match.groups()
    value = re.sub(r"\\x([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), value)
    return name, value * int(times or 1)


@frozen
class SetListener:
    """setTransactionListener, with a listener that gives these answers. `execute`: the local
    transaction's state; `checks`: the answers to the checks that follow."""

    execute: str
    checks: tuple[str, ...]

    def __str__(self) -> str:
        return f"listener {' '.join((self.execute, *self.checks))}"


@frozen
class End:
    """A raw EndTransaction, as no client library sends it: late, twice, or with something wrong in
    it. It waits for the answer that real clients do not ask for. `queue_offset` and
    `commit_log_offset` None: as the broker said when the half was stored. `order`: whose half;
    `from_check`: as the answer to a check."""

    end: str
    order: str
    group: str = ""
    queue_offset: int | None = None
    commit_log_offset: int | None = None
    from_check: bool = False

    def __str__(self) -> str:
        given = (
            ("group", self.group or None),
            ("queue_offset", self.queue_offset),
            ("commit_log_offset", self.commit_log_offset),
            ("from_check", 1 if self.from_check else None),
        )
        more = "".join(f" {name}={value}" for name, value in given if value is not None)
        return f"end {self.end} {quote(self.order)}{more}"


@worded("resume {commit_log_offset}")
class Resume:
    """resumeCheckHalfMessage: an operator puts back a half message that was set aside"""

    commit_log_offset: int


# ---- Answering the broker's question: what became of this transaction? ---------------
#
# Sources: ClientRemotingProcessor#checkTransactionState,
# DefaultMQProducerImpl#checkTransactionState,
# #initTransactionEnv (one thread; 5.5.0).

Result = tuple["Producer", Effects]

#: the number of a request to the database that this listener method made
CHECK = 1


def take_check(producer: Producer, ask: CheckTransactionState) -> Result:
    """Take CHECK_TRANSACTION_STATE: run the listener's check, once those before it are answered. A
    question about another group's message is ignored."""
    if ask.message.get(PGROUP) != producer.config.group:
        return producer, ()
    task = Task(ask.message.words, ask.message.check_times, about=ask)
    new = replace(producer, checks=(*producer.checks, task))
    return new.run(CHECK) if len(new.checks) == 1 else (new, ())


def answer_check(producer: Producer, task: Task, result: Finished) -> Result:
    """Answer CHECK_TRANSACTION_STATE with EndTransaction, which gets no answer itself. It carries
    the offsets of the question: they name the copy that the broker put back. A result of null sends
    nothing: the client's thread fails before that. Then the next waiting question is looked at."""
    new = replace(producer, checks=producer.checks[1:])
    sent: Effects = ()
    if result.state is not None:
        question: CheckTransactionState = task.about
        answer = EndTransaction(
            new.config.group,
            END_OF[result.state],
            question.queue_offset,
            question.commit_log_offset,
            from_check=True,
            words=task.order,
            remark=result.error,
        )
        sent = (Send(new.config.cluster.broker, answer),)
    if not new.checks:
        return new, sent
    new, more = new.run(CHECK)
    return new, (*sent, *more)


# ---- sendMessageInTransaction: the half, the local transaction, the end --------------
#
# Sources: DefaultMQProducerImpl#sendMessageInTransaction, #endTransaction (5.5.0).

#: the number of a request to the database that this listener method made
EXECUTE = 0
ROLLBACK = Finished(LocalTransactionState.ROLLBACK_MESSAGE)
NO_DELAY = "MQClientException: Transactional messages do not support delayed delivery"


def begin_send(producer: Producer, call: SendInTransaction | SendPlain, at_ms: int) -> Result:
    """Begin a send call: build the message and send it. One in a transaction with a delay fails
    (not in 4.9); without the safeguard `half_before_execute` the local transaction runs first."""
    in_transaction = isinstance(call, SendInTransaction)
    if in_transaction and call.delay and producer.config.cluster.release != "4.9":
        return producer.finish(build_failure(call, NO_DELAY))
    message = _build_message(producer, call, at_ms)
    new = replace(
        producer, half=SendMessage(message, producer.config.group), sent=producer.sent + 1
    )
    if in_transaction and "half_before_execute" not in new.config.cluster.on:
        return replace(new, local=Task(call.order)).run(EXECUTE)
    return _send_half(new)


def _build_message(producer: Producer, call: SendInTransaction | SendPlain, at_ms: int) -> Message:
    """Build the message of a send call. It gets a unique key (UNIQ_KEY), which stays the same when
    the send is repeated; a half message also gets the mark of one, its producer's group and perhaps
    an immunity time."""
    config = producer.config
    topic, queue_id = split_queue(call.queue)
    key = f"{config.name}.{producer.incarnation}.{producer.sent + 1}"
    message = Message(topic, queue_id, call.order, born_ms=at_ms, born_host=config.name)
    message = message.put((UNIQ_KEY, key), (KEYS, call.order))
    if given_property := read_property(call.property):
        message = _travel(message.put(given_property))
    match call:
        case SendPlain(delay=delay):
            return message.put((DELAY, str(delay))) if delay else message
        case SendInTransaction(immunity=immunity):  # a delay level is cleared
            message = message.put((TRAN_MSG, "true"), (PGROUP, config.group))
            message = message.mark(TransactionType.PREPARED_TYPE)
            return message.put((CHECK_IMMUNITY, immunity)) if immunity else message


def _travel(message: Message) -> Message:
    """As the broker reads it: all properties are one text with two control characters between
    them, and no check keeps these out of a value."""
    text = encode_properties(dict(message.properties.items()))
    return replace(message, properties=Map(decode_properties(text).items()))


def _send_half(producer: Producer) -> Result:
    new, heartbeat = producer.use_connection()
    new = replace(new, tries=new.tries + 1)
    return new, (*heartbeat, Send(new.config.cluster.broker, new.half))


REFUSED = "MQClientException: Send [{}] times, still failed: RemotingConnectException"


def try_again(producer: Producer, refused: bool) -> Result:
    """The connection broke, or was `refused`. A send is repeated; what it had stored already is
    stored twice. What was sent by hand is not, and a running local transaction has nothing to do
    with it. After the last try the client throws (DefaultMQProducerImpl#sendDefaultImpl); any try
    that was not refused may be stored (all three in the recording java-answers-lost)."""
    call = producer.call
    if isinstance(call, End | Resume):
        if refused:
            return producer.finish(build_failure(call, "RemotingConnectException"))
        return producer.finish(Outcome(call, UNKNOWN, "the connection broke"))
    if producer.half is None or producer.tries == 0:
        return producer, ()
    producer = replace(producer, refused=producer.refused + refused)
    if producer.tries < producer.config.tries:
        return _send_half(producer)
    if producer.refused == producer.tries:
        return producer.finish(build_failure(call, REFUSED.format(producer.tries)))
    return producer.finish(Outcome(call, UNKNOWN, "MQClientException: no answer"))


def handle_sent(producer: Producer, answer: SendMessageResponse) -> Result:
    """The half message is stored, or it is not. Only SEND_OK lets the local transaction run; of the
    other three statuses it is unknown what a restart would leave, so it ends with ROLLBACK."""
    call, message = producer.call, producer.half.message
    if answer.code not in STORED:
        why = f"MQClientException: {answer}"
        return producer.finish(build_failure(call, why))
    new = replace(producer, half=None, results=producer.results.set(message.words, answer))
    if isinstance(call, SendPlain):
        return new.finish(build_success(call, str(answer)))
    if new.decided is not None:  # the local transaction was not made to wait
        return _end(new, answer, new.decided)
    if answer.status is not SendStatus.SEND_OK:
        return _end(new, answer, ROLLBACK)
    return replace(new, local=Task(call.order, about=answer)).run(EXECUTE)


def finish_local(producer: Producer, result: Finished) -> Result:
    """The local transaction is over. Null and an exception both leave the state at UNKNOW."""
    if result.error and "exception_is_unknown" not in producer.config.cluster.on:
        result = replace(ROLLBACK, error=result.error)
    if result.state is None:
        result = Finished(LocalTransactionState.UNKNOW)
    if producer.half is not None:
        return _send_half(replace(producer, decided=result))
    return _end(producer, producer.results[producer.call.order], result)


def _end(producer: Producer, answer: SendMessageResponse, result: Finished) -> Result:
    """Send EndTransaction (endTransaction), in every case, also for UNKNOW, and let the call
    return. It returns what happened in this producer; whether the broker carries it out is not
    awaited."""
    assert result.state is not None
    call = producer.call
    end = EndTransaction(
        producer.config.group,
        END_OF[result.state],
        answer.queue_offset,
        answer.commit_log_offset,
        words=call.order,
        remark=result.error,
    )
    new, heartbeat = producer.use_connection()
    meaning = (answer.status, result.state)
    new, returned = new.finish(build_success(call, f"{answer.status} {result.state}", meaning))
    return new, (*heartbeat, Send(new.config.cluster.broker, end), *returned)


def send_by_hand(producer: Producer, call: End | Resume) -> Result:
    """Send a request that a tester or an operator makes: an EndTransaction with freely chosen
    fields, or the resumption of a half message. The offsets that the call leaves out are those of
    the half message sent from here."""
    broker = producer.config.cluster.broker
    if isinstance(call, Resume):
        return producer, (Send(broker, ResumeCheckHalfMessage(call.commit_log_offset)),)
    answer = producer.results.get(call.order)
    queue_offset, offset = call.queue_offset, call.commit_log_offset
    if answer is None and (queue_offset is None or offset is None):
        why = f"no half of {call.order} was sent from here: give queue_offset= commit_log_offset="
        return producer.finish(build_failure(call, why))
    if answer is not None:
        queue_offset = answer.queue_offset if queue_offset is None else queue_offset
        offset = answer.commit_log_offset if offset is None else offset
    assert queue_offset is not None and offset is not None
    request = EndTransaction(
        call.group or producer.config.group,
        END_OF[LocalTransactionState(call.end)],
        queue_offset,
        offset,
        call.from_check,
        oneway=call.end == LocalTransactionState.UNKNOW,
        words=call.order,
    )
    if request.oneway:  # the broker does not answer an UNKNOW, so the call must not wait
        new, returned = producer.finish(build_success(call))
        return new, (Send(broker, request), *returned)
    return producer, (Send(broker, request),)


HEARTBEAT = "heartbeat"
#: the process's own table; a name with a dot is not shown
PROCESS = ".process"


@frozen
class ProducerConfig(Config):
    """`group`: the producer group. `early`: the broker knows of this producer from its start (4.9
    with autoCreateTopicEnable; 5.2 and later with a list of topics in its constructor); else from
    its first send on. `execute`, `check`: the transaction listener. `heartbeat_ms`: between two
    heartbeats; `tries`: sends of a half message before the call fails."""

    cluster: RocketMQConfig = RocketMQConfig()
    name: str = "app"
    group: str = "order-service"
    early: bool = False
    execute: Rule = application.execute
    check: Rule = application.check
    heartbeat_ms: int = 30_000
    tries: int = 3


@frozen
class Producer(Quiet):
    """`incarnation`: how often the process was started; `before`: how many calls the earlier ones
    began, `begun` how many this one was given. `registered`: a heartbeat went out over this
    connection.
    `call`: what has not returned; `half`: the request for it; `tries`: how often that was sent,
    `refused`: how often of these nothing listened.
    `results`: what the broker said of each order's half. `local`: the local transaction at work,
    `decided`: what it came to; `checks`: those to be answered, the first one at work (one
    thread). `memory`: what the listener keeps in this process."""

    config: ProducerConfig
    incarnation: int = 1
    before: int = 0
    begun: int = 0
    sent: int = 0
    registered: bool = False
    listener: application.Scripted | None = None
    call: Any = None
    half: Any = None
    tries: int = 0
    refused: int = 0
    results: Map[str, SendMessageResponse] = Map()
    local: Task | None = None
    decided: Finished | None = None
    checks: tuple[Task, ...] = ()
    memory: Map[str, Any] = Map()

    def step(self, event: Event, disk: Disk) -> tuple[Producer, Effects]:
        """Handle one event: a call of the application, a check by the broker, an answer of the
        broker or the database, a broken connection, or the timer of the next heartbeat."""
        match event:
            case Call(body=call, at_ms=at_ms):
                return self._begin_call(call, at_ms)
            case Request(body=CheckTransactionState() as ask):
                return take_check(self, ask)
            # an answer, but sent over the broker's own direction of the connection
            case Request(body=HeartbeatResponse()):
                return self, ()  # the broker knows this client now
            case Response(body=SendMessageResponse() as answer) if self.half is not None:
                return handle_sent(self, answer)
            case Response(corr=corr, body=StatementResponse(value=value)):
                return self._resume(corr, value)
            # only to what was sent by hand: the end of a transaction is one-way otherwise
            case Response(
                body=EndTransactionResponse() | ResumeCheckHalfMessageResponse() as answer
            ):
                failed = answer.code is not ResponseCode.SUCCESS
                outcome = build_failure(self.call, answer) if failed else build_success(self.call)
                return self.finish(outcome)
            case ConnectionLost(peer=peer) if peer == self.config.cluster.database:
                return self._lose_database()
            case ConnectionLost(refused=refused):
                return self._lose_broker(refused)
            case Fired():
                return self.register()
        return self, ()

    # -- calls ---------------------------------------------------------------------------

    def _begin_call(self, call: Any, at_ms: int) -> tuple[Producer, Effects]:
        """A process that was restarted is not asked again what an earlier one was asked: its
        users do not repeat what they wanted, and never hear what became of it."""
        new = replace(self, call=call, begun=self.begun + 1)
        if new.begun <= self.before and not isinstance(call, SetListener):
            return new.finish(Outcome(call, UNKNOWN, "the process died"))
        counted = (Put(PROCESS, "calls", max(new.begun, self.before)),)
        new, effects = new._handle_call(call, at_ms)
        return new, (*counted, *effects)

    def _handle_call(self, call: Any, at_ms: int) -> tuple[Producer, Effects]:
        match call:
            case SetListener(execute=execute, checks=checks):
                new = replace(self, listener=application.Scripted(execute, checks))
                return new.finish(build_success(call))
            case SendInTransaction() | SendPlain():
                return begin_send(self, call, at_ms)
            case End() | Resume():
                return send_by_hand(self, call)
        return self.finish(build_failure(call, "a producer has no such call; consumers= have"))

    def finish(self, outcome: Outcome) -> tuple[Producer, Effects]:
        new = replace(self, call=None, half=None, tries=0, refused=0, local=None, decided=None)
        return new, (Return(outcome),)

    # -- the connection to the broker --------------------------------------------------------

    def register(self) -> tuple[Producer, Effects]:
        """Tell the broker which group uses this connection, unless it was sent already."""
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

    def _lose_broker(self, refused: bool) -> tuple[Producer, Effects]:
        """A new connection has not registered; the next heartbeat will, at the latest."""
        later = (SetTimer(HEARTBEAT, self.config.heartbeat_ms),) if self.registered else ()
        new = replace(self, registered=False)
        new, effects = try_again(new, refused)
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
            return finish_local(replace(self, local=None), result)
        return answer_check(self, task, result)

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
        kept = disk.table(PROCESS)
        incarnation = kept.get("incarnation", 0) + 1
        new = cls(config, incarnation=incarnation, before=kept.get("calls", 0))
        new, effects = new.register() if config.early else (new, ())
        return new, (Put(PROCESS, "incarnation", incarnation), *effects)
