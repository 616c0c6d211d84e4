"""The controller: who leads what, and which replicas are in sync.

It decides by what it hears, late and in no certain order: that a broker's session has run
out (`fence`), that a leader is to be elected (`elect`), that a follower has caught up
(AlterPartition). Every change of the leader has a higher leader epoch than the last, and a broker
that still acts on an older one is refused wherever it matters. A change of the in-sync replicas
alone keeps the epoch.

The controller does not find coordinators for clients: any broker does, from its copy of
this record.

*Left out:* the controller's own quorum; who loses a session when is the scenario's choice.
Sources: ReplicationControlManager, PartitionChangeBuilder (metadata, Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from ...kernel import (
    Call,
    Disk,
    Effects,
    Event,
    Map,
    Put,
    Quiet,
    Request,
    Return,
    Send,
    build_failure,
    build_success,
    frozen,
    phrase,
    worded,
)
from ..errors import Error
from ..messages import braces, say_no_call

# ---- What replicas, the controller and clients say about who leads -------------------


def replica_name(partition: str, number: int) -> str:
    """The role that holds copy `number` (from 1) of a partition, or of the coordinator's."""
    return f"{partition}@{number}"


@frozen
class Leadership:
    """Who leads a partition (-1: no replica), since which leader epoch, and which replicas are in
    sync.

    The controller's record of it (PartitionRecord, PartitionChangeRecord in Kafka's
    metadata log), sent to every broker."""

    quiet: ClassVar[bool] = True
    partition: str
    leader: int
    epoch: int
    isr: tuple[int, ...]

    def __str__(self) -> str:
        isr = braces(tuple(map(str, self.isr)))
        leader = self.leader if self.leader > 0 else phrase("none")
        return f"{self.partition}: leader {leader} epoch={self.epoch} ISR {isr}"

    @property
    def role(self) -> str:
        return replica_name(self.partition, self.leader)


@frozen
class Register:
    """A broker that has started again asks the controller for the present state."""

    partition: str
    number: int

    def __str__(self) -> str:
        return f"Register {replica_name(self.partition, self.number)}"


@frozen
class AlterPartition:
    """A leader has seen a follower catch up, and proposes the ISR with it. `known`: the ISR
    it knew, so that a change it has not heard of is not undone (Kafka: the partition
    epoch)."""

    partition: str
    epoch: int
    known: tuple[int, ...]
    isr: tuple[int, ...]

    def __str__(self) -> str:
        return f"AlterPartition ISR {braces(tuple(map(str, self.isr)))}"


@frozen
class FetchReplica:
    """A follower asks for what follows. `logs`: (log, its end, the leader epoch of its last
    record, the high watermark it knows)."""

    quiet: ClassVar[bool] = True
    number: int
    epoch: int
    logs: tuple[tuple[str, int, int, int], ...]

    def __str__(self) -> str:
        return "Fetch " + " ".join(f"{log}@{end}" for log, end, _, _ in self.logs)


@frozen
class Copied:
    """What one log has for a follower. `cut`: where its own log parts from the leader's (it must
    truncate to there first), -1 where it does not; `epochs`: (leader epoch, first offset) of the
    leader's log. `entries`: those from where the follower's log ends; `hw`: the leader's high
    watermark."""

    log: str
    entries: tuple[Any, ...]
    hw: int
    epochs: tuple[tuple[int, int], ...]
    cut: int = -1


@frozen
class FetchReplicaResponse:
    logs: tuple[Copied, ...] = ()
    error: Error = Error.NONE

    def __str__(self) -> str:
        if self.error:
            return self.error.words
        logs = []
        for copied in self.logs:
            parts = [phrase("cut back to {}", copied.cut)] if copied.cut >= 0 else []
            parts += [str(entry) for entry in copied.entries]
            logs.append("; ".join([*parts, f"HW={copied.hw}"]))
        return " | ".join(logs)


@worded("Metadata {partition}")
class Metadata:
    """From a client to any broker: who leads this partition?"""

    partition: str


@worded("FindCoordinator {key} ({partition})")
class FindCoordinator:
    """From a client to any broker: who coordinates this? `partition`: of the internal
    topic, by the hash of the key."""

    key: str
    partition: str
    name: str


@frozen
class Found:
    """Who leads, as far as the broker that was asked knows."""

    leadership: Leadership

    def __str__(self) -> str:
        return self.leadership.role


@worded("load, leader epoch {epoch}")
class Load:
    """A new leader's note to itself: read the log, then serve."""

    epoch: int


TABLE = "leadership"
NOBODY = -1


@worded("elect {partition} {number}")
class Elect:
    """Make replica `number` the leader; it must be in sync."""

    partition: str
    number: int


@worded("fence {partition} {number}")
class Fence:
    """Replica `number` sends no more heartbeats: it leaves the ISR, and if it was the leader, the
    next one in sync becomes leader. The last one in sync stays in the ISR, for only it has
    everything; then there is no leader until it is back."""

    partition: str
    number: int


@frozen
class Controller(Quiet):
    """`hears`: for each partition the roles that are informed who leads it: its own copies, and
    those that send to it. `fenced`: replicas that are not heard of: until they register again no
    leader can let them in (INELIGIBLE_REPLICA). `led`: who leads each partition."""

    hears: Map[str, tuple[str, ...]]
    led: Map[str, Leadership] = Map()
    fenced: tuple[tuple[str, int], ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Controller, Effects]:
        """Handle one event: an administrator's call, a broker that registers, or a leader's
        proposal to change its ISR. A proposal made with an old epoch or ISR, or with a replica that
        is fenced, is ignored."""
        match event:
            case Call(body=Elect() | Fence() as call):
                return self._handle_call(call)
            case Call(body=other):
                return self, (Return(build_failure(other, say_no_call("the controller"))),)
            case Request(body=Register() as ask):
                return self._handle_registration(ask)
            case Request(body=AlterPartition() as ask):
                leadership: Leadership = self.led[ask.partition]
                # known: the ISR that the leader knew when it proposed
                is_current = (ask.epoch, ask.known) == (leadership.epoch, leadership.isr)
                has_fenced = any((ask.partition, n) in self.fenced for n in ask.isr)
                if not is_current or has_fenced:
                    return self, ()
                return self._decide(replace(leadership, isr=ask.isr))
        # Brokers do not answer what the controller sends.
        return self, ()

    def _handle_call(self, call: Elect | Fence) -> tuple[Controller, Effects]:
        """Make a replica in sync the leader (Elect), or take one out of the ISR, and of the
        leadership, as after a session that has expired (Fence)."""
        now: Leadership = self.led[call.partition]
        if isinstance(call, Elect):
            if call.number not in now.isr:
                return self, (Return(build_failure(call, "ELIGIBLE_LEADERS_NOT_AVAILABLE")),)
            new = replace(now, leader=call.number, epoch=now.epoch + 1)
        else:
            new = _without(now, call.number)
        decided, effects = self._decide(new)
        if isinstance(call, Fence):
            gone = {*self.fenced, (call.partition, call.number)}
            decided = replace(decided, fenced=tuple(sorted(gone)))
        return decided, (*effects, Return(build_success(call)))

    def _handle_registration(self, ask: Register) -> tuple[Controller, Effects]:
        """Register a broker's replica that has restarted, and send it who leads what. Its old
        session has expired first, so it has left the ISR. Only the last replica in sync stays in
        it: it leads in a new epoch, for its memory is gone."""
        still_fenced = tuple(f for f in self.fenced if f != (ask.partition, ask.number))
        self = replace(self, fenced=still_fenced)
        led: Leadership = self.led[ask.partition]
        replica = replica_name(ask.partition, ask.number)
        # hears: by partition, the replicas that are sent each change of its leader or ISR
        of_interest = tuple(k for k in self.led.values() if replica in self.hears[k.partition])
        others = tuple(Send(replica, k) for k in of_interest if k is not led)
        if ask.number in led.isr and len(led.isr) > 1:
            self, news = self._decide(_without(led, ask.number))
            return self, (*others, *news)
        # there is no leader because the last replica in sync was down: this one
        is_awaited = led.leader == NOBODY and ask.number in led.isr
        if led.leader != ask.number and not is_awaited:
            return self, (*others, Send(replica, led))
        decided, effects = self._decide(replace(led, leader=ask.number, epoch=led.epoch + 1))
        return decided, (*others, *effects)

    def _decide(self, new: Leadership) -> tuple[Controller, Effects]:
        led = self.led.set(new.partition, new)
        news = tuple(Send(broker, new) for broker in self.hears[new.partition])
        return replace(self, led=led), (Put(TABLE, new.partition, new, synced=True), *news)


def _without(now: Leadership, number: int) -> Leadership:
    """Without this replica in sync: where it led, the next in sync leads. The last one stays."""
    isr = tuple(n for n in now.isr if n != number)
    moved = now.leader == number
    leader = (isr[0] if isr else NOBODY) if moved else now.leader
    return replace(now, isr=isr or now.isr, leader=leader, epoch=now.epoch + moved)


def start_controller(
    hears: Map[str, tuple[str, ...]], first: tuple[Leadership, ...], disk: Disk, at_ms: int
) -> tuple[Controller, Effects]:
    """With its record; the first time with the leaders a new cluster begins with."""
    kept = disk.table(TABLE)
    led = Map((f.partition, kept.get(f.partition, f)) for f in first)
    new = tuple(Put(TABLE, f.partition, f, synced=True) for f in first if f.partition not in kept)
    return Controller(hears, led), new
