"""How Kafka's requests and segment files are read."""

from __future__ import annotations

import struct

from mqlab.real.kafka.wire import Raw, write_request
from mqlab.recordings.costs import OTHERS
from tests.oracle.kafka.cost import (
    BATCH,
    COORDINATOR,
    PARTITIONS,
    count_batches,
    make_namer,
    place_of,
)


def test_an_answer_is_named_after_its_request():
    name = make_namer()
    metadata = write_request(3, 12, 5, **Raw.metadata(()))[4:]
    assert name(metadata, True) == "Metadata"
    assert name(struct.pack(">hhi", 27, 1, 6), True) == "WriteTxnMarkers"
    assert [name(struct.pack(">i", n), False) for n in (6, 5, 5)] == [
        "WriteTxnMarkers",
        "Metadata",
        "unasked",
    ]


def test_what_a_reader_fetches_does_not_count():
    name = make_namer()
    assert [name(struct.pack(">hhi", 1, 11, 4), True), name(struct.pack(">i", 4), False)] == [
        "",
        "",
    ]


def test_batches_are_counted_by_their_length():
    one = BATCH.pack(0, 50) + bytes(50)
    assert [count_batches(data) for data in (b"", one, one * 3, one * 2 + one[:-1])] == [0, 1, 3, 2]


def test_a_file_belongs_to_a_log_by_its_folder():
    assert place_of("/x/data/__transaction_state-7/0.log") == COORDINATOR
    assert place_of("/x/data/cost3.orders-0/0.log") == PARTITIONS
    assert place_of("/x/data/__cluster_metadata-0/0.log") == OTHERS
