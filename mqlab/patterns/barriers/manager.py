"""The job manager: it deploys the tasks, triggers checkpoints and says when one is complete.

    all tasks registered → sink and operator deployed → sources deployed → running
    running → a checkpoint triggered → all have acknowledged → `completed` (written) → told
    a connection lost, or a task reports a lost channel → all deployed again, next attempt

Those at the end of the line are deployed first, so that nobody sends to one who is still in the
attempt before. The attempt number and the checkpoint number are on disk: both only ever grow.
"""

from __future__ import annotations

from ...kernel import (
    Append,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Map,
    Put,
    Quiet,
    Request,
    Response,
    Send,
    SetTimer,
    frozen,
    replace,
)
from ..records import Record, read_records
from .config import SINK, SUM, JobConfig
from .messages import (
    Acknowledge,
    Complete,
    Deploy,
    DeployResponse,
    Fail,
    Reconnect,
    Register,
    Trigger,
    name_checkpoint,
)

LOG = "checkpoints"
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
    """`tasks`: those that are registered, with the connection they did it on. `deploying`: whose
    answer is missing before the sources may start. `number`: the latest checkpoint triggered;
    `noted`: what has been acknowledged of it, None when none is under way."""

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
        match event:
            case Request(caller=caller, body=Register()):
                return self._register(disk, caller)
            case Request(body=Fail(attempt)) if attempt == self.attempt and self.running:
                return self._deploy(disk)
            case ConnectionLost(peer=peer):
                role = replace(self._stop(), tasks=self.tasks.remove(peer))
                return role, (CancelTimer(CHECKPOINT), Send(peer, Reconnect()))
            case Response(peer=peer, body=DeployResponse(attempt)) if attempt == self.attempt:
                return self._deployed(disk, peer)
            case Fired() if self.running and self.noted is None:
                return self._trigger()
            case Request(caller=caller, body=Acknowledge(attempt, number, state)):
                if attempt == self.attempt and number == self.number and self.noted is not None:
                    return self._acknowledged(disk, caller.name, state)
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
        """What was under way is void: another attempt will begin."""
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

    def _deployed(self, disk: Disk, peer: str) -> tuple[JobManager, Effects]:
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

    def _acknowledged(self, disk: Disk, peer: str, state: int) -> tuple[JobManager, Effects]:
        assert self.noted is not None
        noted = self.noted.set(peer, state)
        if len(noted) < len(self.config.tasks):
            return replace(self, noted=noted), ()
        states = tuple(noted.items())
        detail = f"{{{', '.join(f'{name}: {n}' for name, n in states if name != SINK)}}}"
        txn, end = name_checkpoint(self.number), disk.log(LOG).end
        entry = Completed(COMPLETED, txn, end, detail, self.number, states)
        written: Effects = (Append(LOG, entry, notify=False), Flush())
        complete: Effects = (Send(SINK, Complete(self.number)),)
        first = (written, complete) if "complete_on_disk" in self.config.on else (complete, written)
        clock = SetTimer(CHECKPOINT, CHECKPOINT_MS)
        return replace(self, noted=None), (*first[0], *first[1], clock)


def list_completed(disk: Disk) -> tuple[Completed, ...]:
    """Every complete checkpoint, the oldest first."""
    return tuple(r for r in read_records(disk, LOG) if isinstance(r, Completed))


def find_latest(disk: Disk) -> Completed | None:
    return next(iter(reversed(list_completed(disk))), None)
