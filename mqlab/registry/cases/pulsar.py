"""The systems that are searched: what Pulsar keeps, what each safeguard is for, and what even
Pulsar does not promise. Data only; `registry/searches.py` searches them.

    mqlab explore pulsar                      the most telling systems, half a minute
    mqlab explore pulsar --table              all lesson systems
    mqlab explore pulsar --off NAME           a case; --safeguards: all of them
    mqlab explore pulsar --claim NAME         what is not promised

Every system is as small as its point allows; what a lesson system and a case are is said in
`kafka.py` beside this. A search has no clock: a transaction's timeout may fire at any moment,
within the bound on timers. A crash and a restart of a partition's node is what unloading it is in
Pulsar.
"""

from __future__ import annotations

from ...explore import Budget
from ...kernel import tr
from ..searches import Case, Searched, Searches, without

BEGIN = "new-transaction t1; send orders-0 a txn=t1"
ORDER = f"'app={BEGIN}; commit t1'"
GIVEN_UP = f"'app={BEGIN}; abort t1'"
SHOP = "clients=app,shop"
READ = "'shop=subscribe orders-0 s from=earliest; receive s'"
#: one message is received and acknowledged in a transaction, and another one is sent there
_STEPS = "subscribe orders-0 s from=earliest type={type}; send orders-0 a; receive s"
PASS_ON = (
    f"topic=orders,income 'app={_STEPS.format(type='Exclusive')}; new-transaction t1; "
    "ack s txn=t1; send income-0 b txn=t1; commit t1'"
)
SHARED = _STEPS.format(type="Shared")


def lesson_system() -> str:
    """The system line of the Pulsar lesson: a transaction over two partitions, and a consumer."""
    return f"pulsar partitions=2 {SHOP} 'app={BEGIN}; send orders-1 b txn=t1; commit t1' {READ}"


#: of `lesson_system()`
BUDGET = Budget(kills=1, killable=("tc-0",))

#: What one would like to search in one go: more than a million states. What gives way is, in this
#: order, the second partition, timers, then stop and broken connection at the same time.
WHOLE = Searched("all at once", lesson_system(), Budget(kills=1, breaks=1, timers=1))


LESSON_SYSTEMS = (
    Searched("two partitions, the coordinator stops", lesson_system(), BUDGET),
    Searched("commit, stop", f"pulsar {SHOP} {ORDER} {READ}", Budget(kills=1)),
    Searched(
        "commit, two stops", f"pulsar {ORDER}", Budget(kills=2, killable=("tc-0", "orders-0"))
    ),
    Searched("commit, break", f"pulsar {SHOP} {ORDER} {READ}", Budget(breaks=1)),
    Searched("commit, timers", f"pulsar {SHOP} {ORDER} {READ}", Budget(timers=2)),
    Searched("abort, stop", f"pulsar {SHOP} {GIVEN_UP} {READ}", Budget(kills=1)),
    Searched("abort, break", f"pulsar {SHOP} {GIVEN_UP} {READ}", Budget(breaks=1)),
    Searched("pass on, stop", f"pulsar {PASS_ON}", Budget(kills=1)),
    Searched("pass on, break", f"pulsar {PASS_ON}", Budget(breaks=1)),
    Searched("pass on, timers", f"pulsar {PASS_ON}", Budget(timers=1)),
)


def _quick_systems() -> tuple[Searched, ...]:
    """The systems that `mqlab explore pulsar` searches when none is named, about half a minute for
    all. Searched: a name, a system line, the bounds (by default no faults and no timers).
    `extra_claims`: what Pulsar does not promise in general, searched where a system cannot break
    it."""
    extra_claims = "claims=one_marker,unblocked,state_tells,stored_once,committed_stays"
    shared_reader = "'app=subscribe orders-0 s from=earliest type=Shared"
    abort_commit = (  # two ends, and a snapshot after each
        "pulsar snapshot_count=1 'app=new-transaction t0; send orders-0 a txn=t0; abort t0; "
        "new-transaction t1; send orders-0 b txn=t1; commit t1'"
    )
    second_writes_first = (  # the second transaction is the first to write
        "pulsar snapshot_count=1 'app=new-transaction t1; new-transaction t2; "
        "send orders-0 a txn=t2; send orders-0 b txn=t1; send orders-0 p; commit t1; abort t2'"
    )
    acked_early = (  # acknowledged, and given back, before it could be read; then aborted
        f"pulsar {shared_reader}; new-transaction t0; send orders-0 a txn=t0; new-transaction t1; "
        "ack s orders-0@0 txn=t1; abort t1; abort t0'"
    )
    ack_aborted = f"{_HELD}; abort t1; receive s; new-transaction t2; ack s txn=t2; commit t2'"
    acked_out_of_turn = (
        f"pulsar {shared_reader}; send orders-0 a; send orders-0 b; receive s; ack s orders-0@1; "
        "redeliver s; receive s'"
    )
    two_acks = (
        f"pulsar {shared_reader}; send orders-0 a; send orders-0 b; receive s; "
        "new-transaction t1; ack s orders-0@0 txn=t1; new-transaction t2; "
        "ack s orders-0@1 txn=t2; abort t2; commit t1' claims=nothing_passed_over"
    )
    numbered = (  # by the application: a producer that starts again goes on after its last number
        "pulsar dedup=1 'app=send orders-0 a sequence=0; send orders-0 b sequence=1' "
        "claims=stored_once"
    )
    unload, stop = Budget(kills=1, killable=("orders-0",)), Budget(kills=1)
    return (
        Searched("commit", f"pulsar {SHOP} {ORDER} {READ} {extra_claims}"),
        Searched("abort", f"pulsar {SHOP} {GIVEN_UP} {READ} {extra_claims}"),
        Searched("pass on", f"pulsar {PASS_ON} {extra_claims}"),
        Searched("two snapshots", f"{abort_commit} {extra_claims}"),
        Searched("crossed", f"{second_writes_first} {extra_claims}"),
        Searched(
            "acknowledged, aborted", f"pulsar {ack_aborted} claims=nothing_passed_over,state_tells"
        ),
        Searched("acknowledged early, unload", acked_early, unload),
        Searched("numbered, stop and break", numbered, Budget(kills=1, breaks=1)),
        Searched("two acknowledge", two_acks),
        *LESSON_SYSTEMS,
        Searched("two snapshots, stop", abort_commit, stop),
        Searched(
            "two snapshots, read, unload",
            f"{abort_commit.replace('pulsar', f'pulsar {SHOP}')} {READ}",
            unload,
        ),
        Searched("crossed, unload", second_writes_first, unload),
        Searched("crossed, break", second_writes_first, Budget(breaks=1)),
        Searched("two begin, stop", _TWICE, Budget(kills=1, killable=("tc-0",))),
        Searched("acknowledged, aborted, unload", f"pulsar {ack_aborted}", unload),
        Searched("acknowledged, aborted, break", f"pulsar {ack_aborted}", Budget(breaks=1)),
        Searched("acknowledged beyond, break", acked_out_of_turn, Budget(breaks=1)),
        Searched("client dies", f"pulsar {ORDER}", _APP_DIES),
    )


DIRTY = tr("dirty read (P1)")
ABORTED = tr("aborted read (G1a)")
DUPLICATE = tr("duplicate")
TORN = tr("torn read")
HANGING = tr("hanging transaction")
LOST = tr("lost write")
_ENDED = (
    "'app=new-transaction t0; send orders-0 a txn=t0; commit t0; new-transaction t1; "
    "send orders-0 b txn=t1; commit t1; reopen t0; send orders-0 c txn=t0'"
)
#: the same, and one more that ends; the watermark that refuses c is lost when the partition stops
_STALE = f"{_ENDED[:-1]}; new-transaction t2; send orders-0 d txn=t2; commit t2'"
_BOTH = (
    f"'app={SHARED}; new-transaction t1; ack s orders-0@0 txn=t1; "
    "new-transaction t2; ack s orders-0@0 txn=t2'"
)
_REFUSED = (
    "'app=subscribe orders-0 s from=earliest type=Shared; send orders-0 a; send orders-0 b; "
    "receive s; new-transaction t1; ack s orders-0@0 txn=t1; new-transaction t2; "
    "ack s orders-0@0 orders-0@1 txn=t2'"
)
_HELD = f"'app={SHARED}; new-transaction t1; ack s txn=t1"

_TWICE = "pulsar 'app=new-transaction t1; new-transaction t2; send orders-0 a txn=t2; commit t2'"
_APP_DIES = Budget(kills=1, killable=("app",), restartable=())

_SAFEGUARDS = (
    without("max_read_position",
            tr("a message is sent to consumers while its transaction is still open"), DIRTY,
            f"pulsar {SHOP} {ORDER} {READ}", "clean read"),
    without("filter_aborted", tr("an abort deletes nothing, and nobody leaves the message out"),
            ABORTED, f"pulsar {SHOP} {GIVEN_UP} {READ}", "clean read"),
    without("decision_before_markers",
            tr("a partition has the commit marker, and the coordinator has written no decision"),
            TORN, f"pulsar {ORDER} claims=as_decided", "as decided"),
    without("retry_until_answered",
            tr("a partition was not reached, and the transaction counts as committed all the same"),
            TORN, f"pulsar {ORDER}", "told to all", Budget(kills=1, killable=("orders-0",))),
    without("replay_log",
            tr("a coordinator that is loaded again knows nothing of the open transaction"), HANGING,
            f"pulsar {ORDER} claims=ends", "ends", Budget(kills=1, killable=("tc-0",))),
    without("replay_topic",
            tr("a partition is loaded again and takes the open transaction for plain messages"),
            DIRTY, f"pulsar {ORDER} claims=max_read_position_correct",
            "max read position correct", Budget(kills=1, killable=("orders-0",))),
    without("transaction_timeout",
        tr("the client dies with an open transaction, and nobody ever ends it"), HANGING,
        f"pulsar {ORDER} claims=ends", "ends", Budget(kills=1, killable=("app",), restartable=())),
    without("low_watermark",
            tr("a message of a transaction that ended long ago blocks its partition for ever"),
            HANGING, f"pulsar {_ENDED} claims=unblocked", "unblocked"),
    without("pending_ack_conflict",
            tr("two transactions acknowledge one message, and both may commit"), DUPLICATE,
            f"pulsar {_BOTH}", "one holder"),
    without("pending_ack_log",
            tr("an acknowledgement was answered, and the next load knows nothing of it"), DUPLICATE,
            f"pulsar {_HELD}' claims=pending_kept", "pending kept"),
    without("pending_ack_filter",
            tr("a message that an open transaction has acknowledged is delivered again"), DUPLICATE,
            f"pulsar {_HELD.replace('Shared', 'Exclusive')}; redeliver s' claims=pending_withheld",
            "pending withheld"),
    without("redeliver_aborted",
        tr("the transaction that acknowledged a message aborts, and the message never comes again"),
        LOST, f"pulsar {_HELD}; abort t1' claims=nothing_passed_over", "nothing passed over"),
)  # fmt: skip
SAFEGUARD_CASES = {case.off: case for case in _SAFEGUARDS}

_CLAIMS = (
    Case("open-hides-plain",
         tr("one open transaction hides a plain message that was stored after it"),
         tr("stuck consumer"), f"pulsar {SHOP} {ORDER} 'shop=send orders-0 p' claims=plain_at_once",
         "plain at once"),
    Case("two-markers",
         tr("a coordinator that is loaded again ends the transaction again: two markers"),
         tr("duplicate (of a marker: harmless)"), f"pulsar {ORDER} claims=one_marker", "one marker",
         Budget(kills=1, killable=("tc-0",))),
    Case("error-and-committed",
         tr("the answer to a commit is lost; the client asks again and hears TransactionNotFound"),
         tr("fractured outcome (committed, and an error returned)"),
         f"pulsar {ORDER} claims=state_tells", "state tells", Budget(breaks=1)),
    Case("late-send",
         tr("a message arrives after its transaction was aborted, and blocks the partition"),
         HANGING, f"pulsar {ORDER} claims=unblocked", "unblocked", Budget(timers=1)),
    Case("stale-write",
         tr("a partition that was loaded again takes a stale message, and its abort hides what was "
            "committed"),
         LOST, f"pulsar {_STALE} claims=committed_stays", "committed stays",
         Budget(kills=1, killable=("orders-0",))),
    Case("zombie", tr("a client that was taken for dead commits as well: no name fences it"),
         tr("zombie write"),
         f"pulsar clients=app,twin {ORDER} 'twin={BEGIN}; commit t1' claims=stored_once",
         "stored once"),
    Case("refused-ack",
         tr("one message of a request is refused, and the others are held by nobody any more"),
         LOST, f"pulsar {_REFUSED} claims=nothing_passed_over", "nothing passed over"),
    Case("send-again",
         tr("the answer to a send is lost, and the producer sends again: deduplication is off"),
         DUPLICATE, "pulsar 'app=send orders-0 a' claims=stored_once", "stored once",
         Budget(breaks=1)),
)  # fmt: skip
CLAIM_CASES = {case.name: case for case in _CLAIMS}

SEARCHES = Searches(
    lesson=Searched("lesson", lesson_system(), BUDGET),
    systems=(*LESSON_SYSTEMS, WHOLE),
    safeguards=SAFEGUARD_CASES,
    claims=CLAIM_CASES,
    quick=_quick_systems(),
)
