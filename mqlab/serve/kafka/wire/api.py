"""Which requests there are, which of them are offered, and what one looks like decoded."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ....kernel import worded


class Api(IntEnum):
    """The requests this server answers: number on the wire (ApiKeys), lowest and highest version,
    as a 4.3 broker offers them to clients. (Versions 4 and 5 of AddPartitionsToTxn it offers to
    other brokers: `kafka/unserved.py`.)"""

    PRODUCE = 0, 3, 13
    FETCH = 1, 4, 18
    LIST_OFFSETS = 2, 1, 11
    METADATA = 3, 0, 13
    OFFSET_COMMIT = 8, 2, 10
    OFFSET_FETCH = 9, 1, 10
    FIND_COORDINATOR = 10, 0, 6
    JOIN_GROUP = 11, 0, 9
    HEARTBEAT = 12, 0, 4
    LEAVE_GROUP = 13, 0, 5
    SYNC_GROUP = 14, 0, 5
    DESCRIBE_GROUPS = 15, 0, 6
    LIST_GROUPS = 16, 0, 5
    API_VERSIONS = 18, 0, 4
    CREATE_TOPICS = 19, 2, 7
    DELETE_TOPICS = 20, 1, 6
    DELETE_RECORDS = 21, 0, 2
    INIT_PRODUCER_ID = 22, 0, 5
    OFFSET_FOR_LEADER_EPOCH = 23, 2, 4
    ADD_PARTITIONS_TO_TXN = 24, 0, 3
    ADD_OFFSETS_TO_TXN = 25, 0, 4
    END_TXN = 26, 0, 5
    WRITE_TXN_MARKERS = 27, 1, 2
    TXN_OFFSET_COMMIT = 28, 0, 5
    DESCRIBE_CONFIGS = 32, 1, 4
    CREATE_PARTITIONS = 37, 0, 3
    INCREMENTAL_ALTER_CONFIGS = 44, 0, 1
    DELETE_GROUPS = 42, 0, 2
    OFFSET_DELETE = 47, 0, 0
    DESCRIBE_CLUSTER = 60, 0, 2
    DESCRIBE_PRODUCERS = 61, 0, 0
    DESCRIBE_TRANSACTIONS = 65, 0, 0
    LIST_TRANSACTIONS = 66, 0, 2

    versions: tuple[int, int]

    def __new__(cls, number: int, lowest: int = 0, highest: int = 0) -> Api:
        api = int.__new__(cls, number)
        api._value_, api.versions = number, (lowest, highest)
        return api


#: (lowest, highest) version of each request
OFFERED: dict[Api, tuple[int, int]] = {api: api.versions for api in Api}

#: the oldest Produce that is *announced*: librdkafka takes any other for a broker that it is
#: too new for (KIP-896); asking with it closes the connection all the same.
ANNOUNCED_PRODUCE = (0, 13)


@worded("{api.name} v{version}")
class Ask:
    """A decoded request. `body` has the fields of its version's schema; `client` is the
    client.id; `here` the address it was sent to, which is the one to give back; `host` where
    it came from."""

    api: Api
    version: int
    body: Any
    client: str = ""
    here: tuple[str, int] = ("127.0.0.1", 9092)
    host: str = ""
