"""A group coordinator that is asked question by question."""

from mqlab.kafka import SAFEGUARDS, KafkaConfig
from mqlab.kafka.errors import Error
from mqlab.kafka.group import GroupCoordinator, GroupState
from mqlab.kafka.group.members import JoinGroup, SyncGroup
from mqlab.kafka.messages import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    OffsetCommit,
    OffsetFetch,
    Position,
    TxnOffsetCommit,
)
from mqlab.kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    Fired,
    MemoryDisk,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
)

LOG = "__consumer_offsets-0"
ON = frozenset(SAFEGUARDS)
RANGE = (("range", ("orders",)),)


class Broker:
    """A group coordinator with its disk; a transaction coordinator that says yes.
    `ask` gives the answer, or None while it is held back; `held` collects late ones. While
    `replicating` is False nothing that is appended becomes safe: `unsafe` collects it."""

    def __init__(self, *, off=()):
        self.config = KafkaConfig(on=ON - frozenset(off), offsets_partitions=1)
        self.disk = MemoryDisk()
        self.asked, self.held, self.timers = 0, {}, {}
        self.replicating, self.unsafe = True, []
        self.verdict = Error.NONE
        self.start()

    def start(self):
        self.timers = {}
        self.role, effects = GroupCoordinator.recover(self.config, LOG, self.disk, 0)
        self.do(effects)

    def ask(self, body):
        self.asked += 1
        number = self.asked
        self.event(Request(Caller("client", 1, number), body))
        return self.held.pop(number, None)

    def event(self, event):
        self.role, effects = self.role.step(event, self.disk)
        self.do(effects)

    def do(self, effects):
        later = []
        for effect in effects:
            self.disk = self.disk.apply(effect)
            match effect:
                case Reply(caller=caller, body=body):
                    self.held[caller.corr] = body
                case Append(log=log, entry=entry, notify=True):
                    later.append(Appended(log, entry.last + 1))
                case Send(to=to, corr=corr, body=AddPartitionsToTxn()):
                    later.append(Response(to, corr, AddPartitionsToTxnResponse(self.verdict)))
                case SetTimer(timer=timer, after_ms=ms):
                    self.timers[timer] = ms
                case CancelTimer(timer=timer):
                    self.timers.pop(timer, None)
        for event in later:
            if isinstance(event, Appended) and not self.replicating:
                self.unsafe.append(event)
            else:
                self.event(event)

    def fire(self, timer):
        del self.timers[timer]
        self.event(Fired(timer))

    def join(self, client, member="", **given):
        return self.ask(JoinGroup("g", member, client, RANGE, **given))

    def member(self, client):
        """A member whose JoinGroup is under way; its id."""
        told = self.join(client)
        assert told.error is Error.MEMBER_ID_REQUIRED
        return told.member

    def alone(self, client="a"):
        """A group of one, stable: (member, generation)."""
        told = self.join(client, self.member(client))
        self.ask(SyncGroup("g", told.member, told.generation, ((told.member, ("orders-0",)),)))
        assert self.state is GroupState.STABLE
        return told.member, told.generation

    @property
    def group(self):
        return self.role.groups["g"]

    @property
    def state(self):
        return self.group.state

    def commit(self, member="", generation=-1, offset=5, **given):
        at = (Position("orders-0", offset),)
        return self.ask(OffsetCommit("g", at, member, generation, **given)).error

    def txn_commit(self, member="", generation=-1, offset=5, pid=7, epoch=0, **given):
        at = (Position("orders-0", offset),)
        ask = TxnOffsetCommit("t", "g", pid, epoch, at, member, generation, **given)
        return self.ask(ask).error

    def committed(self, stable=True):
        told = self.ask(OffsetFetch("g", ("orders-0",), stable))
        return told.unstable or told.positions[0].offset
