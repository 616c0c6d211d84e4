"""One copy of a log: it leads, or it follows.

A *leader* lets the role inside decide and appends what it appends. Each follower fetches
from the end of its own copy, and so tells the leader how far it has come. The high
watermark is the smallest log end among the replicas in sync; when it moves, what lies below
is safe, and the role inside hears `Appended`. If fewer than `min_isr` replicas are in sync,
nothing may be appended at all, and nothing becomes safe.

A *follower* appends what it is sent, learns the high watermark one fetch later, and decides
nothing. When it starts to follow a new leader it first cuts off what that leader never had:
the leader finds the place by the leader epochs of both logs.

*Leadership moves* when the controller says so; the news arrives at each broker in its own
time. Until then the old leader still believes it leads. It can do no harm: its followers
fetch elsewhere, so nothing it appends becomes safe, nobody is answered, and what it appended
is cut off later. A new leader is a role that recovers from its log, as after a restart, but
with the high watermark it knew: no higher.

*Left out:* broker and replica being two things, the checkpoint of the high watermark being
written only now and then, fetch sessions.
Sources: Partition#makeLeader, #makeFollower, #maybeIncrementLeaderHW,
ReplicaFetcherThread#processPartitionData, LeaderEpochFileCache (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ...kernel import (
    Appended,
    Caller,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Put,
    Reply,
    Request,
    Response,
    Send,
    Text,
    Words,
    frozen,
)
from ...kernel.role import Role
from ..errors import Error
from ..messages import AddPartitionsToTxnResponse
from . import copying, following, leading
from .messages import (
    FetchReplica,
    FetchReplicaResponse,
    FindCoordinator,
    Found,
    Leadership,
    Load,
    Metadata,
    Register,
    replica_name,
)
from .refusals import BrokerRequest, refuse_request

#: what a broker with copies takes itself, or gives to the role inside
ReplicaRequest = Metadata | FindCoordinator | FetchReplica | Load | BrokerRequest
LEADS = Words("leads, leader epoch {epoch}")
FOLLOWS = Words("follows {leader}, HW={hw}")
NOBODY_LEADS = Words("nobody leads")
ASKS = Words("started; asks who leads")
HW_MOVED = Words("HW={hw}")


@frozen
class TakingOver:
    """What a replica that begins to lead brings along, by log: the high watermark it knows,
    and from where on it has copied since it was started, and so noted who wrote what."""

    epoch: int
    hw: Map[str, int] = Map()
    since: Map[str, int] = Map()


class LeadingRole(Role, Protocol):
    """What a role inside must be able to do besides: hear that another broker leads now."""

    def resign(self) -> Effects: ...


Lead = Callable[[Disk, int, TakingOver], tuple[LeadingRole, Effects]]


@frozen
class ReplicaConfig(Config):
    """`lead` gives the role inside, recovered from the disk; `logs` are its own.
    `loads`: a coordinator, which answers COORDINATOR_LOAD_IN_PROGRESS while it reads its
    log; a partition's leader serves at once. `min_isr`: min.insync.replicas.
    `skip_leaderless_marker`: see KafkaConfig."""

    partition: str = ""
    number: int = 1
    logs: tuple[str, ...] = ()
    lead: Lead | None = None
    first: tuple[Leadership, ...] = ()
    loads: bool = False
    min_isr: int = 1
    skip_leaderless_marker: int = 0
    controller: str = "controller"

    @property
    def me(self) -> str:
        return replica_name(self.partition, self.number)


@frozen
class Replica:
    """`role`: the role inside while it leads, None while it follows or loads. `led`: who
    leads what, as far as it was told. `hw`: by log. `since`: where each log ended when it
    was started; what it has copied since it has noted. `ends`: (follower, log) → how far it
    has fetched. `joining`: who was proposed for the ISR. `parked`: followers that wait for
    something new."""

    config: ReplicaConfig
    role: LeadingRole | None = None
    led: Map[str, Leadership] = Map()
    hw: Map[str, int] = Map()
    since: Map[str, int] = Map()
    ends: Map[tuple[int, str], int] = Map()
    joining: tuple[int, ...] = ()
    parked: Map[int, tuple[Caller, FetchReplica]] = Map()

    @property
    def mine(self) -> Leadership | None:
        known: Leadership | None = self.led.get(self.config.partition)
        return known

    @property
    def leads(self) -> bool:
        return self.mine is not None and self.mine.leader == self.config.number

    # -- events ----------------------------------------------------------------------------

    def step(self, event: Event, disk: Disk) -> tuple[Replica, Effects]:
        new, effects = self._handle_event(event, disk)
        new.check_invariants(self)
        return new, effects

    def check_invariants(self, old: Replica) -> None:
        """AssertionError where a leader is not in sync with itself, or its high watermark goes
        back."""
        now, before = self.mine, old.mine
        if now is None or not self.leads:
            return
        assert self.config.number in now.isr, now
        if self.hw is not old.hw and before is not None and before.epoch == now.epoch:
            assert all(at <= self.hw[log] for log, at in old.hw.items()), (old.hw, self.hw)

    def _handle_event(self, event: Event, disk: Disk) -> tuple[Replica, Effects]:
        match event:
            case Request(body=Leadership() as news, at_ms=at_ms):
                return self._follow_news(news, disk, at_ms)
            case Request(caller=caller, body=body):
                return self._handle_request(event, caller, body, disk)
            case Response(body=FetchReplicaResponse() as answer, peer=peer):
                return following.handle_fetched(self, peer, answer, disk)
            case ConnectionLost(peer=peer) if not self.leads:
                # Back to the leader as soon as there is a connection again.
                followed = self.mine is not None and peer == self.mine.role
                return (self, (following.build_fetch(self, disk),)) if followed else (self, ())
            case Appended(at_ms=at_ms):
                # Said by the machine where this is the only replica that counts.
                return leading.advance_hw(self, disk, at_ms)
            case Fired() if self.role is not None:
                return leading.step_inside(self, event, disk)
            case Response(peer=peer) | ConnectionLost(peer=peer) if self.role is not None:
                partition = peer.partition("@")[0]
                now = self.led.get(partition)
                if now is not None and now.role != peer:
                    return self, ()  # from somebody who leads no more
                return leading.step_inside(self, self._rename_peer(event, partition), disk)
        # A timer of a leader that leads no more.
        return self, ()

    def _handle_request(
        self, event: Request, caller: Caller, body: ReplicaRequest, disk: Disk
    ) -> tuple[Replica, Effects]:
        match body:
            case Metadata(partition=partition) | FindCoordinator(name=partition):
                known: Leadership | None = self.led.get(partition)
                # A broker that has just started knows nobody yet: the client pauses.
                unknown = Leadership(partition, self.config.number, -1, ())
                return self, (Reply(caller, Found(known or unknown)),)
            case FetchReplica():
                return leading.handle_fetch(self, body, caller, disk)
            case Load(epoch=epoch):
                stale = self.mine is None or not self.leads or self.mine.epoch != epoch
                return (self, ()) if stale else self.load(epoch, disk, event.at_ms)
        if self.role is None and caller.name == self.config.me:
            return self, ()  # a note to itself from when it led
        if self.role is None:
            loading = Error.COORDINATOR_LOAD_IN_PROGRESS if self.leads else None
            return self, (Reply(caller, refuse_request(body, loading)),)
        if leading.is_short(self) and copying.is_append(body):
            return self, (Reply(caller, refuse_request(body, Error.NOT_ENOUGH_REPLICAS)),)
        return leading.step_inside(self, event, disk)

    def load(self, epoch: int, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        """The role inside begins, recovered from the log."""
        assert self.config.lead is not None
        role, effects = self.config.lead(disk, at_ms, TakingOver(epoch, self.hw, self.since))
        return leading.do_effects(replace(self, role=role), effects, disk)

    def _rename_peer(self, event: Response | ConnectionLost, partition: str) -> Event:
        """An answer by the name that the role inside knows. While too few are in sync, nobody
        may be verified: the batch that waits for it could not be appended."""
        if leading.is_short(self) and isinstance(event, Response):
            if isinstance(event.body, AddPartitionsToTxnResponse):
                unsafe = AddPartitionsToTxnResponse(Error.COORDINATOR_NOT_AVAILABLE)
                event = replace(event, body=unsafe)
        return replace(event, peer=partition)

    # -- leadership ------------------------------------------------------------------------

    def _follow_news(self, news: Leadership, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        old: Leadership | None = self.led.get(news.partition)
        if old is not None and (news.epoch, news.isr) == (old.epoch, old.isr):
            return self, ()
        if old is not None and news.epoch < old.epoch:
            return self, ()
        new = replace(self, led=self.led.set(news.partition, news))
        if news.partition != self.config.partition:
            moved = old is not None and old.role != news.role
            if new.role is None or not moved:
                return new, ()
            return leading.step_inside(new, ConnectionLost(news.partition), disk)
        new = replace(new, joining=())
        if old is not None and old.epoch == news.epoch:
            return leading.advance_hw(new, disk, at_ms)  # only the ISR has changed
        resigned = () if self.role is None else self.role.resign()
        early = [(c, ask) for c, ask in self.parked.values() if ask.epoch == news.epoch]
        new = replace(new, role=None, ends=Map(), parked=Map())
        if news.leader < 0:
            return new, resigned  # nobody to follow: it waits for the next news
        if not new.leads:
            return new, (*resigned, following.build_fetch(new, disk))
        started = copying.note_epoch(disk, self.config.logs, news.epoch)
        effects = (*resigned, *started)
        if self.config.loads:
            effects = (*effects, Send(self.config.me, Load(news.epoch)))
        else:
            new, more = new.load(news.epoch, disk, at_ms)
            effects = (*effects, *more)
        for caller, ask in early:
            new, more = leading.handle_fetch(new, ask, caller, disk)
            effects = (*effects, *more)
        return new, effects

    def describe_changes(self, old: Replica | None) -> tuple[Text, ...]:
        if old is None:
            return (ASKS(),)
        mine = self.mine
        if mine is None:
            return ()
        if mine != old.mine and (old.mine is None or old.mine.epoch != mine.epoch):
            if mine.leader < 0:
                return (NOBODY_LEADS(),)
            hw = ", ".join(str(self.hw.get(g, 0)) for g in self.config.logs)
            return (LEADS(epoch=mine.epoch) if self.leads else FOLLOWS(leader=mine.role, hw=hw),)
        if self.role is not None and old.role is not None:
            inside: tuple[Text, ...] = self.role.describe_changes(old.role)
            return inside
        if self.hw != old.hw:
            return (HW_MOVED(hw=", ".join(map(str, self.hw.values()))),)
        return ()

    @staticmethod
    def recover(config: ReplicaConfig, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        """A new cluster begins with leaders that are known; after a restart a broker asks."""
        table = disk.table(copying.CHECKPOINT)
        hw = Map((log, table[log]) for log in config.logs if log in table)
        since = Map((log, disk.log(log).end) for log in config.logs)
        if disk.table(".broker"):
            return Replica(config, hw=hw, since=since), (
                Send(config.controller, Register(config.partition, config.number)),
            )
        led = Map((first.partition, first) for first in config.first)
        new = Replica(config, led=led, hw=hw, since=since)
        known: Effects = (Put(".broker", "known", True),)
        if not new.leads:
            return new, (*known, following.build_fetch(new, disk))
        assert config.lead is not None
        role, effects = config.lead(disk, at_ms, TakingOver(0, hw, since))
        new, done = leading.do_effects(replace(new, role=role), effects, disk)
        return new, (*known, *copying.note_epoch(disk, config.logs, 0), *done)
