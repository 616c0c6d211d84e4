"""Answers about topics and what holds them, one class for all versions (see `answers.py`)."""

from __future__ import annotations

from ....kafka.errors import Error
from ....kernel import frozen
from .answers import Unthrottled


@frozen
class PartitionsOfTopic:
    name: str
    error_code: Error = Error.NONE
    error_message: str | None = None


@frozen
class PartitionsCreated(Unthrottled):
    results: tuple[PartitionsOfTopic, ...]


@frozen
class Synonym:
    name: str
    value: str | None
    source: int


@frozen
class Altered:
    error_code: Error
    error_message: str | None
    resource_type: int
    resource_name: str


@frozen
class ConfigsAltered(Unthrottled):
    responses: tuple[Altered, ...]


@frozen
class DeletedTo:
    """`low_watermark`: where the log begins now; -1 with an error."""

    partition_index: int
    error_code: Error = Error.NONE
    low_watermark: int = -1


@frozen
class DeletedInTopic:
    name: str
    partitions: tuple[DeletedTo, ...]


@frozen
class RecordsDeleted(Unthrottled):
    topics: tuple[DeletedInTopic, ...]


@frozen
class EpochEnd:
    """Where the records of a leader's epoch end in a partition."""

    partition: int
    error_code: Error = Error.NONE
    leader_epoch: int = -1
    end_offset: int = -1


@frozen
class EpochEnds:
    topic: str
    partitions: tuple[EpochEnd, ...]


@frozen
class EpochsEnded(Unthrottled):
    topics: tuple[EpochEnds, ...]


@frozen
class RecordError:
    """One record of a batch that was refused for it."""

    batch_index: int
    batch_index_error_message: str | None
