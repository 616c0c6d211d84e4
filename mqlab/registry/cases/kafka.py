"""The systems that are searched: what Kafka keeps, what each safeguard is for, and what
even Kafka does not promise. Data only; `registry/searches.py` searches them.

    mqlab explore kafka                      the most telling systems, half a minute
    mqlab explore kafka --table              all lesson systems
    mqlab explore kafka --off NAME           a case; --safeguards: all of them
    mqlab explore kafka --claim NAME         what is not promised

Every system is as small as its point allows. A *lesson system* has everything switched on:
its search ends, and finds nothing. A *case* is the smallest system in which one missing
safeguard (or, of the claims, nothing missing at all) leads to an anomaly, named as Adya
("Weak Consistency", 1999) or Jepsen name it. With its safeguard on the same system is
searched to the end as well, and nothing is found.
"""

from __future__ import annotations

from dataclasses import replace

from ...explore import Budget
from ...kernel import tr
from ..searches import Case, Searched, Searches, without

#: the three real combinations of a cluster's transaction.version and a client's protocol
COMBINATIONS = {
    "v2": "transaction_version=2 client=v2",
    "legacy on 2": "transaction_version=2 client=legacy",
    "legacy on 0": "transaction_version=0 client=legacy",
}
TWIN = "producers=app:order-service,twin:order-service"
APP = "'app=init; begin; send orders-0 a; send orders-1 b; commit'"
SHORT = "'app=init; begin; send orders-0 a; commit'"
OFFSETS = "'app=init; begin; send orders-0 a; send-offsets g orders-0@1; commit'"
NEXT = "'twin=init; begin; send orders-0 c; commit'"


def lesson_system(combination: str = "v2", twin: bool = True) -> str:
    """The system line of the Kafka lesson: two partitions, a coordinator, a producer, and
    (`twin`) the instance that has taken its place; one transaction each."""
    versions = COMBINATIONS[combination]
    return f"kafka {versions} {TWIN} {APP} {NEXT}" if twin else f"kafka {versions} {APP}"


#: of `lesson_system()`: any two timers, those of retries among them
BUDGET = Budget(timers=2)

#: What one would like to search in one go: far more than a million states. What gives way
#: is, in this sequence, timers, retries, then stop, broken connection and second instance together.
WHOLE = Searched("all at once, v2", lesson_system(), Budget(kills=1, breaks=1, timers=2, retries=1))


def _lesson_systems() -> tuple[Searched, ...]:
    """The lesson's Kafka systems for every combination of protocols. Each is searched to the end
    within a million states."""
    systems = []
    for name, versions in COMBINATIONS.items():
        one_log = f"kafka {versions} partitions=1 {SHORT}"
        offsets = f"kafka {versions} partitions=1 groups=1 {OFFSETS}"
        two_logs, twins = f"kafka {versions} {APP}", f"kafka {versions} {TWIN} {SHORT} {NEXT}"
        stops = Budget(kills=1, killable=("coordinator",), retries=1)
        few = Budget(breaks=1, timers=1, retries=1)
        systems += [
            Searched(f"second instance, {name}", lesson_system(name), BUDGET),
            Searched(f"second instance and break, {name}", twins, Budget(breaks=1, retries=1)),
            Searched(f"second instance and stop, {name}", twins, stops),
            Searched(f"break, {name}", two_logs, few),
            Searched(f"stop, {name}", two_logs, Budget(kills=1, timers=1)),
            Searched(f"stop and break, {name}", one_log, replace(few, kills=1)),
            Searched(f"offsets and break, {name}", offsets, Budget(breaks=1, timers=1)),
            Searched(f"offsets and stop, {name}", offsets, Budget(kills=1, timers=1)),
        ]
    return tuple(systems)


LESSON_SYSTEMS = _lesson_systems()

G1A = tr("aborted read (G1a)")
_ABORT = (
    "kafka partitions=1 'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
)
_AGAIN = "'app=init; begin; send orders-0 a; commit; begin; send orders-0 b; abort'"
_BOTH = "kafka 'app=init; begin; send orders-0 a; flush; send orders-1 b; commit'"
_GIVES_UP = (
    "kafka transaction_version=2 client=legacy delivery_timeout_ms=1000 "
    "'app=init; begin; send orders-0 a; abort; begin; send orders-1 b; commit'"
)
_ABORTED = (
    "kafka partitions=1 groups=1 'app=init; begin; send-offsets g orders-0@1; abort; "
    "begin; send-offsets g orders-0@1; commit'"
)
#: and what was aborted is not repeated
_SKIPPED = "kafka partitions=1 groups=1 'app=init; begin; send-offsets g orders-0@1; abort'"

_WORKER = (
    "kafka topic=in partitions=1 producers= groups=1 workers=one claims=in_generation "
    "'one=init; subscribe g in; begin; send-offsets g in-0@1; commit'"
)


def _quick_systems() -> tuple[Searched, ...]:
    """The systems that `mqlab explore kafka` searches when none is named: small relatives of the
    lesson's, about half a minute for all. Searched: a name, a system line, the bounds (by default
    no faults and no timers)."""
    one_order, twins = f"kafka partitions=1 {SHORT}", f"kafka partitions=1 {TWIN} {SHORT} {NEXT}"
    offsets = f"kafka partitions=1 groups=1 {OFFSETS}"
    offset_readers = (
        f"kafka partitions=1 groups=1 readers=one,two {SHORT} "
        "'one=commit-offsets g orders-0@5' 'two=committed g orders-0'"
    )
    plain_app = f"kafka partitions=1 producers=app:order-service,plain:- {SHORT}"
    other_app = f"kafka partitions=1 producers=app:order-service,other:billing {SHORT}"
    member = _WORKER.replace("begin;", "begin; send in-0 a;")
    coordinator, partition = ("coordinator",), ("orders-0",)
    return (
        Searched("abort and commit", _ABORT),
        Searched("two partitions", _BOTH),
        Searched("a plain message beside", f"{plain_app} 'plain=send orders-0 p; flush'"),
        Searched("another beside", f"{other_app} 'other=init; begin; send orders-0 x; commit'"),
        # the slice takes off the final `commit'`, to send before it
        Searched("offsets, abort", f"{_ABORTED[:-7]}send orders-0 b; commit'"),
        Searched("positions", offset_readers),
        Searched("abort and commit, break", f"kafka partitions=1 {_AGAIN}", Budget(breaks=1)),
        Searched("second instance, timer", twins, Budget(timers=1)),
        Searched("gives up, timers", _GIVES_UP, Budget(timers=2)),
        Searched("a member given up, timers", member, Budget(timers=2)),
        Searched("partition stops", one_order, Budget(kills=1, timers=1, killable=partition)),
        Searched("two stops", one_order, Budget(kills=2, killable=coordinator)),
        Searched("two partitions, stop", _BOTH, Budget(kills=1, timers=1, killable=coordinator)),
        Searched("application dies", one_order, Budget(kills=1, timers=1, killable=("app",))),
        Searched("offsets and break", offsets, Budget(breaks=1)),
        Searched("offsets and stop", offsets, Budget(kills=1, killable=coordinator)),
        Searched("second instance and stop", twins, Budget(kills=1, killable=coordinator)),
        Searched("break, timer", one_order, Budget(breaks=1, timers=1)),
        *(
            searched
            for searched in LESSON_SYSTEMS
            if searched.name in ("offsets and break, v2", "break, legacy on 2")
        ),
        Searched("legacy, break", f"kafka {COMBINATIONS['legacy on 2']} {APP}", Budget(breaks=1)),
    )


_SAFEGUARDS = (
    without("epoch_fencing",
            tr("the old instance writes and commits after its successor took over"),
            tr("zombie write"), f"kafka partitions=1 {TWIN} {SHORT} {NEXT} claims=fenced_out",
            "fenced out", Budget(timers=1)),
    without("sequence_check", tr("an answer is lost, the batch is sent again and written twice"),
            tr("duplicate"), f"kafka partitions=1 {SHORT} claims=once", "once", Budget(breaks=1)),
    without("lso", tr("a record is read before anybody has decided"), tr("dirty read (P1)"), _ABORT,
            "clean read"),
    without("aborted_index", tr("a consumer is not told what was aborted and hands it out"), G1A,
            _ABORT, "clean read"),
    without("prepare_before_markers",
            tr("a decision is forgotten: one partition commits, the other aborts"),
            tr("fractured outcome (atomicity violated)"), _BOTH, "same outcome",
            Budget(kills=1, killable=("coordinator",), timers=1)),
    without("transaction_timeout",
            tr("an application never ends its transaction, and nobody ends it for it"),
            tr("stuck consumer (abandoned transaction)"),
            "kafka partitions=1 'app=init; begin; send orders-0 a; flush' claims=ends", "ends",
            Budget(timers=1)),
    without("verification", tr("a late record opens a transaction that nobody will end"),
        tr("hanging transaction (KIP-890)"), f"{_GIVES_UP} claims=ends", "ends", Budget(timers=2)),
    without("epoch_bump", tr("a marker commits a record of the next transaction, yet undecided"),
            G1A, f"kafka partitions=1 {_AGAIN} claims=as_asked", "as asked", Budget(breaks=1)),
    without("offsets_in_transaction",
            tr("positions count at once, and stay when their transaction aborts"),
            tr("lost write (input skipped)"), f"{_SKIPPED} claims=offsets_with_output",
            "offsets with output"),
    without("generation_fencing",
            tr("a member that the group has given up still adds its positions"),
            tr("zombie write (of positions)"), _WORKER, "in generation", Budget(timers=2)),
)  # fmt: skip
SAFEGUARD_CASES = {case.off: case for case in _SAFEGUARDS}

#: A legacy client's epoch stays, so what was sent twice may arrive in its next transaction: an
#: EndTxn, a marker. Not a record: a producer that gives up on a batch raises the epoch (KIP-360).
_LEGACY = f"kafka transaction_version=2 client=legacy partitions=1 {_AGAIN}"
_CLAIMS = (
    Case("torn-read",
         tr("markers arrive one by one: a reader gets half of a committed transaction"),
         tr("torn read (fractured read)"), f"kafka {APP} claims=whole_read", "whole read"),
    Case("late-end-txn",
         tr("an EndTxn that was sent twice arrives late and commits the next transaction"),
         tr("aborted read, lost write (KAFKA-17754)"), f"{_LEGACY} claims=decided_as_asked",
         "decided as asked", Budget(breaks=1)),
    Case("late-marker",
         tr("a marker that was sent twice arrives late and ends the next transaction here"),
         tr("aborted read (KAFKA-19446)"), f"{_LEGACY} claims=as_asked", "as asked",
         Budget(breaks=1)),
    Case("power-cut",
         tr("a commit is acknowledged on replication, not on disk, and there is one copy"),
         tr("lost write"), f"kafka partitions=1 {SHORT} claims=no_lost_write", "no lost write",
         Budget(power_cuts=1, killable=("orders-0",))),
)  # fmt: skip
CLAIM_CASES = {case.name: case for case in _CLAIMS}

SEARCHES = Searches(
    lesson=Searched("lesson", lesson_system(), BUDGET),
    systems=(*LESSON_SYSTEMS, WHOLE),
    safeguards=SAFEGUARD_CASES,
    claims=CLAIM_CASES,
    quick=_quick_systems(),
)
