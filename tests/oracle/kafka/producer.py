"""The producer of recorded programs: `mqlab.real.kafka.producer`, and what a consumer group has to
do with a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace as Row
from typing import Any

from mqlab.kafka.messages import AddOffsetsToTxn, Position, TxnOffsetCommit
from mqlab.real.kafka import producer
from mqlab.real.kafka.client import GC, GROUP, TC, TRANSACTION, Lab, word
from mqlab.real.kafka.producer import say_version


class Producer(producer.Producer):
    @classmethod
    def opened(cls, lab: Lab, txn_id: str | None, who: str = "app") -> Producer:
        """One that has asked for its id; its topic is there."""
        made = cls(lab, txn_id, who)
        made.init()
        return made

    def twin(self, who: str) -> Producer:
        """Another instance with the same transactional id."""
        return Producer(self.lab, self.txn_id, who)

    def quietly_init(self) -> None:
        """InitProducerId that is no observation: one of very many."""
        self.lab.coordinator(self.txn_id or "", TRANSACTION).init(self._wire_id)

    def add_offsets(
        self, group: str, epoch: int | None = None, version: int = 3, once: bool = False
    ) -> str:
        """AddOffsetsToTxn to the coordinator; notes the answer and returns the error's name."""
        fields = {
            "transactional_id": self._wire_id,
            "producer_id": self.pid,
            "producer_epoch": self.epoch if epoch is None else epoch,
            "group_id": self.lab.wire(group),
        }
        answer = self.lab.again(
            lambda: self.lab.coordinator(self.txn_id or "", TRANSACTION).ask(25, version, **fields),
            lambda a: word(a.error_code),
            once,
        )
        question = AddOffsetsToTxn(self.txn_id or "", self.pid, self.epoch, group)
        error = word(answer.error_code)
        self.lab.note(
            self.who, TC, f"{question}{self._other(None, epoch)}{say_version(version, 3)}", error
        )
        return error

    def commit(self) -> str:
        return self.end(True)

    def send(self, partition: str, *values: str) -> str:
        """What a client does: a legacy one adds the partition first."""
        if self.txn_id and not self.lab.profile.v2 and partition not in self.added:
            error = self.add(partition)
            if error != "ok":
                return error
        return self.produce(partition, *values)

    def send_and_commit(self, partition: str, *values: str) -> None:
        self.send(partition, *values)
        self.commit()

    def send_and_abort(self, partition: str, *values: str) -> None:
        self.send(partition, *values)
        self.abort()

    def send_offsets(self, group: str, member: Any = None, **positions: int) -> str:
        """sendOffsetsToTransaction of topic `orders`: `orders_0=5`; a legacy client says so to
        the transaction coordinator first."""
        if not self.lab.profile.v2 and f"group {group}" not in self.added:
            error = self.add_offsets(group)
            if error != "ok":
                return error
            self.added.add(f"group {group}")
        return self.commit_offsets(group, member, **positions)

    def commit_offsets(
        self,
        group: str,
        member: Any = None,
        epoch: int | None = None,
        version: int = 0,
        **positions: int,
    ) -> str:
        """TxnOffsetCommit. `member`: (member id, generation) where the group fences."""
        usual = self.lab.profile.txn_offset_commit
        version = version or usual
        member_id, generation = member or ("", -1)
        rows = tuple(Position(name.replace("_", "-"), at) for name, at in positions.items())
        fields = {
            "transactional_id": self._wire_id,
            "group_id": self.lab.wire(group) if group else "",
            "producer_id": self.pid,
            "producer_epoch": self.epoch if epoch is None else epoch,
            "generation_id": generation,
            "member_id": member_id,
            "group_instance_id": None,
            "topics": offset_rows(self.lab, rows),
        }
        answer = self.lab.again(
            lambda: self.lab.coordinator(group, GROUP).ask(28, version, **fields),
            lambda a: word(a.topics[0].partitions[0].error_code),
            once=False,
        )
        error = word(answer.topics[0].partitions[0].error_code)
        question = f"{TxnOffsetCommit(self.txn_id or '', group, self.pid, self.epoch, rows)}"
        question += self._other(None, epoch) + (f" generation={generation}" if member else "")
        self.lab.note(self.who, GC, question + say_version(version, usual), error)
        return error


def offset_rows(lab: Lab, positions: Sequence[Position]) -> tuple[Any, ...]:
    """Positions as both offset commits carry them."""
    topics: dict[str, list[Any]] = {}
    for position in positions:
        topic, index = lab.split(position.partition)
        row = Row(
            partition_index=index,
            committed_offset=position.offset,
            committed_leader_epoch=-1,
            committed_metadata=position.metadata,
        )
        topics.setdefault(topic, []).append(row)
    return tuple(Row(name=topic, partitions=tuple(rows)) for topic, rows in topics.items())
