"""Faults put into the roles on purpose: each is found, by the claim that it breaks.

The unchanged system is searched with the same bounds and keeps every claim, so what is
found is the fault and nothing else.
"""

from pathlib import Path

from mqlab.explore import Budget
from mqlab.kernel import Append, Map, Reply, Send, SetTimer, replace
from mqlab.pulsar.claims import CLAIMS, LIT
from mqlab.pulsar.coordinator import Coordinator
from mqlab.pulsar.messages import (
    AckResponse,
    EndTxnOnPartition,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    LedgerEntry,
)
from mqlab.pulsar.states import MarkerType, TxnAction
from mqlab.pulsar.topic import Topic
from mqlab.registry.cases import pulsar as cases
from mqlab.registry.cases.pulsar import (
    BEGIN,
    GIVEN_UP,
    ORDER,
    PASS_ON,
    READ,
    SEARCHES,
    SHARED,
    SHOP,
)
from tests.models.faults import make_tests, read_edits

ALONE = f"pulsar {ORDER}"
SERVED = f"pulsar {SHOP} {ORDER} {READ}"
REFUSED = f"pulsar {SHOP} {GIVEN_UP} {READ}"
HELD = f"pulsar 'app={SHARED}; new-transaction t1; ack s txn=t1; abort t1'"
STOP = Budget(kills=1, killable=("tc-0",))


class CommitsWhatWasAborted(Topic):
    """Every end is taken for a commit."""

    def step(self, event, disk):
        body = getattr(event, "body", None)
        if isinstance(body, EndTxnOnPartition):
            event = replace(event, body=replace(body, action=TxnAction.COMMIT))
        return Topic.step(self, event, disk)


class TellsOne(Coordinator):
    """Only the first participant is told, and the transaction counts as committed."""

    def after(self, new, effects, event, disk):
        told = [e for e in effects if isinstance(e, Send)]
        ends = (
            tuple(replace(end, owed=Map(tuple(end.owed.items())[:1])) for end in new.ends)
            if told[1:]
            else new.ends
        )
        return replace(new, ends=ends), tuple(e for e in effects if e not in told[1:])


class NoTimers(Coordinator):
    """Deadlines are not watched."""

    def after(self, new, effects, event, disk):
        return new, tuple(e for e in effects if not isinstance(e, SetTimer))


class OneTooFar(Topic):
    """maxReadPosition is one entry further than it should be."""

    @property
    def readable(self):
        return min(self.lac, Topic.readable.fget(self) + 1)


class ForgetsAborts(Topic):
    """The buffer does not remember what was aborted."""

    def after(self, new, effects, event, disk):
        return replace(new, buffer=replace(new.buffer, aborts=Map())), effects


class MarksBeforeTheDecision(Topic):
    """A transaction's first message brings its commit marker with it."""

    def append(self, disk, unsafe):
        new, effects = Topic.append(self, disk, unsafe)
        entry = effects[0].entry
        if entry.txn is None or entry.marker is not None:
            return new, effects
        marker = LedgerEntry(entry.base + 1, txn=entry.txn, marker=MarkerType.TXN_COMMIT)
        return new, (*effects, Append(self.name, marker))


class AnswersFirst(Topic):
    """An acknowledgement in a transaction leaves no record."""

    def after(self, new, effects, event, disk):
        acked = any(isinstance(e, Reply) and isinstance(e.body, AckResponse) for e in effects)
        subs = new.subs
        for name, sub in subs.items() if acked else ():
            subs = subs.set(name, replace(sub, pending=replace(sub.pending, positions=Map())))
        return replace(new, subs=subs), effects


class LosesTheReplay(Topic):
    """What is to be delivered again is forgotten."""

    def after(self, new, effects, event, disk):
        subs = new.subs
        for name, sub in subs.items():
            consumers = tuple(replace(c, held=()) for c in sub.consumers)
            subs = subs.set(name, replace(sub, replay=(), consumers=consumers))
        return replace(new, subs=subs), effects


class NeverAdvances(Topic):
    """Nothing may ever be read."""

    @property
    def readable(self):
        return -1


class CountsAnew(Coordinator):
    """A coordinator that is loaded counts from 0."""

    def after(self, new, effects, event, disk):
        return (new if new.state is self.state else replace(new, sequence=-1)), effects


class EndsNoAck(Topic):
    """A subscription answers that a transaction has ended, and does nothing."""

    def step(self, event, disk):
        body = getattr(event, "body", None)
        if isinstance(body, EndTxnOnSubscription):
            return self, (Reply(event.caller, EndTxnOnSubscriptionResponse(txn=body.txn)),)
        return Topic.step(self, event, disk)


class AppliesAborts(Topic):
    """What an aborted transaction has acknowledged is acknowledged for good."""

    def step(self, event, disk):
        body = getattr(event, "body", None)
        if isinstance(body, EndTxnOnSubscription):
            event = replace(event, body=replace(body, action=TxnAction.COMMIT))
        return Topic.step(self, event, disk)


FAULTS = [
    (CommitsWhatWasAborted, REFUSED, Budget(), "as decided"),
    (TellsOne, SEARCHES.lesson.line, Budget(), "told to all"),
    (NoTimers, ALONE, Budget(kills=1, killable=("app",), restartable=()), "ends"),
    (OneTooFar, SERVED, Budget(), "max read position correct"),
    (ForgetsAborts, REFUSED, Budget(), "clean read"),
    (MarksBeforeTheDecision, ALONE, Budget(), "as decided"),
    (AnswersFirst, HELD, Budget(), "pending kept"),
    (NeverAdvances, ALONE, Budget(), "max read position correct"),
    (CountsAnew, f"pulsar 'app={BEGIN}; {BEGIN.replace('t1', 't2')}'", STOP, "ids grow"),
    (EndsNoAck, f"pulsar {PASS_ON}", Budget(), "told to all"),
    (AppliesAborts, HELD, Budget(), "as decided"),
    (LosesTheReplay, f"{HELD} claims=nothing_passed_over", Budget(), "nothing passed over"),
    *read_edits(Path(__file__).with_name("faults.txt"), vars(cases)),
]


(
    test_a_deliberate_fault_is_found,
    test_without_the_fault_nothing_is_found,
    test_every_claim_is_broken_by_a_fault_or_a_case,
) = make_tests(FAULTS, (*LIT, *CLAIMS.values()), SEARCHES.cases)
