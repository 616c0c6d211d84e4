"""One writer: transactions of several partitions, four of five committed, one aborted. In one of
five it cuts its own connections when messages are in flight, so that some answers are lost.

A process of its own (`python -m mqlab.check.kafka.writer`, its job as JSON on standard input), so
that it can be killed in any moment. It ends in an orderly way when its input ends. Each message is
noted before it is handed to the client and each end before it is asked for; so what the history
says is never less than what the cluster may have heard.
"""

from __future__ import annotations

import json
import os
import random
import socket
import stat
import sys
import threading
import time
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer

from ..history import ABORT, ABORTED, COMMIT, COMMITTED, UNKNOWN, End, Ended, Init, Send, Writer

TOOL = "mqlab check kafka"
CUT = ".cut"  # what the file of a process is called that says when its connections were cut
PATIENCE_S = 10
#: the ending of Kafka's error names that mean a missing right
DENIED = "AUTHORIZATION_FAILED"
#: a writer that was fenced has nothing left to do
FENCED = 3
ABORTS = 5  # one transaction of so many is aborted
FLUSHES = 5  # one of so many is ended at once; the others stay in the log, open, for a while
HOLD_S = 0.1
STOPPED_S = 0.3  # longer than a pause ever takes
CUTS = 5  # in one transaction of so many connections are cut
CUT_S = (0.0045, 0.0075)  # from … to … after the messages, which librdkafka sends after 5 ms
FILES = 1024  # descriptors that are looked at
MORE = 3  # messages after the first of each partition, at most


@dataclass(frozen=True)
class Job:
    """`process`: its name in the history, which `values` begin with; `pause_s`: between two
    transactions; `rest_s`: before the first."""

    process: str
    history: str
    config: dict[str, Any]
    topics: list[str]
    partitions: int
    seed: int
    pause_s: float
    rest_s: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Refused(Exception):
    """The client cannot go on: it was fenced, or the cluster refuses it."""


def main() -> int:
    """Read a job, a line of JSON, from standard input, and write transactions as it says until
    standard input ends. Returns the process's exit code: 0, or FENCED where the producer can do no
    more."""
    job = Job(**json.loads(sys.stdin.readline()))
    over = threading.Event()
    threading.Thread(target=_watch_input, args=(over,), daemon=True).start()
    history = Writer(Path(job.history), job.process, TOOL)
    producer = Producer(job.config)
    try:
        asked = time.time_ns()
        _retry(lambda: producer.init_transactions(PATIENCE_S), over)
        history.write(Init, identity=job.config["transactional.id"], asked=asked)
        over.wait(job.rest_s)
        stopped = False
        for number in count():
            if over.is_set():
                break
            _write_one(job, number, producer, history, over, stopped)
            paused_at = time.monotonic()
            over.wait(job.pause_s)
            # such a long pause: the process was suspended (SIGSTOP) and may be a zombie now, so
            # its next transaction tries to commit: a zombie must be refused
            stopped = time.monotonic() - paused_at > STOPPED_S
    except Refused as error:
        print(f"{job.process}: {error}", file=sys.stderr)
        return FENCED
    return 0


def _watch_input(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def _write_one(
    job: Job, number: int, producer: Producer, history: Writer, over: threading.Event, stopped: bool
) -> None:
    """Write transaction `number` and note it in the history; its partitions, whether it commits,
    and whether its connections are cut are chosen by a generator seeded with the job and `number`.
    `over` is set when standard input has ended: it then skips its pauses. `stopped`: the process
    was suspended before this transaction, so that another may have taken its id over; it then tries
    to commit, with connections as they are. Raises Refused where the producer can do no more."""
    chance = random.Random(f"{job.seed} {job.process} {number}")
    txn = f"{job.process}.{number}"
    partitions = [(topic, at) for topic in job.topics for at in range(job.partitions)]
    places = chance.sample(partitions, chance.randint(2, len(partitions)))
    # several messages of one partition, whose order is checked
    places += chance.choices(places, k=chance.randint(0, MORE))
    how = ABORT if chance.randrange(ABORTS) == 0 and not stopped else COMMIT
    producer.begin_transaction()
    for index, (topic, partition) in enumerate(places):
        value = f"{txn}/{index}"
        history.write(Send, txn=txn, topic=topic, partition=partition, value=value)
        producer.produce(topic, value.encode(), partition=partition)
    if chance.randrange(CUTS) == 0 and not stopped:
        over.wait(chance.uniform(*CUT_S))
        _note_cut(job, cut_connections())
    if chance.randrange(FLUSHES):
        producer.flush(PATIENCE_S)  # an abort would discard what was not sent yet
        over.wait(chance.uniform(0, HOLD_S))
    history.write(End, txn=txn, how=how)
    outcome, error = _end(producer, how, over)
    history.write(Ended, txn=txn, outcome=outcome, error=error)
    # the transaction may still be open, or a right is missing
    if outcome == UNKNOWN or DENIED in error:
        raise Refused(error)


def cut_connections() -> int:
    """Shut this process's TCP connections down, whatever is on its way there; how many. On Windows
    a library's sockets are no files: none."""
    cut = 0
    for number in range(FILES) if os.name == "posix" else ():
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as one:
                if one.family in (socket.AF_INET, socket.AF_INET6):
                    one.shutdown(socket.SHUT_RDWR)
                    cut += 1
        except OSError:
            continue  # closed, or not connected yet
    return cut


def _note_cut(job: Job, cut: int) -> None:
    """Beside the history, which knows nothing of connections."""
    if cut:
        with Path(job.history).with_suffix(CUT).open("a", encoding="utf-8") as file:
            file.write(f"{cut}\n")


def _end(producer: Producer, how: str, over: threading.Event) -> tuple[str, str]:
    """What became of it, and the error that the client reported."""
    try:
        if how == COMMIT:
            _retry(lambda: producer.commit_transaction(PATIENCE_S), over)
            return COMMITTED, ""
        _retry(lambda: producer.abort_transaction(PATIENCE_S), over)
        return ABORTED, ""
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            return UNKNOWN, str(error.args[0])
        return _abort(producer, str(error.args[0]), over)
    except Refused as error:
        return UNKNOWN, str(error)


def _abort(producer: Producer, why: str, over: threading.Event) -> tuple[str, str]:
    """A commit that the client cannot make is aborted by it."""
    try:
        _retry(lambda: producer.abort_transaction(PATIENCE_S), over)
        return ABORTED, why
    except (KafkaException, Refused) as error:
        return UNKNOWN, f"{why}; then {error}"


def _retry(call: Any, over: threading.Event) -> None:
    """The call, again while its error says that asking again may help and there is time left.
    Refused where the client is fenced or the time is over."""
    while True:
        try:
            call()
            return
        except KafkaException as error:
            cause = error.args[0]
            if cause.retriable() and not over.is_set():
                continue
            if cause.txn_requires_abort():
                raise
            raise Refused(str(cause)) from error


if __name__ == "__main__":
    sys.exit(main())
