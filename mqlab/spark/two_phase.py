"""A two-phase sink, as Flink's Kafka sink is one: pre-commit → checkpoint → commit.

    batch N:    begin, write the rows, wait until they are stored          pre-commit
                note which transaction that is: prepared/N                 part of the checkpoint
    Spark:      writes commits/N                                           the checkpoint
    then:       commit the transaction, remove the note                    commit

The transaction outlives the process that began it. After a kill `prepared/N` names the one that
is open, and `commits/N` says what is to become of it: there, it is committed (Spark never hands
batch N over again); not there, it is aborted (Spark does). That rule is `resume`.

A client library cannot go on with a transaction of another process: its first call,
initTransactions, aborts it. Flink therefore sets producer id and epoch inside Kafka's Java client
by reflection (flink-connector-kafka, FlinkKafkaInternalProducer#resumeTransaction). Here the same
request, EndTxn with that producer id and epoch, is sent by hand. KIP-939 will make it a call.

A checkpoint that is further behind than one batch does not belong to this topic: Spark hands over
batches that were committed long ago. The rule answers "stop", and a person must look.

Its price: from the pre-commit to the next batch the transaction is open and holds up every reader
of committed data; and if nobody comes back before `transaction.timeout.ms`, the coordinator
aborts what the checkpoint counts as done: the batch is lost.

Left out: one transaction for each writing task. Rows go through the driver, as in sinks.py.
"""

from __future__ import annotations

import io
import json
import os
import socket
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from confluent_kafka import Producer
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from . import checkpoint
from .errors import IncomeError
from .sinks import Target, Transactions
from .topics import TIMEOUT_S

FIND_COORDINATOR, END_TXN, DESCRIBE_TRANSACTIONS = 10, 26, 65


def resume(prepared: int, done: int) -> str:
    """What to do with the open transaction of batch `prepared`, where `done` is the last batch in
    the checkpoint (-1: none): "commit", "abort" or "stop"."""
    if prepared <= done:
        return "commit"
    return "abort" if prepared == done + 1 else "stop"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The transaction that holds a batch."""

    batch: int
    pid: int
    epoch: int


class TwoPhase(Transactions):
    """Its rule is `resume`."""

    # As long as a broker allows (transaction.max.timeout.ms): it must outlive the restart.
    timeout_ms = 900_000

    @property
    def note(self) -> Path:
        return self.target.checkpoint / "prepared"

    def open(self) -> Producer:
        """End what an earlier process has left open; whatever is open after that is aborted."""
        self._resume()
        return super().open()

    def begin(self, batch: int) -> bool:
        """Spark hands over a batch when `commits` has the one before it."""
        self._commit()
        return super().begin(batch)

    def commit(self, batch: int) -> None:
        """Only the pre-commit: the rows are stored, and the note says where."""
        _, pid, epoch = describe(self.target.address, self.target.group)
        draft = self.note.with_suffix(".new")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(Prepared(batch, pid, epoch)), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.note)

    def finish(self) -> None:
        """The query has ended, so `commits` has its last batch."""
        if self.client is None:
            self.client = self.open()
        self._commit()

    def _commit(self) -> None:
        if self.client is not None and self.note.exists():
            self.client.commit_transaction(TIMEOUT_S)
            self.note.unlink()

    def _resume(self) -> None:
        if not self.note.exists():
            return
        open_one = Prepared(**json.loads(self.note.read_text(encoding="utf-8")))
        state, pid, epoch = describe(self.target.address, self.target.group)
        if state == "Ongoing" and (pid, epoch) == (open_one.pid, open_one.epoch):
            done = max(checkpoint.read_commits(self.target.checkpoint), default=-1)
            answer = (self.rule or resume)(open_one.batch, done)
            if answer not in ("commit", "abort"):
                raise IncomeError(disagreement(self.target, open_one.batch, done))
            end(self.target.address, self.target.group, pid, epoch, answer == "commit")
        self.note.unlink()


def disagreement(target: Target, prepared: int, done: int) -> str:
    return (
        f"sink and checkpoint disagree: topic {target.topic} has batch {prepared} in an open "
        f"transaction, the checkpoint {target.checkpoint} ends with batch {done} (-1 is none). "
        "Give back the checkpoint that belongs to this topic, or start a new one with fresh topics"
    )


# --- two requests that the client library does not have -----------------------------------------


def describe(address: str, txn_id: str) -> tuple[str, int, int]:
    """State (`Ongoing`, `CompleteCommit`, …), producer id and epoch of a transactional id.
    Raises IncomeError."""
    frame, at = _ask(coordinator_of(address, txn_id), DESCRIBE_TRANSACTIONS, 0,
                     transactional_ids=(txn_id,))  # fmt: skip
    # By hand: kio takes the start of a transaction that has not begun, -1, for a time.
    (error,) = struct.unpack_from(">h", frame, at + 5)  # throttle time, one entry
    at += 7 + _length(frame, at + 7)  # the id
    (size, at) = (_length(frame, at), at + 1)
    state = frame[at : at + size - 1].decode()
    _timeout, _since, pid, epoch = struct.unpack_from(">iqqh", frame, at + size - 1)
    _check(error, f"describe {txn_id}")
    return state, pid, epoch


def _length(frame: bytes, at: int) -> int:
    """One more than the length of a text of less than 127 bytes (a transactional id, a state)."""
    return frame[at]


def end(address: str, txn_id: str, pid: int, epoch: int, commit: bool) -> None:
    """EndTxn for a transaction that another process has begun. Raises IncomeError."""
    answer = _read(
        END_TXN, 3,
        *_ask(coordinator_of(address, txn_id), END_TXN, 3, transactional_id=txn_id,
              producer_id=pid, producer_epoch=epoch, committed=commit),
    )  # fmt: skip
    _check(answer.error_code, f"end the transaction of {txn_id}")


def coordinator_of(address: str, txn_id: str) -> str:
    """Where the transaction coordinator of this id is. Raises IncomeError."""
    frame = _ask(address, FIND_COORDINATOR, 4, key_type=1, coordinator_keys=(txn_id,))
    (coordinator,) = _read(FIND_COORDINATOR, 4, *frame).coordinators
    _check(coordinator.error_code, f"find the coordinator of {txn_id}")
    return f"{coordinator.host}:{coordinator.port}"


def _check(error: int, what: str) -> None:
    if error:
        raise IncomeError(f"the broker would not {what} (error {error!r}): start the job again")


def _ask(address: str, api: int, version: int, **fields: Any) -> tuple[bytes, int]:
    """The answer to one request, on a connection of its own, and where its body begins. Raises
    IncomeError where nobody answers."""
    host, _, port = address.rpartition(":")
    request, response = load_request_schema(api, version), load_response_schema(api, version)
    out = io.BytesIO()
    header = SimpleNamespace(
        request_api_key=api, request_api_version=version, correlation_id=1, client_id="income job"
    )
    entity_writer(request.__header_schema__)(out, header)  # type: ignore[arg-type]
    entity_writer(request)(out, SimpleNamespace(**fields))  # type: ignore[arg-type]
    body = out.getvalue()
    try:
        with socket.create_connection((host, int(port)), TIMEOUT_S) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            with connection.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                frame = stream.read(size)
    except (OSError, struct.error) as error:
        raise IncomeError(f"no broker answers at {address} ({error}); start it again") from error
    return frame, entity_reader(response.__header_schema__)(frame, 0)[1]


def _read(api: int, version: int, frame: bytes, at: int) -> Any:
    return entity_reader(load_response_schema(api, version))(frame, at)[0]
