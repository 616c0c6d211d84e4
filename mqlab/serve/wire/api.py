"""Which requests there are, which of them are offered, and what one looks like decoded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Api(IntEnum):
    """The requests this server answers, by their number on the wire (ApiKeys)."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CONFIGS = 32


Offer = dict[Api, tuple[int, int]]

#: (lowest, highest) version, as a 4.3 broker offers them to clients.
OFFERED: Offer = {
    Api.PRODUCE: (3, 13),
    Api.FETCH: (4, 17),
    Api.LIST_OFFSETS: (1, 10),
    Api.METADATA: (0, 13),
    Api.OFFSET_COMMIT: (2, 9),
    Api.OFFSET_FETCH: (1, 9),
    Api.FIND_COORDINATOR: (0, 6),
    Api.API_VERSIONS: (0, 4),
    Api.CREATE_TOPICS: (2, 7),
    Api.DELETE_TOPICS: (1, 6),
    Api.INIT_PRODUCER_ID: (0, 5),
    Api.ADD_PARTITIONS_TO_TXN: (0, 3),
    Api.ADD_OFFSETS_TO_TXN: (0, 4),
    Api.END_TXN: (0, 5),
    Api.TXN_OFFSET_COMMIT: (0, 5),
    Api.DESCRIBE_CONFIGS: (1, 4),
}

#: the newest versions a cluster with transaction.version 0 can serve: what lies above makes
#: the server add partitions by itself and bump epochs, which is version 2.
WITHOUT_V2: Offer = {Api.PRODUCE: (3, 11), Api.END_TXN: (0, 4), Api.TXN_OFFSET_COMMIT: (0, 4)}


def offered(transaction_version: int) -> Offer:
    return OFFERED if transaction_version >= 2 else {**OFFERED, **WITHOUT_V2}


@dataclass(frozen=True, slots=True)
class Ask:
    """A decoded request. `body` has the fields of its version's schema; `client` is the
    client.id; `here` the address it was sent to, which is the one to give back."""

    api: Api
    version: int
    body: Any
    client: str = ""
    here: tuple[str, int] = ("127.0.0.1", 9092)

    def __str__(self) -> str:
        return f"{type(self.body).__name__.removesuffix('Request')} v{self.version}"
