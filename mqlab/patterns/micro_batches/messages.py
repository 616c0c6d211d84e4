"""What driver, partitions and store say to each other."""

from __future__ import annotations

from ...kernel import frozen


def name_batch(number: int) -> str:
    return f"mb{number}"


class OfBatch:
    """What belongs to the batch of its `number`."""

    __slots__ = ()
    number: int

    @property
    def txn(self) -> str:
        return name_batch(self.number)


@frozen
class Arrive:
    """A partition's own reason to take the next order: a customer."""

    quiet = True

    def __str__(self) -> str:
        return "next order"


@frozen
class LatestOffset:
    """How far does this partition go?"""

    def __str__(self) -> str:
        return "latestOffset"


@frozen
class LatestOffsetResponse:
    offset: int

    def __str__(self) -> str:
        return f"offset {self.offset}"


@frozen
class Fetch(OfBatch):
    """The records of a batch, from `start` to before `end`."""

    number: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"Fetch {self.start}..{self.end} for {self.txn}"


@frozen
class FetchResponse(OfBatch):
    number: int
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return f"records {{{', '.join(self.rows)}}}"


@frozen
class InitProducer(OfBatch):
    """Fence whoever wrote before, end what he has left open, and say how far the store is."""

    number: int

    def __str__(self) -> str:
        return f"InitProducerId for {self.txn}"


@frozen
class InitProducerResponse(OfBatch):
    """`progress`: the last batch whose transaction has committed, -1 for none."""

    number: int
    epoch: int
    progress: int

    def __str__(self) -> str:
        return f"epoch {self.epoch}, progress {self.progress}"


@frozen
class Write(OfBatch):
    """The rows of a batch and its progress record, into the open transaction."""

    number: int
    epoch: int
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return f"write {self.txn} {{{', '.join(self.rows)}}}"


@frozen
class WriteResponse(OfBatch):
    number: int

    def __str__(self) -> str:
        return "written"


@frozen
class Commit(OfBatch):
    number: int
    epoch: int

    def __str__(self) -> str:
        return f"commit {self.txn}"


@frozen
class CommitResponse(OfBatch):
    number: int

    def __str__(self) -> str:
        return "committed"


@frozen
class Fenced(OfBatch):
    """ProducerFencedException: somebody else writes by now."""

    number: int

    def __str__(self) -> str:
        return "fenced"
