"""A producer made of raw requests: it sends what it is given, also what no client would send.

It remembers what a client remembers (producer id, epoch, the next sequence number of each
partition, which partitions it has added) so that a program that behaves needs no numbers;
any of them can be given, to see what the broker says to a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace as Row
from typing import Any, Self

from ...kafka.log import Batch, next_sequence
from ...kafka.messages import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    Produce,
)
from .batches import write_batch
from .client import TC, TRANSACTION, Lab, word


@dataclass
class Producer:
    """`txn_id` None: a producer that is idempotent and no more. `lab`: the execution it belongs to;
    `who`: its name there; `seqs`: the next sequence number of each partition; `added`: partitions
    in the transaction."""

    lab: Lab
    txn_id: str | None
    who: str = "app"
    pid: int = -1
    epoch: int = -1
    seqs: dict[str, int] = field(default_factory=dict)
    added: set[str] = field(default_factory=set)

    @classmethod
    def start(
        cls, lab: Lab, txn_id: str | None, partitions: int = 1, who: str = "app", **topic: Any
    ) -> Self:
        """A topic `orders`, and a producer that has asked for its id. `topic`: as for
        `Lab.topic`."""
        lab.topic("orders", partitions, **topic)
        producer = cls(lab, txn_id, who)
        producer.init()
        return producer

    @property
    def _wire_id(self) -> str | None:
        return self.lab.wire(self.txn_id) if self.txn_id else self.txn_id

    # -- the transaction coordinator -------------------------------------------------------

    def init(
        self,
        pid: int = -1,
        epoch: int = -1,
        timeout_ms: int = 60_000,
        version: int = 4,
        once: bool = False,
    ) -> str:
        """Send InitProducerId, note the answer in the recording, and on success become the producer
        that it names, with no partition added and all sequence numbers 0; returns "ok" or the
        error. `pid`, `epoch`: those that the request names (-1: none); `version`: of the request;
        `once`: a retriable error is an answer, and not a reason to ask again."""
        key = self.txn_id or ""

        def ask() -> Any:
            # Without a transactional id any broker gives a producer id.
            raw = self.lab.coordinator(key, TRANSACTION) if key else self.lab.raw()
            return raw.init(self._wire_id, version, pid, epoch, timeout_ms)

        answer = self.lab.again(ask, lambda a: word(a.error_code), once)
        error = word(answer.error_code)
        identity = f"ok pid={answer.producer_id} epoch={answer.producer_epoch}"
        question = str(InitProducerId(self.txn_id, timeout_ms, pid, epoch))
        question += f" timeout_ms={timeout_ms}" if timeout_ms != 60_000 else ""
        self.lab.note(
            self.who, TC, question + say_version(version, 4), identity if error == "ok" else error
        )
        if error == "ok":
            self.pid, self.epoch = answer.producer_id, answer.producer_epoch
            self.seqs.clear()
            self.added.clear()
        return error

    def add(
        self,
        *partitions: str,
        pid: int | None = None,
        epoch: int | None = None,
        version: int = 3,
        once: bool = False,
    ) -> str:
        """Send AddPartitionsToTxn as clients do (up to version 3), and note the answer in the
        recording; returns "ok", the error of all partitions, or, where they differ, each with its
        own ("" where none was named). `pid`, `epoch`: in place of the producer's own; `once`: after
        a retriable error it is not sent again."""
        fields = {
            "v3_and_below_transactional_id": self._wire_id,
            "v3_and_below_producer_id": self.pid if pid is None else pid,
            "v3_and_below_producer_epoch": self.epoch if epoch is None else epoch,
            "v3_and_below_topics": tuple(
                Row(name=t, partitions=tuple(rows))
                for t, rows in self.lab.group_by_topic(partitions).items()
            ),
        }

        def errors(answer: Any) -> dict[str, str]:
            return {
                self.lab.join(topic.name, row.partition_index): word(row.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for row in topic.results_by_partition
            }

        answer = self.lab.again(  # 24: AddPartitionsToTxn
            lambda: self.lab.coordinator(self.txn_id or "", TRANSACTION).ask(24, version, **fields),
            # only the first partition's error decides whether it is sent again
            lambda a: next(iter(errors(a).values()), "ok"),
            once,
        )
        by_partition = sorted(errors(answer).items())
        kinds = {error for _, error in by_partition}
        error = kinds.pop() if len(kinds) == 1 else ", ".join(f"{p} {e}" for p, e in by_partition)
        question = AddPartitionsToTxn(self.txn_id or "", self.pid, self.epoch, partitions)
        self.lab.note(
            self.who,
            TC,
            f"{question}{self._other(pid, epoch)}{say_version(version, 3)}",
            error or "ok",
        )
        if error == "ok":
            self.added |= set(partitions)
        return error

    def end(
        self,
        commit: bool,
        pid: int | None = None,
        epoch: int | None = None,
        version: int = 0,
        once: bool = False,
    ) -> str:
        """Send EndTxn (`commit`, else abort), and note the answer in the recording; returns "ok" or
        the error. From version 5 on an "ok" names the producer id and epoch to use from now on.
        `version` 0: the profile's; `pid`, `epoch`: in place of the producer's own; `once`: after a
        retriable error it is not sent again."""
        version = version or self.lab.profile.end_txn
        sent_epoch = self.epoch if epoch is None else epoch
        fields = {
            "transactional_id": self._wire_id,
            "producer_id": self.pid if pid is None else pid,
            "producer_epoch": sent_epoch,
            "committed": commit,
        }
        answer = self.lab.again(
            lambda: self.lab.coordinator(self.txn_id or "", TRANSACTION).ask(26, version, **fields),
            lambda a: word(a.error_code),
            once,
        )
        outcome = error = word(answer.error_code)
        if error == "ok":
            self.added.clear()
            if version >= 5:
                outcome += f" epoch={answer.producer_epoch}"
                outcome += f" pid={answer.producer_id}" if answer.producer_id != self.pid else ""
                self.pid, self.epoch = answer.producer_id, answer.producer_epoch
                self.seqs.clear()
        question = str(EndTxn(self.txn_id or "", self.pid, sent_epoch, commit))
        question += self._other(pid, None)
        self.lab.note(
            self.who, TC, question + say_version(version, self.lab.profile.end_txn), outcome
        )
        return error

    def abort(self) -> str:
        return self.end(False)

    # -- the partition leaders -------------------------------------------------------------

    def produce(
        self,
        partition: str,
        *values: str,
        pid: int | None = None,
        epoch: int | None = None,
        seq: int | None = None,
        version: int = 0,
        transactional: bool | None = None,
        once: bool = False,
        stamps: Sequence[int] = (),
        acks: int = -1,
    ) -> str:
        """Send one Produce request with `values` as one batch, and note the answer in the
        recording; returns "ok" or the error. What is None is the producer's own: a program may send
        a wrong id, epoch or sequence number (`seq`: the batch's first), or a batch that is not of
        its transaction (`transactional` False). `version` 0: the profile's; `once`: after a
        retriable error it is not sent again; `stamps`: as in `write_batch`; `acks` -1: of all
        replicas."""
        usual = self.lab.profile.produce
        version = version or usual
        first = self.seqs.get(partition, 0) if seq is None else seq
        within = self.txn_id is not None if transactional is None else transactional
        batch = Batch(
            records=values,
            count=len(values),
            pid=self.pid if pid is None else pid,
            epoch=self.epoch if epoch is None else epoch,
            # -1: no idempotent producer
            first_seq=first if self.pid >= 0 or seq is not None else -1,
            transactional=within,
        )
        row = self.lab.again(
            lambda: self._produced(partition, batch, version, stamps, acks),
            lambda r: word(r.error_code),
            once,
        )
        error = word(row.error_code)
        if error == "ok" and seq is None and epoch is None:  # what was sent was its own
            self.seqs[partition] = next_sequence(first, len(values))
        outcome = f"ok @{row.base_offset}" if error == "ok" else error
        # (None: the words of the batch say its epoch already)
        question = str(Produce(batch, self.txn_id)) + self._other(pid, None)
        odd = "" if within == (self.txn_id is not None) else " not transactional"
        odd += f" acks={acks}" if acks != -1 else ""
        self.lab.note(self.who, partition, question + odd + say_version(version, usual), outcome)
        return error

    def _produced(
        self, partition: str, batch: Batch, version: int, stamps: Sequence[int], acks: int
    ) -> Any:
        topic, index = self.lab.split(partition)
        part = Row(index=index, records=write_batch(batch, stamps))
        answer = self.lab.leader(partition).ask(
            0,
            version,
            transactional_id=self._wire_id if batch.transactional else None,
            acks=acks,
            timeout=timedelta(seconds=5),
            topic_data=(Row(name=topic, partition_data=(part,)),),
        )
        return answer.responses[0].partition_responses[0]

    # -- the group coordinator -------------------------------------------------------------

    def _other(self, pid: int | None, epoch: int | None) -> str:
        """Said of a question that names another producer id or epoch than its own."""
        wrong = " another pid" if pid is not None and pid != self.pid else ""
        return wrong + (f" epoch={epoch}" if epoch is not None else "")


def say_version(version: int, usual: int) -> str:
    """Said of a question in a version that its client does not use otherwise."""
    return f" v{version}" if version != usual else ""
