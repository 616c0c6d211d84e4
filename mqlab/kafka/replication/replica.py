"""One copy of a log: it leads, or it follows.

A *leader* lets the role inside decide and appends what it appends. Each follower fetches
from the end of its own copy, and so tells the leader how far it has come. The high
watermark is the smallest log end among the replicas in sync; when it moves, what lies below
is safe, and the role inside hears `Appended`. If fewer than `min_isr` replicas are in sync,
nothing may be appended at all.

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
from dataclasses import dataclass, replace
from typing import Any

from ...kernel import (
    Append,
    Appended,
    AppendFailed,
    Caller,
    Config,
    ConnectionLost,
    Disk,
    Effect,
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
)
from ..errors import Error
from ..messages import WriteTxnMarkers, WriteTxnMarkersResponse
from . import copying
from .messages import (
    AlterPartition,
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
from .refusals import refusal

LEADS = Words("leads, leader epoch {epoch}", "成为 leader，leader epoch {epoch}")
FOLLOWS = Words("follows {leader}, HW={hw}", "跟随 {leader}，HW={hw}")
NOBODY_LEADS = Words("nobody leads", "没有 leader")
ASKS = Words("started; asks who leads", "已启动，询问谁是 leader")
HW_MOVED = Words("HW={hw}", "HW={hw}")


@dataclass(frozen=True, slots=True)
class TakingOver:
    """What a replica that begins to lead brings along, by log: the high watermark it knows,
    and from where on it has copied since it was started, and so noted who wrote what."""

    epoch: int
    hw: Map[str, int] = Map()
    since: Map[str, int] = Map()


Lead = Callable[[Disk, int, TakingOver], tuple[Any, Effects]]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Replica:
    """`role`: the role inside while it leads, None while it follows or loads. `led`: who
    leads what, as far as it was told. `hw`: by log. `since`: where each log ended when it
    was started; what it has copied since it has noted. `ends`: (follower, log) → how far it
    has fetched. `parked`: followers that wait for something new."""

    config: ReplicaConfig
    role: Any = None
    led: Map[str, Leadership] = Map()
    hw: Map[str, int] = Map()
    since: Map[str, int] = Map()
    ends: Map[tuple[int, str], int] = Map()
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
        match event:
            case Request(body=Leadership() as news, at_ms=at_ms):
                return self._told(news, disk, at_ms)
            case Request(caller=caller, body=body):
                return self._asked(event, caller, body, disk)
            case Response(body=FetchReplicaResponse() as said, peer=peer):
                return self._copied(peer, said, disk)
            case ConnectionLost(peer=peer) if not self.leads:
                # Back to the leader as soon as there is a connection again.
                followed = self.mine is not None and peer == self.mine.role
                return (self, (self._fetch(disk),)) if followed else (self, ())
            case Appended(log=log):
                return self._safe(log, disk, event.at_ms)
            case Fired() if self.role is not None:
                return self._inside(event, disk)
            case Response(peer=peer) | ConnectionLost(peer=peer) if self.role is not None:
                partition = peer.partition("@")[0]
                now = self.led.get(partition)
                if now is not None and now.role != peer:
                    return self, ()  # from somebody who leads no more
                return self._inside(replace(event, peer=partition), disk)
        # A timer of a leader that leads no more.
        return self, ()

    def _asked(
        self, event: Request, caller: Caller, body: object, disk: Disk
    ) -> tuple[Replica, Effects]:
        match body:
            case Metadata(partition=partition) | FindCoordinator(name=partition):
                known: Leadership | None = self.led.get(partition)
                # A broker that has just started knows nobody yet: the client pauses.
                unknown = Leadership(partition, self.config.number, -1, ())
                return self, (Reply(caller, Found(known or unknown)),)
            case FetchReplica():
                return self._fetched(body, caller, disk)
            case Load(epoch=epoch):
                stale = self.mine is None or not self.leads or self.mine.epoch != epoch
                return (self, ()) if stale else self._load(epoch, disk, event.at_ms)
        if self.role is None and caller.name == self.config.me:
            return self, ()  # a note to itself from when it led
        if self.role is None:
            loading = Error.COORDINATOR_LOAD_IN_PROGRESS if self.leads else None
            return self, (Reply(caller, refusal(body, loading)),)
        if self.short and copying.appends(body):
            return self, (Reply(caller, refusal(body, Error.NOT_ENOUGH_REPLICAS)),)
        return self._inside(event, disk)

    # -- leading ---------------------------------------------------------------------------

    @property
    def short(self) -> bool:
        """Too few replicas are in sync for anything to be appended."""
        return self.mine is not None and len(self.mine.isr) < self.config.min_isr

    def _load(self, epoch: int, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        assert self.config.lead is not None
        role, effects = self.config.lead(disk, at_ms, TakingOver(epoch, self.hw, self.since))
        return replace(self, role=role)._done(effects, disk)

    def _inside(self, event: Event, disk: Disk) -> tuple[Replica, Effects]:
        role, effects = self.role.step(event, disk)
        return replace(self, role=role)._done(effects, disk)

    def _done(self, effects: Effects, disk: Disk) -> tuple[Replica, Effects]:
        """The role's effects, as a broker with replicas does them."""
        assert self.mine is not None
        alone = self.mine.isr == (self.config.number,)
        out: list[Effect] = []
        ends = {log: disk.log(log).end for log in self.config.logs}
        fresh: dict[str, list[Any]] = {}
        unsafe: list[AppendFailed] = []
        skipped: list[Event] = []
        for effect in effects:
            match effect:
                case Append(log=log, entry=entry) if log in ends and self.short:
                    error = Error.NOT_ENOUGH_REPLICAS.name
                    unsafe.append(AppendFailed(log, entry.last + 1, error))
                case Append(log=log, entry=entry) if log in ends:
                    out.append(replace(effect, notify=alone))
                    fresh.setdefault(log, []).append(entry)
                case Send(to=to) if self._leaderless(to):
                    skipped += self._skipped(to, effect.body)
                case Send(to=to):
                    out.append(replace(effect, to=self._address(to)))
                case _:
                    out.append(effect)
        new, done = self, tuple(out)
        for event in (*unsafe, *skipped):
            new, more = new._inside(event, disk)
            done = (*done, *more)
        return new._woken(copying.Ahead(disk, fresh), done) if fresh else (new, done)

    def _leaderless(self, partition: str) -> bool:
        known: Leadership | None = self.led.get(partition)
        return known is not None and known.leader < 0

    def _skipped(self, partition: str, body: object) -> tuple[Event, ...]:
        """Nothing can be sent to a partition that nobody leads just now. It is asked again
        when somebody does, for the news counts as a new connection. With the switch of
        4.3.1 on a marker is taken for delivered instead, as to a deleted partition
        (TransactionMarkerChannelManager, "likely deleted already and hence can be skipped"):
        the transaction completes, and hangs where its marker is missing."""
        if not self.config.skip_leaderless_marker or not isinstance(body, WriteTxnMarkers):
            return ()
        return (Response(partition, 0, WriteTxnMarkersResponse(body.txn_id, body.pid)),)

    def _address(self, partition: str) -> str:
        known: Leadership | None = self.led.get(partition)
        return known.role if known is not None else partition

    def _woken(self, disk: copying.Ahead | Disk, effects: Effects) -> tuple[Replica, Effects]:
        """Every parked follower that there is something new for is answered."""
        new, out = self, list(effects)
        for number, (caller, ask) in self.parked.items():
            said = copying.answer(self, ask, disk)
            if said is not None:
                new = replace(new, parked=new.parked.remove(number))
                out.append(Reply(caller, said))
        return new, tuple(out)

    def _fetched(self, ask: FetchReplica, caller: Caller, disk: Disk) -> tuple[Replica, Effects]:
        """A follower asks; where its copy ends says what it has."""
        mine = self.mine
        if mine is None or ask.epoch > mine.epoch:
            # The follower has heard of this leader before the leader has: it waits.
            return replace(self, parked=self.parked.set(ask.number, (caller, ask))), ()
        if not self.leads or ask.epoch != mine.epoch:
            return self, (Reply(caller, FetchReplicaResponse(error=Error.FENCED_LEADER_EPOCH)),)
        new = replace(self, parked=self.parked.set(ask.number, (caller, ask)))
        for log, end, last_epoch, _ in ask.logs:
            if copying.parts_at(disk, log, end, last_epoch) < 0:
                new = replace(new, ends=new.ends.set((ask.number, log), end))
        new, effects = new._advance(disk)
        new, told = new._woken(disk, ())
        return new, (*effects, *told, *new._caught_up(ask.number, disk))

    def _caught_up(self, number: int, disk: Disk) -> Effects:
        """A follower outside the ISR that has everything below the HW may come back in."""
        mine = self.mine
        assert mine is not None
        far = all(self.ends.get((number, g), -1) >= disk.log(g).end for g in self.config.logs)
        if number in mine.isr or not far:
            return ()
        isr = tuple(sorted((*mine.isr, number)))
        ask = AlterPartition(mine.partition, mine.epoch, isr)
        return (Send(self.config.controller, ask),)

    def _safe(self, log: str, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        """The machine says an append is done: for the only replica in sync that is all."""
        return self._advance(disk, at_ms)

    def _advance(self, disk: Disk, at_ms: int = 0) -> tuple[Replica, Effects]:
        """The high watermark goes where the slowest replica in sync is; never back."""
        mine, new = self.mine, self
        out: list[Effect] = []
        if mine is None or not self.leads:
            return self, ()
        for log in self.config.logs:
            others = [n for n in mine.isr if n != self.config.number]
            ends = [disk.log(log).end, *(self.ends.get((n, log), 0) for n in others)]
            hw = min(ends)
            if hw <= new.hw.get(log, 0):
                continue
            new = replace(new, hw=new.hw.set(log, hw))
            out.append(Put(copying.CHECKPOINT, log, hw))
            if new.role is not None:
                new, more = new._inside(Appended(log, hw, at_ms), disk)
                out += more
        new, told = new._woken(disk, ())
        return new, (*out, *told)

    # -- following -------------------------------------------------------------------------

    def _fetch(self, disk: Disk) -> Send:
        assert self.mine is not None
        logs = tuple(
            (g, disk.log(g).end, copying.last_epoch(disk, g), self.hw.get(g, 0))
            for g in self.config.logs
        )
        return Send(self.mine.role, FetchReplica(self.config.number, self.mine.epoch, logs))

    def _copied(self, peer: str, said: FetchReplicaResponse, disk: Disk) -> tuple[Replica, Effects]:
        """What the leader sent is appended (after what it never had was cut off)."""
        mine = self.mine
        if mine is None or self.leads or peer != mine.role or said.error:
            # From an older leader, or from one that has not heard of this epoch yet: the
            # news that is under way makes the follower ask again.
            return self, ()
        hw, effects, ends = copying.taken_over(self.hw, said, disk)
        cuts = {copied.log: copied.cut for copied in said.logs if copied.cut >= 0}
        since = Map((g, min(at, cuts.get(g, at))) for g, at in self.since.items())
        new = replace(self, hw=hw, since=since)
        again = FetchReplica(
            self.config.number,
            mine.epoch,
            tuple((g, end, epoch, hw.get(g, 0)) for g, (end, epoch) in ends.items()),
        )
        return new, (*effects, Send(mine.role, again))

    # -- leadership ------------------------------------------------------------------------

    def _told(self, news: Leadership, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
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
            return new._inside(ConnectionLost(news.partition), disk)
        if old is not None and old.epoch == news.epoch:
            return new._advance(disk, at_ms)  # only the ISR has changed
        resigned = () if self.role is None else self.role.resigned()
        early = [(c, ask) for c, ask in self.parked.values() if ask.epoch == news.epoch]
        new = replace(new, role=None, ends=Map(), parked=Map())
        if news.leader < 0:
            return new, resigned  # nobody to follow: it waits for the next news
        if not new.leads:
            return new, (*resigned, new._fetch(disk))
        started = copying.epoch_started(disk, self.config.logs, news.epoch)
        effects = (*resigned, *started)
        if self.config.loads:
            effects = (*effects, Send(self.config.me, Load(news.epoch)))
        else:
            new, more = new._load(news.epoch, disk, at_ms)
            effects = (*effects, *more)
        for caller, ask in early:
            new, more = new._fetched(ask, caller, disk)
            effects = (*effects, *more)
        return new, effects

    def changed(self, old: Replica | None) -> tuple[Text, ...]:
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
            told: tuple[Text, ...] = self.role.changed(old.role)
            return told
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
            return new, (*known, new._fetch(disk))
        assert config.lead is not None
        role, effects = config.lead(disk, at_ms, TakingOver(0, hw, since))
        new, done = replace(new, role=role)._done(effects, disk)
        return new, (*known, *copying.epoch_started(disk, config.logs, 0), *done)
