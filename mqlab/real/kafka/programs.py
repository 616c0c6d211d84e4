"""Recorded programs that lab 14 runs too: against this project's server, or a real Kafka."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace as Row
from typing import Any

from ..program import Program
from ..stories import play
from .admin import describe, fetch_offsets
from .batches import GZIP, batch, number, record
from .client import PROFILES, READ_COMMITTED, READ_UNCOMMITTED, Lab, word
from .producer import Producer

STORY = Path(__file__).with_name("confluent_story.py")
DAY_MS = 24 * 3_600_000
TIME = re.compile(r"-?\d{12,}")
LENGTHS = {
    "a record of 1 byte more": number(8) + record(b"a")[1:],
    "a record of 1 byte less": number(6) + record(b"a")[1:],
    "a record of -1 bytes": number(-1) + record(b"a")[1:],
}


def describe_answer(lab: Lab, row: Any) -> str:
    """An answer to Produce: its error, what is said of it, which records it is about."""
    if not row.error_code.value:
        stamped = " stamped by the broker" if row.log_append_time is not None else ""
        return f"ok @{row.base_offset}{stamped}"
    error = word(row.error_code)
    if getattr(row, "error_message", None):
        error += f": {row.error_message}"
    which = [str(r.batch_index) for r in getattr(row, "record_errors", ())]
    error += f" [records {', '.join(which)}]" if which else ""
    return TIME.sub("…", error.replace(lab.prefix, ""))


def send(
    lab: Lab,
    partition: str,
    called: str,
    *data: bytes,
    version: int = 11,
    txn_id: str | None = None,
    who: str = "app",
) -> None:
    """Send one Produce request with batches made by hand, encoded in `data`: the first for
    `partition`, each other one for the topic's next partition; and note each answer in the
    recording. `called`: what the notes call the batch; `version`: of the request, noted unless it
    is 11; `txn_id`: None for a request of no transaction."""
    topic, index = lab.split(partition)
    parts = tuple(Row(index=index + i, records=records) for i, records in enumerate(data))
    answer = lab.leader(partition).ask(
        0,  # request 0: Produce
        version,
        transactional_id=None if txn_id is None else lab.wire(txn_id),
        acks=-1,
        timeout=timedelta(seconds=5),
        topic_data=(Row(name=topic, partition_data=parts),),
    )
    unusual = f" v{version}" if version != 11 else ""
    rows = sorted(answer.responses[0].partition_responses, key=lambda row: int(row.index))
    for row in rows:
        question = f"Produce {called}{unusual}"
        lab.note(who, lab.join(topic, row.index), question, describe_answer(lab, row))


def segments(lab: Lab) -> None:
    """A transaction over two segments: its index entry is in the segment of the marker, and
    a fetch from the first still carries it. (A record of 30 days ago ends its segment.)"""
    app = Producer.start(lab, "A", retention_ms="-1")
    if not lab.profile.v2:
        app.add("orders-0")
    app.produce("orders-0", "a", stamps=(-30 * DAY_MS,))
    app.produce("orders-0", "b")
    app.abort()
    lab.log("orders-0", end=3, dump=False)
    lab.fetch("orders-0", 0)
    lab.fetch("orders-0", 1)
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        lab.read("orders-0", isolation)


def claimed_in_compressed(lab: Lab) -> None:
    """Each to a log of its own."""
    bodies = LENGTHS | {"an offset delta -1": record(b"a", delta=-1)}
    lab.topic("orders", len(bodies))
    for index, (called, body) in enumerate(bodies.items()):
        send(lab, f"orders-{index}", f"{called}, gzip", batch(gzip.compress(body), bits=GZIP))


def tell_story(lab: Lab, library: str, version: str, command: Sequence[str]) -> None:
    """What a client library printed, then what it left behind, asked for by raw requests."""
    lab.clients[library] = version
    play(lab, command)
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    lab.log("orders-0", end=1)
    lab.log("orders-1", end=1)
    describe(lab, "A", "CompleteCommit")
    fetch_offsets(lab, "billing", "orders-0")
    fetch_offsets(lab, "accounting", "orders-0", "orders-1")


def tell_confluent(lab: Lab) -> None:
    tell_story(lab, "confluent-kafka", "", [sys.executable, str(STORY)])


PROGRAMS = (
    Program("segments", "UnifiedLogTest#testAbortedTransactionSpanningMultipleSegments", segments,
            tuple(PROFILES)),
    Program("claimed-in-compressed",
        "DefaultRecord#readPartiallyFrom, LogValidator#validateMessagesAndAssignOffsetsCompressed",
        claimed_in_compressed, ("tv2",)),
    Program("client-confluent-kafka", "the story of every client library, told by confluent-kafka",
            tell_confluent, ("tv2-legacy",)),
)  # fmt: skip
