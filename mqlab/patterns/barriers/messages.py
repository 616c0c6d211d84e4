"""What job manager and tasks say to each other, and what flows through the channels."""

from __future__ import annotations

from ...kernel import frozen, worded


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
        return f"Deploy attempt {self.attempt} from {self.txn or 'nothing'}"


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
