"""One reader: every partition of the workload's topics, from its first offset on.

A process of its own (`python -m mqlab.check.kafka.reader`). It reads until its input ends. A reader
that *drains* ends by itself when it is at the end of each partition's log, and notes that end;
the log's end is asked with read_uncommitted, so an open transaction keeps it waiting. A partition
that the cluster does not know any more, for a while, has its end at 0.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from ..history import Assign, Drained, Read, Writer
from .writer import DENIED, TOOL

POLL_S = 0.2
ASK_S = 5.0
GONE_S = 10.0  # how long a partition must be unknown until it counts as gone
DEFAULT_ISOLATION = "read_committed"  # librdkafka's
Place = tuple[str, int]  # a topic and a partition


@dataclass(frozen=True)
class Job:
    """`drains_s`: how long a reader that drains may take; 0: it does not drain."""

    process: str
    history: str
    config: dict[str, Any]
    topics: list[str]
    partitions: int
    drains_s: float = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Unreadable(Exception):
    """The cluster refuses the right to read; the message holds its error."""


def main() -> int:
    """0 when its input has ended, or it has drained; 1 where it could not drain in time, or may not
    read."""
    job = Job(**json.loads(sys.stdin.readline()))
    over = threading.Event()
    threading.Thread(target=_watch_input, args=(over,), daemon=True).start()
    try:
        return 0 if read(job, over.is_set) else 1
    except Unreadable as error:
        print(f"{job.process}: {error}", file=sys.stderr)
        return 1


def _watch_input(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def read(job: Job, is_over: Callable[[], bool]) -> bool:
    """Read all partitions from their first offset and note each message in the history, until
    `is_over()` or, where the job drains, until each partition was read to the end that it had when
    it was first asked, or the job's time is over. Returns False only for a job that drains and has
    not come to all ends. Raises Unreadable."""
    history = Writer(Path(job.history), job.process, TOOL)
    consumer = Consumer(job.config | {"enable.partition.eof": True})
    partitions = [(topic, at) for topic in job.topics for at in range(job.partitions)]
    consumer.assign([TopicPartition(topic, at, OFFSET_BEGINNING) for topic, at in partitions])
    history.write(Assign, isolation=job.config.get("isolation.level", DEFAULT_ISOLATION))
    ends: dict[Place, int] = {}  # stays empty for a job that does not drain
    unknown_since: dict[Place, float] = {}  # kept for `_ask_ends`
    drained: dict[Place, bool] = {}  # a set of those read to their end
    deadline = time.monotonic() + job.drains_s
    positions: dict[Place, int] = {}  # the next offset to read
    while not is_over() and not (job.drains_s and time.monotonic() > deadline):
        message = consumer.poll(POLL_S)
        if job.drains_s and len(ends) < len(partitions):
            ends |= _ask_ends(job, [at for at in partitions if at not in ends], unknown_since)
        if message is not None:
            _note(message, history, positions)  # a message, or the end of a partition
        for place, end in ends.items():
            if place not in drained and positions.get(place, 0) >= end:
                history.write(Drained, topic=place[0], partition=place[1], end=end)
                drained[place] = True
        if len(drained) == len(partitions):
            break
    consumer.close()
    return not job.drains_s or len(drained) == len(partitions)


def _note(message: Any, history: Writer, positions: dict[Place, int]) -> None:
    """A message, or the end of a partition: how far it has read."""
    at = (message.topic(), message.partition())
    error = message.error()
    if error is None:
        value = message.value().decode("utf-8", "backslashreplace")
        history.write(Read, topic=at[0], partition=at[1], offset=message.offset(), value=value)
        positions[at] = message.offset() + 1
    elif error.code() == KafkaError._PARTITION_EOF:
        positions[at] = message.offset()
    elif DENIED in str(error):
        raise Unreadable(str(error))


def _ask_ends(job: Job, places: list[Place], missing: dict[Place, float]) -> dict[Place, int]:
    """Return the end of each log, open transactions included; none for a partition that does not
    answer now, 0 for one that has been unknown for more than GONE_S. `missing`: since when
    (time.monotonic) the cluster has not known a partition; changed here, and kept from call to
    call."""
    consumer = Consumer(job.config | {"isolation.level": "read_uncommitted"})
    ends: dict[Place, int] = {}
    try:
        for place in places:
            topic = consumer.list_topics(place[0], ASK_S).topics[place[0]]
            if place[1] in topic.partitions:
                missing.pop(place, None)
                # [0] is where the log begins, [1] its high watermark
                ends[place] = consumer.get_watermark_offsets(TopicPartition(*place), ASK_S)[1]
            # unknown is the topic, or only this partition of it (then it has no error)
            elif topic.error is None or topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                since = missing.setdefault(place, time.monotonic())
                if time.monotonic() - since > GONE_S:
                    ends[place] = 0
    except Exception:  # a cluster that does not answer now may answer at the next turn
        return ends
    finally:
        consumer.close()
    return ends


if __name__ == "__main__":
    sys.exit(main())
