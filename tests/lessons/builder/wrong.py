"""Wrong coordinators: what is changed in a right one, and what its author hears.

Each is a belief of learners or a fault that a real broker had, at the sitting where it can first be
refuted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mqlab.kernel import Text
from mqlab.lessons.builder.right import read_right

#: three words of English in a row: in Chinese a sentence that nobody has translated
ENGLISH = re.compile(r"[a-z]+(?: [a-z]+){2}")
LABS = Path(__file__).parents[3] / "labs"
FILES = LABS / "coordinator"


@dataclass(frozen=True)
class Wrong:
    """`belief`: in a few words. `trial`: the one that refutes it, `says`: a piece of the message.
    `old` becomes `new` in the right file of that sitting, and `also` likewise; `folder`: where
    in `labs` this lies."""

    belief: str
    sitting: int
    trial: str
    says: str
    old: str
    new: str
    also: tuple[str, str] = ("", "")
    folder: str = "coordinator"

    def source(self) -> str:
        text = read_right(LABS / self.folder, self.sitting)
        assert text.count(self.old) == 1, (self.belief, text.count(self.old))
        assert self.also[0] in text
        changed = text.replace(self.old, self.new)
        return changed.replace(*self.also) if self.also[0] else changed


def assert_chinese(said: Text) -> None:
    """A message in Chinese has no sentence of English, outside of the code that it quotes."""
    assert said.zh and not ENGLISH.search(re.sub("`[^`]*`", "…", said.zh)), said.zh


BUSY = """        if self.is_busy(ask.txn_id):
            return Error.CONCURRENT_TRANSACTIONS
"""
ANSWERED = """            # The same call again: its answer was lost.
            return self, (Reply(caller, EndTxnResponse(pid=entry.pid, epoch=entry.epoch)),)
"""
MARKS = "(*reply, *(new.mark(txn_id, partition) for partition in entry.partitions))"
PIDS = """        pids = [entry.pid for entry in self.entries.values()]
        pids += [pending.entry.pid for pending in self.pending.values()]
        new = Entry(ask.txn_id, 1 + max(pids, default=-1), -1)
        entry = self.entries.get(ask.txn_id) or new
"""
OLDER_SELF = """            answer = InitProducerIdResponse(Error.CONCURRENT_TRANSACTIONS)
            return self.write(self.decide(entry, commit=False), disk, caller, answer)"""
ADDED = "        added = tuple(sorted({*entry.partitions, *ask.partitions}))\n"
OWED = "    owed: Map[str, tuple[str, ...]] = Map()\n"
EVER = OWED + "    ever: Map[str, tuple[str, ...]] = Map()\n"
NOTED = "self = replace(self, ever=self.ever.set(ask.txn_id, tuple(sorted(ever))))\n"
MARK = "self.mark(txn_id, peer)"
PENDING = (
    "return replace(self, pending=self.pending.set(key, Pending(new, caller, answer))), (record,)"
)
LOST = """            case ConnectionLost(peer=peer):
                return self, tuple(
                    self.mark(txn_id, peer) for txn_id, left in self.owed.items() if peer in left
                )
"""
RECOVERED = "return new, tuple(new.mark(id, one) for id, left in owed.items() for one in left)"
TIMERS = "(*(new.mark(id, one) for id, left in owed.items() for one in left), *timers)"
FENCED = "return Error.NONE if entry.epoch == ask.epoch else Error.PRODUCER_FENCED"
OPEN = "        if entry.state is TxnState.ONGOING:\n            # Its older self"
SAME = "error = Error.NONE if same else Error.INVALID_TXN_STATE"
TIMED = "if entry is None or entry.state is not TxnState.ONGOING:"
SENT = "WriteTxnMarkers(txn_id, entry.pid, entry.epoch, commit, self.epoch)"
REFUSED = "if partition not in owed or said.epoch != entry.epoch or said.error:"
AT_ONCE = """new = replace(self, pending=self.pending.set(key, Pending(new, caller, answer)))
        new, effects = new.finish(*key, disk)
        return new, (record, *effects)"""
EARLY = """sent = tuple(
            Send(one, WriteTxnMarkers(new.txn_id, new.pid, new.epoch, True, self.epoch))
            for one in new.partitions
            if new.state is TxnState.PREPARE_COMMIT
        )
        pending = self.pending.set(key, Pending(new, caller, answer))
        return replace(self, pending=pending), (record, *sent)"""
BUMP = "return replace(entry, state=PREPARE[commit], epoch=entry.epoch + 1)"

WRONG = (
    Wrong("the answer may leave before the record", 1, "a last answer",
          "InitProducerId is answered in the step that writes its record", PENDING,
          "first = (Reply(caller, answer),) if caller else ()\n"
          "        pending = self.pending.set(key, Pending(new, None, None))\n"
          "        return replace(self, pending=pending), (*first, record)"),
    Wrong("one newcomer waits at a time", 1, "three newcomers",
          "have pid 1: a new transactional id gets one that is neither in `entries` nor",
          "pids += [pending.entry.pid for pending in self.pending.values()]",
          "pids += [one.entry.pid for one in tuple(self.pending.values())[:1]]"),
    Wrong("two requests never overlap", 1, "two at once",
          "while one record is not safe, another request must wait", BUSY, ""),
    Wrong("a partition need not be known", 1, "one after the other",
          "a partition is added to those that are there", "partitions=added)",
          "partitions=ask.partitions)"),
    Wrong("markers may leave with the decision", 1, "abort, then commit",
        "send it when `Appended` came", PENDING,
        "sent = tuple(Send(one, WriteTxnMarkers(new.txn_id, new.pid, new.epoch, new.state is "
        "TxnState.PREPARE_COMMIT)) for one in new.partitions) if new.state in COMPLETE else ()\n"
        "        return replace(self, pending=self.pending.set(key, Pending(new, caller, answer))),"
        "(record, *sent)"),
    Wrong("one marker is enough", 1, "one after the other", "broken: no marker goes to orders-1",
          MARKS, "(*reply, new.mark(txn_id, entry.partitions[0]))"),
    Wrong("a marker that was sent was written", 1, "one after the other",
          "and orders-0, orders-1 has no marker", MARKS,
          "(lambda it: (it[0], (*reply, *(new.mark(txn_id, one) for one in entry.partitions), "
          "*it[1])))(new.complete(txn_id, disk))[1]"),
    Wrong("a decision is the end", 1, "one after the other", "no marker goes to orders-0, orders-1",
          MARKS, "reply"),
    Wrong("an answer is enough, no record is needed", 1, "one after the other",
          "AddPartitionsToTxn is answered and the log still says Empty",
          "return self.write(new, disk, caller, AddPartitionsToTxnResponse())",
          "return self, (Reply(caller, AddPartitionsToTxnResponse()),)"),
    Wrong("a request may be left without an answer", 1, "one after the other",
          "orders-0 has sent AddPartitionsToTxn, and no step answers it",
          "return self.write(new, disk, caller, AddPartitionsToTxnResponse())",
          "return self.write(new, disk)"),
    Wrong("what was added once stays added", 1, "another partition next",
          "it writes Ongoing with orders-0, which was added to an earlier transaction", ADDED,
          "        ever = {*self.ever.get(ask.txn_id, ()), *ask.partitions}\n"
          f"        {NOTED}        added = tuple(sorted(ever))\n", (OWED, EVER)),
    Wrong("a partition that is known needs no record", 1, "abort, then commit",
          "AddPartitionsToTxn with orders-0 is answered with ok while the log says CompleteAbort",
          ADDED, f"""        ever = {{*self.ever.get(ask.txn_id, ()), *ask.partitions}}
        if ever == {{*self.ever.get(ask.txn_id, ())}}:
            return self, (Reply(caller, AddPartitionsToTxnResponse()),)
        {NOTED}{ADDED}""", (OWED, EVER)),
    Wrong("an abort is a commit of nothing", 1, "abort, then commit",
          "has asked for an abort, and the log says PrepareCommit", "state=PREPARE[commit])",
          "state=PREPARE[True])"),
    Wrong("what is decided once is over", 1, "one after the other", "no Complete record is written",
          "return new.write(replace(entry, state=COMPLETE[entry.state], partitions=()), disk)",
          "return new, ()"),
    Wrong("a dictionary is a state", 1, "one after the other", "unhashable type: 'dict'",
          "    owed: Map[str, tuple[str, ...]] = Map()",
          "    owed: dict = __import__('dataclasses').field(default_factory=dict)"),
    Wrong("memory survives", 2, "a crash", "`recover` reads `entries_of(disk)`",
          "entries = entries_of(disk)", "entries = Map()"),
    Wrong("what is open begins again", 2, "a crash",
          "a record after the restart lacks it: `recover` takes each entry of the log as it is",
          "entries = entries_of(disk)",
          "entries = Map((n, replace(e, partitions=() if e.state is TxnState.ONGOING else "
          "e.partitions)) for n, e in entries_of(disk).items())"),
    Wrong("a restart owes nothing", 2, "a crash", "must send every marker again", RECOVERED,
          "return new, ()"),
    Wrong("a counter survives", 2, "a crash, two newcomers", "order-service, cart have pid 0", PIDS,
          """        entry = self.entries.get(ask.txn_id)
        if entry is None:
            entry = Entry(ask.txn_id, self.next_pid, -1)
            self = replace(self, next_pid=self.next_pid + 1)
""", ("    owed: Map[str, tuple[str, ...]] = Map()\n",
          "    owed: Map[str, tuple[str, ...]] = Map()\n    next_pid: int = 0\n")),
    Wrong("one decision at a time is owed", 2, "many at once, and crashes",
          "after the restart orders-0, orders-1, orders-2 never gets its marker", RECOVERED,
          RECOVERED.replace("owed.items()", "tuple(owed.items())[:1]")),
    Wrong("what was open is lost with the coordinator", 2, "a crash",
          "a marker ABORT leaves although the log is Ongoing", RECOVERED,
          "return new, tuple(Send(one, WriteTxnMarkers(e.txn_id, e.pid, e.epoch, False)) for e in "
          "entries.values() for one in e.partitions)"),
    Wrong("what was open was meant to be committed", 2, "a crash",
          "a marker COMMIT leaves although the log is Ongoing", RECOVERED,
          "return new, tuple(Send(one, WriteTxnMarkers(e.txn_id, e.pid, e.epoch, True)) for e in "
          "entries.values() for one in e.partitions)"),
    Wrong("nobody asks twice", 2, "a crash", "the same EndTxn again gets the same answer", ANSWERED,
          "            return self, (Reply(caller, EndTxnResponse(Error.INVALID_TXN_STATE)),)\n"),
    Wrong("an epoch is for show", 3, "late messages", "an older epoch of the producer got through",
          FENCED, "return Error.NONE"),
    Wrong("a restarted producer is the same", 3, "a second producer",
          "two producers have one epoch", "epoch=entry.epoch + 1, timeout_ms",
          "epoch=max(0, entry.epoch), timeout_ms"),
    Wrong("a new producer goes on where the old one was", 3, "late messages",
        "it writes Empty after Ongoing", OPEN, "        if False:\n            # Its older self"),
    Wrong("what the old one has sent is worth keeping", 3, "late messages",
          "what the older one left open is committed", "self.decide(entry, commit=False)",
          "self.decide(entry, commit=True)"),
    Wrong("an epoch belongs to a producer, not to a transaction", 3, "late messages",
          "carries the next epoch", BUMP, "return replace(entry, state=PREPARE[commit])"),
    Wrong("a lost answer is ok", 3, "late messages", "got ok, and the log says CompleteAbort", SAME,
          "error = Error.NONE"),
    Wrong("a lost connection has lost nothing", 3, "late messages",
          "after ConnectionLost each marker", LOST, ""),
    Wrong("a lost connection has lost what one id owes", 3, "many, and connections break",
          "a connection broke with a marker or its answer on it",
          "if peer in left\n                )", "if peer in left\n                )[:1]"),
    Wrong("what is sent again needs no coordinator epoch", 3, "many, and connections break",
          "Each marker carries the `epoch` that `recover` was given, and no other", LOST,
          LOST.replace(MARK, f"Send(peer, replace({MARK}.body, coordinator_epoch=0))")),
    Wrong("what is sent again has an epoch of its own", 3, "late messages",
          "a marker to orders-0 carried epoch 2, and the decision in the log has epoch 1", LOST,
          LOST.replace(MARK, f"Send(peer, replace({MARK}.body, epoch=2))")),
    Wrong("who is new has the epoch that shuts the older one out", 3,
          "a second producer, before the abort", "two producers have one epoch", OLDER_SELF,
          """            new = self.decide(entry, commit=False)
            answer = InitProducerIdResponse(pid=new.pid, epoch=new.epoch)
            return self.write(new, disk, caller, answer)"""),
    Wrong("to shut the older one out is no end", 3, "late messages",
          "came late to orders-0, after the marker of its transaction, and both have epoch 0",
          OLDER_SELF, OLDER_SELF.replace("self.decide(entry, commit=False)",
                                         "replace(entry, state=TxnState.PREPARE_ABORT)")),
    Wrong("only a commit is asked for twice", 3, "a crash, an abort",
          "EndTxn (abort) is refused with INVALID_TXN_STATE, and the log has this end already",
          "same = entry.state is COMPLETE[PREPARE[ask.commit]]",
          "same = ask.commit and entry.state is TxnState.COMPLETE_COMMIT"),
    Wrong("who asks again hears what it has said", 3, "a crash, then another end",
          "EndTxn is answered with epoch 0, and the log has epoch 1",
          "EndTxnResponse(error, entry.pid, entry.epoch)",
          "EndTxnResponse(error, ask.pid, ask.epoch)"),
    Wrong("a coordinator is known by its log", 3, "another leads",
          "it carried coordinator_epoch 0, those of the newer one carry 0", SENT,
          "WriteTxnMarkers(txn_id, entry.pid, entry.epoch, commit)"),
    Wrong("the producer's epoch is the coordinator's", 3, "another leads",
          "it carried coordinator_epoch 1, those of the newer one carry 1", SENT,
          SENT.replace("self.epoch", "entry.epoch")),
    Wrong("a coordinator numbers itself, downwards", 3, "a crash",
          "Each marker carries the `epoch` that `recover` was given, and no other",
          "Coordinator(config, epoch, entries", "Coordinator(config, 9 - epoch, entries"),
    Wrong(
        "who is refused must ask with more weight",
        3,
        "another leads",
        "TRANSACTION_COORDINATOR_FENCED says that another one leads",
        REFUSED,
        """if said.error:
            new = replace(self, epoch=self.epoch + 1)
            return new, (new.mark(said.txn_id, partition),)
        if partition not in owed or said.epoch != entry.epoch:""",
    ),
    Wrong("written is safe", 3, "another leads",
          "and the last record of the coordinator that leads now is none", PENDING, AT_ONCE),
    Wrong("the order within a step is enough", 3, "another leads",
          "InitProducerId is answered in the step that writes its record", PENDING,
          "kept = replace(self, pending=self.pending.set(key, Pending(new)))\n"
          "        return kept, (record, *((Reply(caller, answer),) if caller else ()))"),
    Wrong("a decision is known when it is written", 3, "another leads",
          "and the coordinator that leads now does not have the decision", PENDING, EARLY),
    Wrong("producers come back", 4, "abandoned", "set a timer when it begins",
          "timers = (SetTimer(TIMEOUT + new.txn_id, new.timeout_ms),)", "timers = ()"),
    Wrong("one timer is enough", 4, "never again",
          "of the timers none is named 'timeout cart'; set were 'all'",
          "(SetTimer(TIMEOUT + new.txn_id, new.timeout_ms),)",
          "(SetTimer('all', new.timeout_ms),)"),
    Wrong("the first name is enough", 4, "abandoned", "a timer is named 'timeout '",
          "(SetTimer(TIMEOUT + new.txn_id, new.timeout_ms),)", "(SetTimer(TIMEOUT, 1),)"),
    Wrong("a timer counts seconds", 4, "slow, but in time",
          "had 30 ms and has run out; the `timeout_ms` of its producer is 30000",
          "new.txn_id, new.timeout_ms)", "new.txn_id, new.timeout_ms // 1_000)"),
    Wrong("every producer has a minute", 4, "never again",
          "its timer of 60000 ms has not run out; the `timeout_ms` of its producer is 30000",
          "new.txn_id, new.timeout_ms)", "new.txn_id, 60_000)"),
    Wrong("a timer survives", 4, "abandoned, and killed",
        "`recover` sets it again for what is Ongoing", TIMERS, TIMERS.replace(", *timers)", ",)")),
    Wrong("late is late, whatever is decided", 4, "lost, and too slow",
          "what is not Ongoing any more has no timeout", TIMED, "if entry is None:",
          ("timers = (CancelTimer(TIMEOUT + new.txn_id),)", "timers = ()")),
    Wrong("what is complete enough is committed", 4, "abandoned",
          "the timer has run out and the coordinator commits",
          "return self.write(self.decide(entry, commit=False), disk)",
          "return self.write(self.decide(entry, commit=True), disk)"),
    Wrong("a timeout is only an abort", 4, "abandoned",
          "refuses the marker with INVALID_PRODUCER_EPOCH",
          "return self.write(self.decide(entry, commit=False), disk)",
          "return self.write(replace(entry, state=PREPARE[False]), disk)"),
    Wrong("every client reads the next epoch from its answer", 5, "an older client",
          "an older client (`EndTxn.v2` is False) continues with the epoch that it has",
          "epoch=entry.epoch + v2", "epoch=entry.epoch + 1"),
    Wrong("who verifies hears ok", 5, "an older client, a late message",
          "with `verify_only` is answered with ok for orders-0 while the log says CompleteAbort",
          "error = Error.TRANSACTION_ABORTABLE", "pass"),
    Wrong("who verifies adds", 5, "an older client, a late message",
          "it writes a record for AddPartitionsToTxn with `verify_only`",
          "error = Error.TRANSACTION_ABORTABLE", "pass", ("error or ask.verify_only", "error")),
    Wrong("a marker always demands a higher epoch", 5, "an older client",
          "the leader refuses the marker", "version = entry.client_version  #", "version = 2  #"),
)  # fmt: skip

# ---- mutants that do what the right file does (`test_mutants.py`) ----------------------

ORDER = "nobody can tell: a kill between the two loses the answer or the marker, which come again"
EMPTY = "no client ends a transaction without a partition"
STRANGER = "no client asks with an id that the log does not have, and an id keeps its pid"
ALONE = "in this sitting an id is introduced once"
PATIENT = "no connection breaks in this sitting"
ONCE = "an answer that comes is for a marker that is owed: those of a broken connection are lost"
SAME_EPOCH = "in this sitting an end keeps the epoch, and the client does not look"
PID = "nobody asks for the pid with which the first id begins"
RESET = "a timer of what is not Ongoing does nothing, and the next transaction sets it again"
#: by sitting and what was done: why nobody can tell
EQUAL = {
    (1, "line 56: `self.entries.get(ask.txn_id) or new` → `(new)`"): ALONE,
    (1, "line 61: `new.pid` → `(entry.pid)`"): "an id keeps its pid",
    (1, "line 69: `entry.state is TxnState.ONGOING and adde ... entry.partitions` → `False`"):
        "the same record once more",
    (1, "line 124: `(*reply, *(new.mark(txn_id, partition) f ... try.partitions))` → "
        "`((*(new.mark(txn_id, partition) for part ... tions), *reply))`"): ORDER,
    (2, "line 47: `( self.mark(txn_id, peer) for txn_id, le ... f peer in left )` → "
        "`((self.mark(txn_id, peer) for txn_id, le ... f peer in left))`"): PATIENT,
    (2, "line 61: `entry.state is TxnState.ONGOING` → `False`"): ALONE,
    (2, "line 64: `entry.epoch` → `(new.epoch)`"): ALONE,
    (2, "line 83: `EndTxnResponse(pid=entry.pid, epoch=entry.epoch)` → "
        "`(EndTxnResponse(pid=entry.pid))`"): SAME_EPOCH,
    (2, "line 92: `entry is None or entry.pid != ask.pid` → "
        "`(entry is None and entry.pid != ask.pid)`"): STRANGER,
    (2, "line 130: `(*reply, *completed)` → `((*completed, *reply))`"): EMPTY,
    (2, "line 140: `partition not in owed or said.epoch != e ... ch or said.error` → "
        "`(partition not in owed and said.epoch != ...  and said.error)`"): ONCE,
    (3, "line 60: `1` → `(0)`"): PID,
    (3, "line 97: `entry is None or entry.pid != ask.pid` → "
        "`(entry is None and entry.pid != ask.pid)`"): STRANGER,
    (3, "line 136: `(*reply, *completed)` → `()`"): EMPTY,
    (4, "line 91: `not error and entry.state is not TxnStat ... G and ask.commit` → `False`"):
        "with an epoch for each end no client commits what is not Ongoing",
    (4, "line 124: `new.state is TxnState.ONGOING and not was_open` → `(not was_open)`"): RESET,
    (4, "line 146: `(*reply, *completed)` → `((*completed, *reply))`"): EMPTY,
    (4, "line 157: `partition not in owed or said.epoch != e ... ch or said.error` → "
        "`(partition not in owed or said.epoch != entry.epoch)`"):
        "who is refused leads no more, so what it writes then is cut off",
    (5, "line 79: `TxnState.ONGOING` → `(TxnState.EMPTY)`"): "the same record once more",
    (5, "line 118: `0` → `(1)`"): "a leader takes every version below 2 for one",
    (5, "line 150: `(*reply, *completed)` → `((*reply,))`"): EMPTY,
}  # fmt: skip
#: those that do something else, and no trial finds it
MISSED = {
    (5, "line 128: `new.state is TxnState.ONGOING and not was_open` → `True`"):
        "the timeout begins again with each partition, and a claim knows no clock",
}  # fmt: skip
