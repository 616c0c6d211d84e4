"""One copy of a log: it leads, or it follows.

A *leader* lets the role inside decide and appends what it appends. Each follower fetches
from the end of its own copy, and so informs the leader of its position. The high
watermark is the smallest log end among the replicas in sync; when it moves, what is below it is
safe, and the role inside hears `Appended`. If fewer than `min_isr` replicas are in sync,
nothing may be appended at all, and nothing becomes safe.

A *follower* appends what it is sent, learns the high watermark one fetch later, and decides
nothing. When it starts to follow a new leader it first cuts off what that leader never had:
the leader finds the place by the leader epochs of both logs.

*Leadership moves* when the controller says so; the news arrives at each broker in its own
time. Until then the old leader still believes it leads. It can do no harm: its followers
fetch elsewhere, so nothing it appends becomes safe, no client is answered, and what it appended
is cut off later. A new leader is a role that recovers from its log, as after a restart, but
with the high watermark it knew: no higher.

*Left out:* broker and replica being two things, the checkpoint of the high watermark being
written only now and then, fetch sessions.
Sources: Partition#makeLeader, #makeFollower, #maybeIncrementLeaderHW,
ReplicaFetcherThread#processPartitionData, LeaderEpochFileCache (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

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
    Truncate,
    Words,
    frozen,
)
from ...kernel.role import Role
from ..errors import Error
from ..log import index_of
from ..log.role import table_of
from ..messages import (
    AddPartitionsToTxnResponse,
    OffsetCommit,
    Produce,
    TxnOffsetCommit,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from .controller import (
    AlterPartition,
    Copied,
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
from .router import BrokerRequest, refuse_request

# ---- Copying a log: what a follower lacks, and what it must cut off ------------------
#
# Each replica keeps, beside its log, where every leader epoch began (`leader-epoch-
# checkpoint`). Two logs agree up to the first epoch they disagree about; beyond that the
# follower's records were appended by a leader without followers.
#
# Source: LeaderEpochFileCache#endOffsetFor, UnifiedLog#truncateTo (Kafka 4.3).

# Checkpoint files of the replica's own; the dot keeps them out of what an execution shows.
EPOCHS = ".leader epochs"
CHECKPOINT = ".high watermark"
Epochs = tuple[tuple[int, int], ...]


class Ahead:
    """A disk as it will be when the step's appends are done: what a waiting follower is sent in the
    same step."""

    def __init__(self, disk: Disk, fresh: Mapping[str, list[Any]]) -> None:
        self.disk, self.fresh = disk, fresh

    def entries(self, log: str, start: int) -> tuple[Any, ...]:
        old = self.disk.log(log)
        kept = tuple(old.read(start)) if start < old.end else ()
        return (*kept, *(e for e in self.fresh.get(log, ()) if e.base >= start))

    def epochs(self, log: str) -> Epochs:
        return read_epochs(self.disk, log)


def read_epochs(disk: Disk, log: str) -> Epochs:
    known: Epochs = disk.table(EPOCHS).get(log, ())
    return known


def find_last_epoch(disk: Disk, log: str) -> int:
    """The leader epoch of the last record, -1 for an empty log."""
    end = disk.log(log).end
    held = [epoch for epoch, start in read_epochs(disk, log) if start < end]
    return held[-1] if held else -1


def note_epoch(disk: Disk, logs: tuple[str, ...], epoch: int) -> Effects:
    """A leader notes where its epoch begins in each of its logs."""
    return tuple(
        Put(EPOCHS, log, (*read_epochs(disk, log), (epoch, disk.log(log).end))) for log in logs
    )


def find_divergence(disk: Disk, log: str, end: int, last: int) -> int:
    """Where a follower's log, which ends at `end` in leader epoch `last`, parts from this
    one; -1 where it is a prefix of it."""
    if last < 0:
        return -1
    mine = read_epochs(disk, log)
    later = [start for epoch, start in mine if epoch > last]
    limit = min([*later, disk.log(log).end])
    return limit if end > limit else -1


def answer_follower(
    leader: Replica, ask: FetchReplica, disk: Ahead | Disk
) -> FetchReplicaResponse | None:
    """What there is for a follower; None: nothing new, it waits."""
    ahead = disk if isinstance(disk, Ahead) else Ahead(disk, {})
    out = []
    for log, end, last, hw in ask.logs:
        cut = find_divergence(ahead.disk, log, end, last)
        known = leader.hw.get(log, 0)
        entries = () if cut >= 0 else ahead.entries(log, end)
        if cut >= 0 or entries or known > hw:
            out.append(Copied(log, entries, known, ahead.epochs(log), cut))
    return FetchReplicaResponse(tuple(out)) if out else None


def append_copied(
    hw: Map[str, int], fetched: FetchReplicaResponse, disk: Disk
) -> tuple[Map[str, int], Effects, dict[str, tuple[int, int]]]:
    """Append what a follower has fetched from its leader, after cutting off what the leader does
    not have. Returns the high watermarks, the effects, and for each log where it ends then and in
    which leader epoch (-1: it is empty)."""
    effects: list[Effect] = []
    ends: dict[str, tuple[int, int]] = {}
    for copied in fetched.logs:
        log, end = copied.log, disk.log(copied.log).end
        old_epochs = read_epochs(disk, log)
        if copied.cut >= 0:  # -1: nothing to cut off
            end = copied.cut
            effects.append(Truncate(log, end))
            effects += _cut_index(disk, log, end)
        for entry in copied.entries:
            # notify=False: that it is durable here makes it safe for no one
            effects.append(Append(log, entry, notify=False))
            end = entry.last + 1
        # (leader epoch, its first offset), of those that have records here
        epochs = tuple(e for e in copied.epochs if e[1] < end)
        if epochs != old_epochs:
            effects.append(Put(EPOCHS, log, epochs))
        known_hw = min(copied.hw, end)
        if known_hw != hw.get(log, 0):
            hw = hw.set(log, known_hw)
            effects.append(Put(CHECKPOINT, log, known_hw))
        ends[log] = (end, epochs[-1][0] if epochs else -1)
    return hw, tuple(effects), ends


def _cut_index(disk: Disk, log: str, end: int) -> Effects:
    """A log that is cut back loses the index entries of the markers it lost, and the
    snapshots of what came after (ProducerStateManager#truncateAndReload)."""
    index = disk.log(index_of(log))
    kept = sum(entry.last_offset < end for entry in index.read(0)) if index.end else 0
    entries = (Truncate(index_of(log), kept),) if kept < index.end else ()
    table = table_of(log)
    return (*entries, *(Put(table, at, None) for at in disk.table(table) if at > end))


def is_append(body: object) -> bool:
    """Whether a request makes a partition's leader append at once (acks=all)."""
    return isinstance(body, Produce | WriteTxnMarkers | TxnOffsetCommit | OffsetCommit)


# ---- Following: fetch from the leader, cut off what it never had, append what it sends
#
# Sources: ReplicaFetcherThread#processPartitionData, AbstractFetcherThread#truncateOnFetchResponse
# (Kafka 4.3).

Result = tuple["Replica", Effects]


def build_fetch(r: Replica, disk: Disk) -> Send:
    """The request of a follower for what follows in each log: (log, its end, the leader epoch of
    its last record, its high watermark)."""
    assert r.mine is not None
    logs = tuple(
        (g, disk.log(g).end, find_last_epoch(disk, g), r.hw.get(g, 0)) for g in r.config.logs
    )
    return Send(r.mine.role, FetchReplica(r.config.number, r.mine.epoch, logs))


def handle_fetched(r: Replica, peer: str, fetched: FetchReplicaResponse, disk: Disk) -> Result:
    """What the leader sent is appended (after what it never had was cut off)."""
    mine = r.mine
    if mine is None or r.leads or peer != mine.role or fetched.error:
        # From an older leader, or from one that this follower is behind: the news that is in flight
        # makes it ask again.
        return r, ()
    hw, effects, ends = append_copied(r.hw, fetched, disk)
    cuts = {one.log: one.cut for one in fetched.logs if one.cut >= 0}
    since = Map((g, min(at, cuts.get(g, at))) for g, at in r.since.items())
    for g in r.config.logs:
        ends.setdefault(g, (disk.log(g).end, find_last_epoch(disk, g)))
    logs = tuple((g, *ends[g], hw.get(g, 0)) for g in r.config.logs)
    again = FetchReplica(r.config.number, mine.epoch, logs)
    return replace(r, hw=hw, since=since), (*effects, Send(mine.role, again))


# ---- Leading: what a broker with replicas makes of the effects of the role inside ----
#
# What the role appends its followers fetch; what all in sync have is safe. A follower that
# comes back counts from the moment the leader proposes it, not from the moment the controller
# agrees (Partition's *maximal ISR*): else a record could be called safe that the newcomer
# lacks, and the newcomer be elected.
#
# Sources: Partition#appendRecordsToLeader, #maybeIncrementLeaderHW, #maybeExpandIsr (Kafka 4.3).


def is_short(r: Replica) -> bool:
    """Too few replicas are in sync for anything to be appended."""
    return r.mine is not None and len(r.mine.isr) < r.config.min_isr


def step_inside(r: Replica, event: Event, disk: Disk) -> Result:
    """Let the role with which this replica leads handle an event, and carry out its effects."""
    assert r.role is not None
    role, effects = r.role.step(event, disk)
    return do_effects(replace(r, role=role), effects, disk)


def do_effects(r: Replica, effects: Effects, disk: Disk) -> Result:
    """Carry out the effects of the role that this replica leads with. An append is acknowledged
    only once it is below the high watermark, and fails while too few replicas are in sync; a
    message to another partition goes to its present leader, and nowhere while it has no leader.
    Followers that wait get the new records at once."""
    assert r.mine is not None
    is_alone = maximal_isr(r) == (r.config.number,)  # no other replica is or becomes in sync
    outgoing: list[Effect] = []
    appended: dict[str, list[Any]] = {}
    events: list[Event] = []
    for effect in effects:
        match effect:
            # is_short: fewer replicas are in sync than min.insync.replicas
            case Append(log=log, entry=entry) if log in r.config.logs and is_short(r):
                error = Error.NOT_ENOUGH_REPLICAS.name
                events.append(AppendFailed(log, entry.last + 1, error))
            case Append(log=log, entry=entry) if log in r.config.logs:
                # alone, an append is replicated once it is on this disk; else when followers have
                # fetched it
                outgoing.append(replace(effect, notify=is_alone))
                appended.setdefault(log, []).append(entry)
            # it is sent again when there is a leader; a marker may count as delivered (a switch)
            case Send(to=to) if _leaderless(r, to):
                events += _skip_marker(r, to, effect.body)
            case Send(to=to):
                outgoing.append(replace(effect, to=_address(r, to)))
            case _:
                outgoing.append(effect)
    new, done = r, tuple(outgoing)
    for event in events:
        new, event_effects = step_inside(new, event, disk)
        done = (*done, *event_effects)
    # Ahead: the disk as it is once these appends are done, from which waiting followers are sent
    return answer_parked(new, Ahead(disk, appended), done) if appended else (new, done)


def _leaderless(r: Replica, partition: str) -> bool:
    known: Leadership | None = r.led.get(partition)
    return known is not None and known.leader < 0


def _skip_marker(r: Replica, partition: str, body: object) -> tuple[Event, ...]:
    """Nothing can be sent to a partition that has no leader just now. It is asked again when it has
    one, for the news counts as a new connection. With the switch of 4.3.1 on a
    marker is taken for delivered instead, as to a deleted partition
    (TransactionMarkerChannelManager, "likely deleted already and hence can be skipped"): the
    transaction completes, and hangs where its marker is missing."""
    if not r.config.skip_leaderless_marker or not isinstance(body, WriteTxnMarkers):
        return ()
    return (
        Response(partition, 0, WriteTxnMarkersResponse(body.txn_id, body.pid, epoch=body.epoch)),
    )


def _address(r: Replica, partition: str) -> str:
    known: Leadership | None = r.led.get(partition)
    return known.role if known is not None else partition


# ---- followers -----------------------------------------------------------------------


def answer_parked(r: Replica, disk: Ahead | Disk, effects: Effects) -> Result:
    """Send each waiting follower (`parked`) what is new for it, if anything; returned with
    `effects` before. `disk`: `Ahead` has this step's appends already."""
    new, out = r, list(effects)
    for number, (caller, ask) in r.parked.items():
        answer = answer_follower(r, ask, disk)
        if answer is not None:
            new = replace(new, parked=new.parked.remove(number))
            out.append(Reply(caller, answer))
    return new, tuple(out)


def handle_fetch(r: Replica, ask: FetchReplica, caller: Caller, disk: Disk) -> Result:
    """Handle FetchReplica of a follower: note how far its copies reach, which may move the high
    watermark and let it back into the ISR, and answer with what follows in the logs. Where there is
    nothing new, the follower waits (`parked`)."""
    leadership = r.mine
    if leadership is None or ask.epoch > leadership.epoch:
        # the follower learned of this leader epoch first: it waits until the leader does
        return replace(r, parked=r.parked.set(ask.number, (caller, ask))), ()
    if not r.leads or ask.epoch != leadership.epoch:
        return r, (Reply(caller, FetchReplicaResponse(error=Error.FENCED_LEADER_EPOCH)),)
    # it waits in any case at first: answer_parked, below, sends what there is for it
    new = replace(r, parked=r.parked.set(ask.number, (caller, ask)))
    for log, end, last_epoch, _ in ask.logs:
        if find_divergence(disk, log, end, last_epoch) < 0:
            new = replace(new, ends=new.ends.set((ask.number, log), end))
    new, effects = advance_hw(new, disk)
    new, replies = answer_parked(new, disk, ())
    new, proposal = _propose_isr(new, ask.number, disk)
    return new, (*effects, *replies, *proposal)


def _propose_isr(r: Replica, number: int, disk: Disk) -> Result:
    """A follower outside the ISR that has the whole log may come back in."""
    assert r.mine is not None
    whole = all(r.ends.get((number, g), -1) >= disk.log(g).end for g in r.config.logs)
    if number in maximal_isr(r) or not whole:
        return r, ()
    new = replace(r, joining=tuple(sorted((*r.joining, number))))
    ask = AlterPartition(r.mine.partition, r.mine.epoch, r.mine.isr, maximal_isr(new))
    return new, (Send(r.config.controller, ask),)


def maximal_isr(r: Replica) -> tuple[int, ...]:
    """Who must have a record before it is safe: the ISR, and who was proposed for it."""
    assert r.mine is not None
    return tuple(sorted({*r.mine.isr, *r.joining}))


def advance_hw(r: Replica, disk: Disk, at_ms: int = 0) -> Result:
    """Move the high watermark of each log to where the slowest replica in sync is; never back, and
    not while too few are in sync (KIP-966): what only those have must not count as replicated. The
    role that this replica leads with then gets `Appended`, and waiting followers the new high
    watermark. `at_ms`: the time of the event that is handled."""
    new = r
    effects: list[Effect] = []
    if not r.leads or is_short(r):
        return r, ()
    # of those in sync, and of those that were proposed for the ISR
    other_replicas = [n for n in maximal_isr(r) if n != r.config.number]
    for log in r.config.logs:
        hw = min([disk.log(log).end, *(r.ends.get((n, log), 0) for n in other_replicas)])
        if hw <= new.hw.get(log, 0):
            continue
        new = replace(new, hw=new.hw.set(log, hw))
        effects.append(Put(CHECKPOINT, log, hw))
        if new.role is not None:
            new, role_effects = step_inside(new, Appended(log, hw, at_ms), disk)
            effects += role_effects
    new, replies = answer_parked(new, disk, ())  # parked: the fetches of waiting followers
    return new, (*effects, *replies)


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
    log; a partition's leader serves at once. `first`: of what it hears of.
    `min_isr`: min.insync.replicas. `skip_leaderless_marker`: see KafkaConfig."""

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
    leads what, as far as it was informed. `hw`: by log. `since`: where each log ended when it
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
        """Handle one event: news of who leads, a request, a fetched piece of log, a broken
        connection, an append or a timer. What concerns the role with which this replica leads is
        passed on to it; events of an earlier leadership are ignored."""
        match event:
            case Request(body=Leadership() as news, at_ms=at_ms):
                return self._follow_news(news, disk, at_ms)
            case Request(caller=caller, body=body):
                return self._handle_request(event, caller, body, disk)
            case Response(body=FetchReplicaResponse() as answer, peer=peer):
                return handle_fetched(self, peer, answer, disk)
            case ConnectionLost(peer=peer) if not self.leads:
                # Back to the leader as soon as there is a connection again.
                is_from_leader = self.mine is not None and peer == self.mine.role
                return (self, (build_fetch(self, disk),)) if is_from_leader else (self, ())
            case Appended(at_ms=at_ms):
                # do_effects asks for this event only where no other replica counts
                return advance_hw(self, disk, at_ms)
            case Fired() if self.role is not None:
                return step_inside(self, event, disk)
            case Response(peer=peer) | ConnectionLost(peer=peer) if self.role is not None:
                # a replica is named PARTITION@NUMBER; the role inside knows only partitions
                partition = peer.partition("@")[0]
                leadership = self.led.get(partition)
                if leadership is not None and leadership.role != peer:
                    return self, ()  # from one that leads no more
                return step_inside(self, self._rename_peer(event, partition), disk)
        # A timer, an answer or a lost connection of a leader that leads no more.
        return self, ()

    def _handle_request(
        self, event: Request, caller: Caller, body: ReplicaRequest, disk: Disk
    ) -> tuple[Replica, Effects]:
        """Handle a request: who leads a partition, a follower's fetch, its own note (Load) that it
        has become leader and reads its log, or a request to the role with which it leads.
        Where it does not lead, still loads, or has too few replicas in sync for an append, that
        request is refused."""
        match body:
            case Metadata(partition=partition) | FindCoordinator(name=partition):
                leadership: Leadership | None = self.led.get(partition)
                # a broker that has just started does not know: epoch -1 makes the client wait
                unknown = Leadership(partition, self.config.number, epoch=-1, isr=())
                return self, (Reply(caller, Found(leadership or unknown)),)
            case FetchReplica():
                return handle_fetch(self, body, caller, disk)
            case Load(epoch=epoch):
                stale = self.mine is None or not self.leads or self.mine.epoch != epoch
                return (self, ()) if stale else self.load(epoch, disk, event.at_ms)
        if self.role is None and caller.name == self.config.me:
            return self, ()  # a note to itself from when it led
        if self.role is None:
            # it leads and has no role yet: it is still reading its log; None: the refusal says that
            # it does not lead
            loading = Error.COORDINATOR_LOAD_IN_PROGRESS if self.leads else None
            return self, (Reply(caller, refuse_request(body, loading)),)
        if is_short(self) and is_append(body):
            return self, (Reply(caller, refuse_request(body, Error.NOT_ENOUGH_REPLICAS)),)
        return step_inside(self, event, disk)

    def load(self, epoch: int, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        """The role inside begins, recovered from the log."""
        assert self.config.lead is not None
        role, effects = self.config.lead(disk, at_ms, TakingOver(epoch, self.hw, self.since))
        return do_effects(replace(self, role=role), effects, disk)

    def _rename_peer(self, event: Response | ConnectionLost, partition: str) -> Event:
        """An answer by the name that the role inside knows. While too few are in sync, nothing is
        verified: the batch that waits for it could not be appended."""
        if is_short(self) and isinstance(event, Response):
            if isinstance(event.body, AddPartitionsToTxnResponse):
                unsafe = AddPartitionsToTxnResponse(Error.COORDINATOR_NOT_AVAILABLE)
                event = replace(event, body=unsafe)
        return replace(event, peer=partition)

    # -- leadership ------------------------------------------------------------------------

    def _follow_news(self, news: Leadership, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        """Take the controller's news of who leads a partition. In a new leader epoch of its own
        partition this replica begins to lead (it loads its role) or to follow (it fetches); a new
        leader of another partition is a broken connection to the old one. Old news is ignored."""
        old: Leadership | None = self.led.get(news.partition)
        if old is not None and (news.epoch, news.isr) == (old.epoch, old.isr):
            return self, ()
        if old is not None and news.epoch < old.epoch:
            return self, ()
        is_own = news.partition == self.config.partition
        if is_own and old is None and len(self.led) + 1 < len(self.config.first):
            return self, ()  # not registered yet: all that it must know comes again, this last
        new = replace(self, led=self.led.set(news.partition, news))
        if not is_own:
            has_moved = old is not None and old.role != news.role
            if new.role is None or not has_moved:
                return new, ()
            return step_inside(new, ConnectionLost(news.partition), disk)
        new = replace(new, joining=())  # proposals for the ISR: this news decides them
        if old is not None and old.epoch == news.epoch:
            return advance_hw(new, disk, at_ms)  # only the ISR has changed
        resignation = () if self.role is None else self.role.resign()
        # of followers that heard of the new epoch before this replica did
        waiting_fetches = [(c, ask) for c, ask in self.parked.values() if ask.epoch == news.epoch]
        # ends: how far each follower has fetched; parked: the fetches that wait
        new = replace(new, role=None, ends=Map(), parked=Map())
        if news.leader < 0:
            return new, resignation  # no leader to follow: it waits for the next news
        if not new.leads:
            return new, (*resignation, build_fetch(new, disk))
        epoch_notes = note_epoch(disk, self.config.logs, news.epoch)
        effects = (*resignation, *epoch_notes)
        if self.config.loads:  # a coordinator: it reads its log in a step of its own
            effects = (*effects, Send(self.config.me, Load(news.epoch)))
        else:
            new, more = new.load(news.epoch, disk, at_ms)
            effects = (*effects, *more)
        for caller, ask in waiting_fetches:
            new, more = handle_fetch(new, ask, caller, disk)
            effects = (*effects, *more)
        return new, effects

    def describe_changes(self, old: Replica | None) -> tuple[Text, ...]:
        """Changes that a reader of the picture should see: who leads, the high watermark,
        or what the role inside reports. `old` None: the replica has just started."""
        if old is None:  # a replica begins by asking the controller who leads
            return (ASKS(),)
        led = self.mine
        if led is None:
            return ()
        if led != old.mine and (old.mine is None or old.mine.epoch != led.epoch):
            if led.leader < 0:
                return (NOBODY_LEADS(),)
            hw = ", ".join(str(self.hw.get(g, 0)) for g in self.config.logs)
            return (LEADS(epoch=led.epoch) if self.leads else FOLLOWS(leader=led.role, hw=hw),)
        if self.role is not None and old.role is not None:
            role_changes: tuple[Text, ...] = self.role.describe_changes(old.role)
            return role_changes
        if self.hw != old.hw:
            return (HW_MOVED(hw=", ".join(map(str, self.hw.values()))),)
        return ()

    @staticmethod
    def recover(config: ReplicaConfig, disk: Disk, at_ms: int) -> tuple[Replica, Effects]:
        """Start the replica from its logs. In a new cluster the leaders are known, so it leads or
        follows at once; after a restart it registers with the controller and waits for news of who
        leads."""
        table = disk.table(CHECKPOINT)
        hw = Map((log, table[log]) for log in config.logs if log in table)
        # from here on it notes every batch while it copies it
        since = Map((log, disk.log(log).end) for log in config.logs)
        if disk.table(".broker"):  # it has run before
            return Replica(config, hw=hw, since=since), (
                Send(config.controller, Register(config.partition, config.number)),
            )
        led = Map((first.partition, first) for first in config.first)
        new = Replica(config, led=led, hw=hw, since=since)
        note_started: Effects = (Put(".broker", "known", True, synced=True),)
        if not new.leads:
            return new, (*note_started, build_fetch(new, disk))
        assert config.lead is not None
        # lead: makes the role inside; 0: the first leader epoch
        role, effects = config.lead(disk, at_ms, TakingOver(0, hw, since))
        new, role_effects = do_effects(replace(new, role=role), effects, disk)
        return new, (*note_started, *note_epoch(disk, config.logs, 0), *role_effects)
