"""What an administrator asks about the producers of a partition (KIP-664).

Source: DescribeProducersRequest, DescribeProducersResponse (clients, Kafka 4.3).
"""

from __future__ import annotations

from ...kernel import frozen, worded
from ..errors import Error
from ..messages import braces
from .partition import Partition


@worded("DescribeProducers")
class DescribeProducers:
    """To a partition leader: who has written here, and whose transaction is open."""


@frozen
class ActiveProducer:
    """A producer on one partition; -1 stands for none in every field."""

    pid: int
    epoch: int
    last_seq: int
    last_ms: int
    coordinator_epoch: int
    txn_first: int

    def __str__(self) -> str:
        since = f" open since @{self.txn_first}" if self.txn_first >= 0 else ""
        return f"pid={self.pid} epoch={self.epoch} lastSequence={self.last_seq}{since}"


@frozen
class DescribeProducersResponse:
    producers: tuple[ActiveProducer, ...] = ()
    error: Error = Error.NONE

    def __str__(self) -> str:
        return self.error.words if self.error else braces(tuple(map(str, self.producers)))


def describe_producers(part: Partition) -> DescribeProducersResponse:
    """A partition's answer (ProducerStateManager#activeProducers)."""
    return DescribeProducersResponse(
        tuple(
            ActiveProducer(pid, e.epoch, e.last_seq, e.last_ms, e.coordinator_epoch, e.txn_first)
            for pid, e in part.producers.items()
        )
    )
