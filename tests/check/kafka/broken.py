"""`mqlab serve kafka` with one deliberate fault, for what no safeguard of the engine brings about.

    python -m tests.check.kafka.broken FAULT serve kafka --port 0 …

What is forgotten or turned depends on the batch alone, so each reader meets the same, as it would
on a damaged disk. The workload names a message TXN/INDEX, and TXN ends with the number of the
transaction.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

from mqlab.cli import main
from mqlab.kafka.errors import Error
from mqlab.kafka.log import Batch
from mqlab.serve.kafka.frames import KafkaFrames
from mqlab.serve.kafka.front import fetch, transactions
from mqlab.serve.kafka.wire.answers import FetchedPartition, OwnProducerId
from mqlab.serve.kafka.wire.api import Api
from mqlab.serve.kafka.wire.validation import Head, Records, assemble_batch
from mqlab.serve.process import READY

EVERY = 4  # a fault meets one of so many
LAST = 1  # the partition of each topic that a tearing server forgets
ANSWERS = count(1)


@contextmanager
def serve_broken(fault: str, *more: str) -> Iterator[str]:
    """The address of such a server. `more`: what else `mqlab serve kafka` is told."""
    words = ["serve", "kafka", "--port", "0", "--until-input-ends", *more]
    command = [sys.executable, "-m", __name__, fault, *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        ready = READY.search(process.stdout.readline())
        assert ready is not None, "the server has said why on standard error"
        yield ready[1]
        process.stdin.close()


# ---- faults ----------------------------------------------------------------------------


def forget_batches(part: FetchedPartition) -> FetchedPartition:
    """Every message of some transactions is gone, though it was acknowledged."""
    return replace(part, batches=tuple(b for b in part.batches if not is_chosen(b)))


def forget_in_one_partition(part: FetchedPartition) -> FetchedPartition:
    return forget_batches(part) if part.partition_index == LAST else part


def turn_batches(part: FetchedPartition) -> FetchedPartition:
    """The messages within a batch stand in the opposite order."""
    return replace(part, batches=tuple(map(turn, part.batches)))


def turn(batch: Batch) -> Batch:
    if not isinstance(batch.records, Records) or batch.count == 1:
        return batch
    head, pairs = Head.of(batch.records.data), batch.records.texts(batch.count)
    data = assemble_batch(
        pairs[::-1], batch.base, batch.at_ms, batch.pid, batch.epoch, batch.first_seq, head.bits
    )
    return replace(batch, records=Records(data), size=len(data))


def repeat_first(part: FetchedPartition) -> FetchedPartition:
    """Some answers end with the batch that they began with. Where the list of aborted transactions
    travels too, the client would take it for used up."""
    if part.aborted_transactions or next(ANSWERS) % EVERY:
        return part
    return replace(part, batches=part.batches + part.batches[:1])


def is_chosen(batch: Batch) -> bool:
    if not isinstance(batch.records, Records):
        return False
    txn = batch.records.texts(1)[0][1].rpartition(b"/")[0]
    return int(txn.rpartition(b".")[2]) % EVERY == 1


def refuse_read(part: FetchedPartition) -> FetchedPartition:
    return FetchedPartition(part.partition_index, Error.TOPIC_AUTHORIZATION_FAILED)


READS: dict[str, Callable[[FetchedPartition], FetchedPartition]] = {
    "lost": forget_batches,
    "torn": forget_in_one_partition,
    "reordered": turn_batches,
    "repeated": repeat_first,
    "may-not-read": refuse_read,
}


def lie_to_readers(fault: Callable[[FetchedPartition], FetchedPartition]) -> None:
    honest = fetch._partition
    fetch._partition = lambda *told: fault(honest(*told))


def break_connections() -> None:
    """Some answers to Produce do not leave: the connection breaks, so that the client sends
    again."""
    honest = KafkaFrames.write

    def write(self, asked, answer):
        if asked.body.api is Api.PRODUCE and next(ANSWERS) % (5 * EVERY) == 0:
            raise ConnectionResetError("deliberately")
        return honest(self, asked, answer)

    KafkaFrames.write = write


def refuse_partitions() -> None:
    """After a while no topic may be written to any more."""
    honest = transactions._partition_errors

    def judge(broker, named):
        refused = next(ANSWERS) > 5 * EVERY
        error = Error.TOPIC_AUTHORIZATION_FAILED
        return dict.fromkeys(named, error) if refused else honest(broker, named)

    transactions._partition_errors = judge


def refuse_ids() -> None:
    honest = KafkaFrames.write

    def write(self, asked, answer):
        if asked.body.api is Api.INIT_PRODUCER_ID:
            answer = OwnProducerId(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return honest(self, asked, answer)

    KafkaFrames.write = write


OTHERS: dict[str, Callable[[], None]] = {
    "answers": break_connections,
    "may-not-write": refuse_partitions,
    "may-not-begin": refuse_ids,
}

if __name__ == "__main__":
    if sys.argv[1] in READS:
        lie_to_readers(READS[sys.argv[1]])
    else:
        OTHERS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
