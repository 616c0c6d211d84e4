"""A member of a consumer group, as the classic protocol has it (JoinGroup, SyncGroup)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace as Row

from mqlab.real.kafka.client import GC, GROUP, Lab, word

SESSION = timedelta(seconds=30)


@dataclass
class Member:
    """`id` and `generation` are the coordinator's; "" and -1 before it has joined."""

    lab: Lab
    group: str
    who: str
    id: str = ""
    generation: int = -1

    def join(self) -> None:
        """JoinGroup and, as the leader of one, SyncGroup. A member that has no id is given
        one first and asks again (KIP-394)."""
        self.lab.need(11, 5, f"JoinGroup {self.group}")
        error = self._joined()
        if error == "MEMBER_ID_REQUIRED":
            error = self._joined()
        self.lab.note(self.who, GC, f"JoinGroup {self.group}", f"{error}{self._generation(error)}")
        if error == "ok":
            self._sync()

    def _generation(self, error: str) -> str:
        return f" generation={self.generation}" if error == "ok" else ""

    def _joined(self) -> str:
        answer = self.lab.patiently(
            lambda: self.lab.coordinator(self.group, GROUP).ask(
                11,
                5,
                group_id=self.lab.wire(self.group),
                session_timeout=SESSION,
                rebalance_timeout=SESSION,
                member_id=self.id,
                group_instance_id=None,
                protocol_type="consumer",
                protocols=(Row(name="range", metadata=b""),),
            )
        )
        self.id = answer.member_id
        self.generation = answer.generation_id
        return word(answer.error_code)

    def _sync(self) -> None:
        answer = self.lab.coordinator(self.group, GROUP).ask(
            14,
            4,
            group_id=self.lab.wire(self.group),
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=None,
            assignments=(Row(member_id=self.id, assignment=b"all"),),
        )
        error = word(answer.error_code)
        self.lab.note(self.who, GC, f"SyncGroup generation={self.generation}", error)

    def leave(self) -> None:
        answer = self.lab.coordinator(self.group, GROUP).ask(
            13,
            3,
            group_id=self.lab.wire(self.group),
            members=(Row(member_id=self.id, group_instance_id=None),),
        )
        self.lab.note(self.who, GC, "LeaveGroup", word(answer.error_code))
