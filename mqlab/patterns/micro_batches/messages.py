"""What driver, partitions and store say to each other."""

from __future__ import annotations

from ...kernel import frozen, worded


def name_batch(number: int) -> str:
    return f"mb{number}"


class OfBatch:
    """What belongs to the batch of its `number`."""

    __slots__ = ()
    number: int

    @property
    def txn(self) -> str:
        return name_batch(self.number)


@worded("next order")
class Arrive:
    """A partition's own reason to take the next order: a customer."""

    quiet = True


@worded("latestOffset")
class LatestOffset:
    """How far does this partition go?"""


@worded("offset {offset}")
class LatestOffsetResponse:
    offset: int


@worded("Fetch {start}..{end} for {txn}")
class Fetch(OfBatch):
    """The records of a batch, from `start` to before `end`."""

    number: int
    start: int
    end: int


@frozen
class FetchResponse(OfBatch):
    number: int
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return f"records {{{', '.join(self.rows)}}}"


@worded("InitProducerId for {txn}")
class InitProducer(OfBatch):
    """Fence the writer before this one, end what it has left open, and say how far the store is."""

    number: int


@worded("epoch {epoch}, progress {progress}")
class InitProducerResponse(OfBatch):
    """`progress`: the last batch whose transaction has committed, -1 for none."""

    number: int
    epoch: int
    progress: int


@frozen
class Write(OfBatch):
    """The rows of a batch and its progress record, into the open transaction."""

    number: int
    epoch: int
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return f"write {self.txn} {{{', '.join(self.rows)}}}"


@worded("written")
class WriteResponse(OfBatch):
    number: int


@worded("commit {txn}")
class Commit(OfBatch):
    number: int
    epoch: int


@worded("committed")
class CommitResponse(OfBatch):
    number: int


@worded("fenced")
class Fenced(OfBatch):
    """ProducerFencedException: somebody else writes by now."""

    number: int
