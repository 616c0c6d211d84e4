"""What job manager and tasks say to each other, and what flows through the channels."""

from __future__ import annotations

from ...kernel import frozen


def name_checkpoint(number: int) -> str:
    return f"cp{number}" if number else ""


class OfCheckpoint:
    """What belongs to the checkpoint of its `number`."""

    __slots__ = ()
    number: int

    @property
    def txn(self) -> str:
        return name_checkpoint(self.number)


@frozen
class Register:
    """A task that is running and does nothing yet."""

    def __str__(self) -> str:
        return "Register"


@frozen
class Reconnect:
    """The connection to a task broke; if it lives it is to register."""

    def __str__(self) -> str:
        return "Reconnect"


@frozen
class Fail:
    """A task has lost a channel: what was in it may be lost, or come out of order."""

    attempt: int

    def __str__(self) -> str:
        return f"Fail attempt {self.attempt}"


@frozen
class Deploy(OfCheckpoint):
    """Begin again, from the state that was noted for checkpoint `number` (0: from nothing)."""

    attempt: int
    number: int
    state: int

    def __str__(self) -> str:
        return f"Deploy attempt {self.attempt} from {self.txn or 'nothing'}"


@frozen
class DeployResponse:
    attempt: int

    def __str__(self) -> str:
        return "running"


@frozen
class Trigger(OfCheckpoint):
    attempt: int
    number: int

    def __str__(self) -> str:
        return f"Trigger {self.txn}"


@frozen
class Row:
    """A record on its way through a channel."""

    attempt: int
    value: str

    def __str__(self) -> str:
        return f"record {self.value}"


@frozen
class Barrier(OfCheckpoint):
    """What was sent before it belongs to this checkpoint, what comes after it does not."""

    attempt: int
    number: int

    def __str__(self) -> str:
        return f"barrier {self.txn}"


Element = Row | Barrier


@frozen
class Acknowledge(OfCheckpoint):
    """A task's part of the picture: an offset, a count, or (the sink) that it has pre-committed."""

    attempt: int
    number: int
    state: int

    def __str__(self) -> str:
        return f"Acknowledge {self.txn} state={self.state}"


@frozen
class Complete(OfCheckpoint):
    """notifyCheckpointComplete."""

    number: int

    def __str__(self) -> str:
        return f"complete {self.txn}"


@frozen
class Next:
    """A source's own reason to send its next record."""

    attempt: int

    quiet = True

    def __str__(self) -> str:
        return "next record"
