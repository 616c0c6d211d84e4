"""What job manager and tasks say, what flows through the channels, and what each of them does.

Read the job manager first, then along the channels: source, operator, sink.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...kernel import (
    Append,
    Caller,
    CancelTimer,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Map,
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Text,
    Words,
    frozen,
    phrase,
    replace,
    worded,
)
from ..records import Record, read_latest, read_records

JM, SUM, SINK = "jm", "sum", "sink"


@frozen
class JobConfig(Config):
    """`sources`: their names. `expires`: the store gives up what stays pending too long."""

    sources: tuple[str, ...] = ()
    expires: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """From the end of the line to its beginning, the order in which they are deployed."""
        return (SINK, SUM, *self.sources)


# ---- messages -------------------------------------------------------------------------


def name_checkpoint(number: int) -> str:
    return f"cp{number}" if number else ""


class OfCheckpoint:
    """What belongs to the checkpoint of its `number`."""

    __slots__ = ()
    number: int

    @property
    def txn(self) -> str:
        return name_checkpoint(self.number)


@worded("Register")
class Register:
    """A task that is running and does nothing yet."""


@worded("Reconnect")
class Reconnect:
    """The connection to a task broke; if it lives it is to register."""


@worded("Fail attempt {attempt}")
class Fail:
    """A task has lost a channel: what was in it may be lost, or come out of order."""

    attempt: int


@frozen
class Deploy(OfCheckpoint):
    """Begin again, from the state that was noted for checkpoint `number` (0: from nothing)."""

    attempt: int
    number: int
    state: int

    def __str__(self) -> str:
        if not self.txn:
            return phrase("Deploy attempt {} from nothing", self.attempt)
        return phrase("Deploy attempt {} from {}", self.attempt, self.txn)


@worded("running")
class DeployResponse:
    attempt: int


@worded("Trigger {txn}")
class Trigger(OfCheckpoint):
    attempt: int
    number: int


@worded("record {value}")
class Row:
    """A record on its way through a channel."""

    attempt: int
    value: str


@worded("barrier {txn}")
class Barrier(OfCheckpoint):
    """What was sent before it belongs to this checkpoint, what comes after it does not."""

    attempt: int
    number: int


Element = Row | Barrier


@worded("Acknowledge {txn} state={state}")
class Acknowledge(OfCheckpoint):
    """A task's part of the picture: an offset, a count, or (the sink) that it has pre-committed."""

    attempt: int
    number: int
    state: int


@worded("complete {txn}")
class Complete(OfCheckpoint):
    """notifyCheckpointComplete."""

    number: int


@worded("next record")
class Next:
    """A source's own reason to send its next record."""

    attempt: int

    quiet = True


# ---- the job manager ------------------------------------------------------------------

CHECKPOINTS = "checkpoints"
COMPLETED = "completed"
NUMBERS = ".numbers"
CHECKPOINT, CHECKPOINT_MS = "checkpoint", 60_000


@frozen
class Completed(Record):
    """A complete checkpoint: what each task has noted."""

    number: int = 0
    states: tuple[tuple[str, int], ...] = ()


@frozen
class JobManager(Quiet):
    """The job manager: it deploys the tasks, triggers checkpoints and says when one is complete.

        all tasks registered → sink and operator deployed → sources deployed → running
        running → a checkpoint triggered → all have acknowledged → `completed` (written) → reported
        a connection lost, or a task reports a lost channel → all deployed again, next attempt

    Those at the end of the line are deployed first, so that no task sends to one that is still in
    the attempt before. The attempt number and the checkpoint number are on disk: both only ever
    grow.

    `tasks`: those that are registered, with the connection they did it on. `deploying`: whose
    answer is missing before the sources may start. `number`: the latest checkpoint triggered;
    `noted`: what has been acknowledged of it, None when none is in progress.
    """

    config: JobConfig
    attempt: int = 0
    tasks: Map[str, int] = Map()
    deploying: tuple[str, ...] = ()
    running: bool = False
    number: int = 0
    noted: Map[str, int] | None = None

    @staticmethod
    def recover(config: JobConfig, disk: Disk, at_ms: int) -> tuple[JobManager, Effects]:
        """The tasks have heard that it stopped, and register again."""
        numbers = disk.table(NUMBERS)
        return JobManager(config, numbers.get("attempt", 0), number=numbers.get("cp", 0)), ()

    def step(self, event: Event, disk: Disk) -> tuple[JobManager, Effects]:
        """Deploy the tasks when all have registered or one has failed, trigger a checkpoint at each
        timer, and complete it when all tasks have acknowledged. A task whose connection breaks ends
        the attempt; it is asked to register again. `self.noted`: what was acknowledged of the
        checkpoint in flight, None where none is."""
        match event:
            case Request(caller=caller, body=Register()):
                return self._register(disk, caller)
            case Request(body=Fail(attempt)) if attempt == self.attempt and self.running:
                return self._deploy(disk)
            case ConnectionLost(peer=peer):
                role = replace(self._stop(), tasks=self.tasks.remove(peer))
                return role, (CancelTimer(CHECKPOINT), Send(peer, Reconnect()))
            case Response(peer=peer, body=DeployResponse(attempt)) if attempt == self.attempt:
                return self._handle_deployed(disk, peer)
            case Fired() if self.running and self.noted is None:
                return self._trigger()
            case Request(caller=caller, body=Acknowledge(attempt, number, state)):
                if attempt == self.attempt and number == self.number and self.noted is not None:
                    return self._handle_ack(disk, caller.name, state)
        return self, ()  # about an attempt or a checkpoint that is over

    # -- attempts ------------------------------------------------------------------------

    def _register(self, disk: Disk, caller: Caller) -> tuple[JobManager, Effects]:
        """A task that registers on another connection has started again."""
        if self.tasks.get(caller.name) == caller.conn:
            return self, ()
        role = replace(self, tasks=self.tasks.set(caller.name, caller.conn))
        if len(role.tasks) < len(self.config.tasks):
            return role, ()
        return role._deploy(disk)

    def _stop(self) -> JobManager:
        """What was in flight is void: another attempt will begin."""
        return replace(self, running=False, deploying=(), noted=None)

    def _deploy(self, disk: Disk) -> tuple[JobManager, Effects]:
        """A new attempt, from the latest complete checkpoint: the end of the line first."""
        attempt = self.attempt + 1
        role = replace(self._stop(), attempt=attempt, deploying=(SINK, SUM))
        return role, (
            CancelTimer(CHECKPOINT),
            Put(NUMBERS, "attempt", attempt),
            *role._send_deploy(disk, role.deploying),
        )

    def _send_deploy(self, disk: Disk, tasks: tuple[str, ...]) -> Effects:
        latest = find_latest(disk)
        number, states = (latest.number, dict(latest.states)) if latest else (0, {})
        return tuple(Send(n, Deploy(self.attempt, number, states.get(n, 0))) for n in tasks)

    def _handle_deployed(self, disk: Disk, peer: str) -> tuple[JobManager, Effects]:
        if peer not in self.deploying:
            return self, ()  # the connection broke in between: it will register again
        waiting = tuple(name for name in self.deploying if name != peer)
        if waiting:
            return replace(self, deploying=waiting), ()
        role = replace(self, deploying=(), running=True)
        clock = SetTimer(CHECKPOINT, CHECKPOINT_MS)
        return role, (*role._send_deploy(disk, self.config.sources), clock)

    # -- checkpoints ---------------------------------------------------------------------

    def _trigger(self) -> tuple[JobManager, Effects]:
        number = self.number + 1
        role = replace(self, number=number, noted=Map())
        ask = tuple(Send(name, Trigger(self.attempt, number)) for name in self.config.sources)
        return role, (Put(NUMBERS, "cp", number), *ask)

    def _handle_ack(self, disk: Disk, peer: str, state: int) -> tuple[JobManager, Effects]:
        """Note a task's acknowledgement of the checkpoint in flight, with the state it reported (an
        offset or a count). After the last one write the checkpoint as complete, send that to the
        sink, and set the timer for the next."""
        assert self.noted is not None
        noted = self.noted.set(peer, state)
        if len(noted) < len(self.config.tasks):
            return replace(self, noted=noted), ()
        states = tuple(noted.items())
        detail = f"{{{', '.join(f'{name}: {n}' for name, n in states if name != SINK)}}}"
        txn, end = name_checkpoint(self.number), disk.log(CHECKPOINTS).end
        entry = Completed(COMPLETED, txn, end, detail, self.number, states)
        written: Effects = (Append(CHECKPOINTS, entry, notify=False), Flush())
        complete: Effects = (Send(SINK, Complete(self.number)),)
        first = (written, complete) if "complete_on_disk" in self.config.on else (complete, written)
        clock = SetTimer(CHECKPOINT, CHECKPOINT_MS)
        return replace(self, noted=None), (*first[0], *first[1], clock)


def list_completed(disk: Disk) -> tuple[Completed, ...]:
    """Every complete checkpoint, the oldest first."""
    return tuple(r for r in read_records(disk, CHECKPOINTS) if isinstance(r, Completed))


def find_latest(disk: Disk) -> Completed | None:
    return next(iter(reversed(list_completed(disk))), None)


# ---- every task registers, and reports a channel that broke ---------------------------


def report(attempt: int, event: Event) -> Effects:
    """To the job manager: that the task is there, or that its attempt cannot go on."""
    match event:
        case ConnectionLost(peer="jm") | Request(body=Reconnect()):
            return (Send(JM, Register()),)
        case ConnectionLost():
            return (Send(JM, Fail(attempt)),)
    return ()


def is_current(config: JobConfig, attempt: int, sent_in: int) -> bool:
    """Whether a task of this attempt listens to what was sent in that one."""
    return attempt == sent_in or "attempt_fencing" not in config.on


# ---- a source -------------------------------------------------------------------------


@frozen
class Source(Quiet):
    """A source: it reads records by offset, and can go back to any offset.

    That it can go back is what everything rests on: the queue keeps the records, and the offset is
    part of the picture. It sends a barrier between two records, never holding them up.

    `rows`: what there is to read; `offset`: the next of it; `attempt`: 0 before the first. `cut`:
    its channel broke, so it sends nothing more in this attempt.
    """

    config: JobConfig
    name: str
    rows: tuple[str, ...]
    attempt: int = 0
    offset: int = 0
    cut: bool = False

    @staticmethod
    def recover(
        config: JobConfig, name: str, rows: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Source, Effects]:
        return Source(config, name, rows), (Send(JM, Register()),)

    def step(self, event: Event, disk: Disk) -> tuple[Source, Effects]:
        """Begin at the offset of a Deploy, then send record after record to the operator; at a
        Trigger, send a barrier after the records so far and acknowledge the offset. After its
        channel has broken (`cut`) it sends nothing more until it is deployed again."""
        match event:
            case Request(body=Deploy(attempt, _, state)) if attempt > self.attempt:
                role = replace(self, attempt=attempt, offset=state, cut=False)
                return role, role._next()
            # its message to itself, as long as records are left (`_next`)
            case Request(body=Next(attempt)) if attempt == self.attempt and not self.cut:
                row = Send(SUM, Row(attempt, self.rows[self.offset]))
                role = replace(self, offset=self.offset + 1)
                return role, (row, *role._next())
            case Request(body=Trigger(attempt, number)) if attempt == self.attempt and not self.cut:
                return self, (
                    Send(SUM, Barrier(attempt, number)),
                    Send(JM, Acknowledge(attempt, number, self.offset)),
                )
            case ConnectionLost(peer="sum"):
                return replace(self, cut=True), report(self.attempt, event)
        # to the job manager, after a broken connection: that the task is there or has failed
        return self, report(self.attempt, event)

    def _next(self) -> Effects:
        """There is more to read."""
        return (Send(self.name, Next(self.attempt)),) if self.offset < len(self.rows) else ()


# ---- the operator ---------------------------------------------------------------------

WAITS = Words("{inputs} waits for the other barrier")


@frozen
class Operator:
    """The operator: it counts, and aligns the barriers of its inputs.

        input whose barrier n has come      its records wait here, unread
        all inputs have had barrier n       count noted, barrier n sent on, then what has waited

    So the noted count holds exactly the records before the barriers of all inputs. Without
    alignment (Flink's CheckpointingMode.AT_LEAST_ONCE) records after one barrier are counted and
    passed on before the last barrier comes: they are in the picture, and a restart from it reads
    them again.

    `count`: its state. `arrived`: inputs whose barrier `number` has come; `held`: what has come on
    them since, with the input. `cut`: its channel to the sink broke, so it sends nothing more in
    this attempt: a record could overtake the barrier that is still in the old channel.
    """

    config: JobConfig
    attempt: int = 0
    count: int = 0
    number: int = 0
    arrived: tuple[str, ...] = ()
    held: tuple[tuple[str, Element], ...] = ()
    cut: bool = False

    @staticmethod
    def recover(config: JobConfig, disk: Disk, at_ms: int) -> tuple[Operator, Effects]:
        return Operator(config), (Send(JM, Register()),)

    def step(self, event: Event, disk: Disk) -> tuple[Operator, Effects]:
        match event:
            case Request(caller=caller, body=Deploy(attempt, _, state)) if attempt > self.attempt:
                role = Operator(self.config, attempt, state)
                return role, (Reply(caller, DeployResponse(attempt)),)
            case Request(caller=caller, body=Row() | Barrier() as element):
                if self.cut or not is_current(self.config, self.attempt, element.attempt):
                    return self, ()  # another attempt will read it again
                return self._take(caller.name, element)
            case ConnectionLost(peer="sink"):
                return replace(self, cut=True), report(self.attempt, event)
        return self, report(self.attempt, event)

    def describe_changes(self, old: Operator | None) -> tuple[Text, ...]:
        if old is None or self.arrived == old.arrived or not self.arrived:
            return ()
        return (WAITS(inputs=", ".join(self.arrived)),)

    def _take(self, source: str, element: Element) -> tuple[Operator, Effects]:
        if source in self.arrived and "alignment" in self.config.on:
            return replace(self, held=(*self.held, (source, element))), ()
        if isinstance(element, Row):
            passed = Send(SINK, Row(self.attempt, element.value))
            return replace(self, count=self.count + 1), (passed,)
        arrived = tuple(sorted({*self.arrived, source}))
        role = replace(self, arrived=arrived, number=element.number)
        return role._note() if set(arrived) == set(self.config.sources) else (role, ())

    def _note(self) -> tuple[Operator, Effects]:
        """Every barrier is there: note the count, send the barrier on, read what has waited."""
        effects: Effects = (
            Send(SINK, Barrier(self.attempt, self.number)),
            Send(JM, Acknowledge(self.attempt, self.number, self.count)),
        )
        role = replace(self, arrived=(), held=())
        for source, element in self.held:
            role, more = role._take(source, element)
            effects = (*effects, *more)
        return role, effects


# ---- the sink -------------------------------------------------------------------------

OUTPUT, LATEST = "output", ".latest"
PENDING, COMMITTED, ABORTED, EXPIRED = "pending", "committed", "aborted", "expired"
EXPIRE, EXPIRE_MS = "expire", 900_000


@frozen
class Output(Record):
    """An entry of the sink's log, with the output that it is about."""

    number: int = 0
    values: tuple[str, ...] = ()


@frozen
class Sink(Quiet):
    """The sink: output in transactions, one a checkpoint, each committed in two steps.

        records                     in memory
        barrier n                   `pending` n: on disk, hidden; then acknowledged
        checkpoint n is complete    `committed` n: readers see it
        deployed again from n       pending up to n: committed; pending above n: aborted

    Flink calls these steps beginTransaction, preCommit, commit, recoverAndCommit and
    recoverAndAbort (TwoPhaseCommitSinkFunction). The disk is that of the store to which the sink
    writes: it outlives the sink, and it knows the latest attempt: an older one ends nothing here. A
    store that gives up what stays pending too long (`expires`) aborts it by itself.

    `values`: received since the last barrier. `unwritten`: (checkpoint, its output), where the sink
    does not pre-commit.
    """

    config: JobConfig
    attempt: int = 0
    values: tuple[str, ...] = ()
    unwritten: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @staticmethod
    def recover(config: JobConfig, disk: Disk, at_ms: int) -> tuple[Sink, Effects]:
        clocks = tuple(
            SetTimer(f"{EXPIRE} {last.txn}", EXPIRE_MS)
            for last in read_latest(disk, OUTPUT).values()
            if last.what == PENDING and config.expires
        )
        return Sink(config), (*clocks, Send(JM, Register()))

    def step(self, event: Event, disk: Disk) -> tuple[Sink, Effects]:
        """Collect records; at a barrier, write them as pending and acknowledge; when the checkpoint
        is complete, commit them. A deployment first ends what an earlier attempt has left pending.
        Pending output that a timer finds too old is marked EXPIRED."""
        match event:
            # number: the checkpoint from whose state all begin again
            case Request(caller=caller, body=Deploy(attempt, number, _)):
                if attempt <= disk.table(LATEST).get("attempt", 0):
                    return self, ()  # from before the last restart
                ended = (Put(LATEST, "attempt", attempt), *self._end_pending(disk, number))
                return Sink(self.config, attempt), (*ended, Reply(caller, DeployResponse(attempt)))
            # is_current: of this attempt, or of any without the safeguard `attempt_fencing`
            case Request(body=Row(attempt, value)) if is_current(
                self.config, self.attempt, attempt
            ):
                return replace(self, values=(*self.values, value)), ()
            case Request(body=Barrier(attempt, number)) if attempt == self.attempt:
                return self._pre_commit(disk, number)
            case Request(body=Complete(number)):
                return self, self._commit(disk, number)
            case Fired(timer=timer):  # its name: EXPIRE, a blank, the checkpoint's name
                return self, self._expire(disk, timer.partition(" ")[2])
        # to the job manager, after a broken connection: that the sink is there or has failed
        return self, report(self.attempt, event)

    def _pre_commit(self, disk: Disk, number: int) -> tuple[Sink, Effects]:
        role = replace(self, values=())
        voted = Send(JM, Acknowledge(self.attempt, number, 0))
        if "pre_commit" not in self.config.on:
            return replace(role, unwritten=(*self.unwritten, (number, self.values))), (voted,)
        end = disk.log(OUTPUT).end
        written = _force(PENDING, number, self.values, end)
        if "commit_after_checkpoint" not in self.config.on:
            written = (*written, *_force(COMMITTED, number, self.values, end + 1))
        elif self.config.expires:
            written = (*written, SetTimer(f"{EXPIRE} {name_checkpoint(number)}", EXPIRE_MS))
        return role, (*written, voted)

    def _commit(self, disk: Disk, number: int) -> Effects:
        """What is pending for this checkpoint; committing twice changes nothing."""
        last = read_latest(disk, OUTPUT).get(name_checkpoint(number))
        if isinstance(last, Output) and last.what == PENDING:
            done = _force(COMMITTED, number, last.values, disk.log(OUTPUT).end)
            return (*done, CancelTimer(f"{EXPIRE} {last.txn}"))
        kept = dict(self.unwritten).get(number)
        if last is None and kept is not None:
            return _force(COMMITTED, number, kept, disk.log(OUTPUT).end)
        return ()

    def _end_pending(self, disk: Disk, restored: int) -> Effects:
        """recoverAndCommit up to the restored checkpoint, recoverAndAbort above it."""
        effects: Effects = ()
        end = disk.log(OUTPUT).end
        for last in list_outputs(disk):
            if last.what != PENDING:
                continue
            what = COMMITTED if last.number <= restored else ABORTED
            if what == COMMITTED and "recover_and_commit" not in self.config.on:
                continue
            ended = _force(what, last.number, last.values, end)
            effects = (*effects, *ended, CancelTimer(f"{EXPIRE} {last.txn}"))
            end += 1
        return effects

    def _expire(self, disk: Disk, txn: str) -> Effects:
        last = read_latest(disk, OUTPUT).get(txn)
        if not isinstance(last, Output) or last.what != PENDING:
            return ()
        return _force(EXPIRED, last.number, last.values, disk.log(OUTPUT).end)


def _force(what: str, number: int, values: tuple[str, ...], base: int) -> Effects:
    detail = f"{{{', '.join(values)}}}"
    entry = Output(what, name_checkpoint(number), base, detail, number, values)
    return Append(OUTPUT, entry, notify=False), Flush()


def list_outputs(disk: Disk) -> tuple[Output, ...]:
    """The last entry of each checkpoint's output, by its number."""
    last = read_latest(disk, OUTPUT).values()
    return tuple(sorted((o for o in last if isinstance(o, Output)), key=lambda o: o.number))


def list_committed(disk: Disk) -> Iterator[str]:
    """What a reader of the output gets, in the order in which it was committed."""
    for record in read_records(disk, OUTPUT):
        if isinstance(record, Output) and record.what == COMMITTED:
            yield from record.values
