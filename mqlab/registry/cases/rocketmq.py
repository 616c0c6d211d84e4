"""The systems that are searched: what RocketMQ keeps, what each safeguard is for, and what
even RocketMQ does not promise. Data only; `registry/searches.py` searches them.

    mqlab explore rocketmq                      the most telling systems, half a minute
    mqlab explore rocketmq --table              all lesson systems
    mqlab explore rocketmq --off NAME           a case; --safeguards: all of them
    mqlab explore rocketmq --claim NAME         what is not promised

Every system is as small as its point allows; what a lesson system and a case are is said in
`kafka.py` beside this. A search has no clock, so every age is 0 there: with the default
transactionTimeOut a half message stays young for ever and is not asked about; with `timeout_ms=0` a
check may overtake the end of a transaction, as in real life a slow end is overtaken. `persist_ms=0`
writes offsets at once and spares a search the timer.
"""

from __future__ import annotations

from ...explore import Budget
from ...kernel import tr
from ..searches import Case, Searched, Searches, without

ORDER = "'app=send-in-transaction orders-0 A'"
NEXT = "'twin=send-in-transaction orders-0 B'"
TWIN = "producers=app:order-service,twin:order-service"
SHOP = "consumers=shop 'shop=consume; consume'"
#: offsets are on the disk at once; a half message may be asked about, twice at most
ASKED = "rocketmq timeout_ms=0 persist_ms=0 check_max=2"
EITHER = ("5.5", "4.9")


def lesson_system(release: str = "5.5", twin: bool = True) -> str:
    """The system line of the RocketMQ lesson: an order service with its database, a broker that
    asks, and (`twin`) a second process of the service, with an order each."""
    versions = f"rocketmq release={release} timeout_ms=0 persist_ms=0 check_max=2"
    return f"{versions} {TWIN} {ORDER} {NEXT}" if twin else f"{versions} {ORDER}"


#: of `lesson_system()`
BUDGET = Budget(timers=2)

#: What one would like to search in one go: more than a million states. What gives way is, in this
#: order, the second order, timers, then stop, broken connection and consumer at the same time.
WHOLE = Searched(
    "all at once, 5.5", f"{lesson_system()} {SHOP}", Budget(kills=1, breaks=1, timers=3)
)


def _lesson_systems() -> tuple[Searched, ...]:
    """The lesson's RocketMQ systems for both releases. Each is searched to the end within a million
    states."""
    systems = []
    for release in EITHER:
        alone = lesson_system(release, twin=False)
        # the twin sends nothing; `early=on` lets the broker know it, so that it can be asked once
        # `app` is dead
        with_twin = alone.replace(ORDER, f"{TWIN} early=on {ORDER}")
        sent_back = f"{alone} consumers=shop 'shop=consume later; consume'"
        systems += [
            Searched(f"second instance, {release}", lesson_system(release), BUDGET),
            Searched(f"stop, {release}", alone, Budget(kills=1, timers=2)),
            Searched(f"two stops, {release}", alone, Budget(kills=2, timers=1)),
            Searched(f"break, {release}", alone, Budget(breaks=1, timers=2)),
            Searched(f"stop and break, {release}", alone, Budget(kills=1, breaks=1, timers=1)),
            Searched(
                f"sender stops, {release}", with_twin, Budget(kills=1, timers=2, killable=("app",))
            ),
            Searched(f"shop, {release}", f"{alone} {SHOP}", Budget(timers=1)),
            Searched(
                f"shop stops, {release}", f"{alone} {SHOP}", Budget(kills=1, killable=("shop",))
            ),
            Searched(f"shop sends back, {release}", sent_back, Budget(timers=1)),
        ]
    return tuple(systems)


LESSON_SYSTEMS = _lesson_systems()


def _quick_systems() -> tuple[Searched, ...]:
    """The systems that `mqlab explore rocketmq` searches when none is named, about half a minute
    for all. Searched: a name, a system line, the bounds (by default no faults and no timers).
    `extra_claims`: what RocketMQ does not promise in general, searched where a system cannot break
    it."""
    extra_claims = (
        "claims=delivered_once,passed_over,final,set_aside_or_delivered,row_delivered,"
        "asks_the_living"
    )
    one_order, plain = lesson_system(twin=False), f"rocketmq persist_ms=0 {ORDER}"
    two_orders = f"queues=2 {TWIN} {ORDER} {NEXT.replace('orders-0', 'orders-1')}"
    # `listener A B …`: what the local transaction returns, then what each check is answered.
    # `early=on`: the broker knows the producers before they send.
    unanswered = "'app=listener UNKNOW UNKNOW; send-in-transaction orders-0 A; listener {}; {}'"
    next_unanswered = unanswered.format("COMMIT_MESSAGE UNKNOW", "send-in-transaction orders-0 B")
    next_rolled_back = unanswered.format(
        "COMMIT_MESSAGE ROLLBACK_MESSAGE", "send-in-transaction orders-0 B"
    )
    checks_used_up = one_order.replace("max=2", "max=1").replace(ORDER, next_unanswered)
    registered = one_order.replace(ORDER, f"{TWIN} early=on {ORDER} claims=asks_the_living,final")
    shop = f"{plain} consumers=shop"
    app, broker, reader = ("app",), ("broker",), ("shop",)
    return (
        Searched("two orders", f"rocketmq persist_ms=0 {two_orders} {extra_claims}"),
        Searched("no answer", one_order.replace(ORDER, next_unanswered), Budget(timers=4)),
        Searched("no answer, parked", checks_used_up, Budget(timers=4)),
        Searched("rolled back late", one_order.replace(ORDER, next_rolled_back), Budget(timers=4)),
        Searched("database", plain, Budget(power_cuts=1, killable=("db",))),
        Searched(
            "flushed",
            f"{plain} flush=sync claims=row_delivered",
            Budget(power_cuts=1, killable=broker),
        ),
        Searched("second instance, one round", lesson_system(), Budget(timers=1)),
        Searched("break", one_order, Budget(breaks=1, timers=2)),
        Searched("stop, 4.9", lesson_system("4.9", twin=False), Budget(kills=1, timers=2)),
        Searched("sender dies", registered, Budget(kills=1, timers=2, killable=app)),
        Searched("broker stops", one_order, Budget(kills=1, timers=3, killable=broker)),
        Searched(
            "offsets written later",
            one_order.replace(" persist_ms=0", ""),
            Budget(kills=1, timers=3, killable=broker),
        ),
        Searched("stop and break", one_order, Budget(kills=1, breaks=1, timers=1)),
        Searched("two stops", one_order, Budget(kills=2, timers=1)),
        Searched("shop stops", f"{shop} 'shop=consume; consume'", Budget(kills=1, killable=reader)),
        Searched("shop sends back", f"{shop} 'shop=consume later; consume'", Budget(timers=1)),
        Searched(
            "dead letters",
            f"{shop} retry_max=1 'shop=consume later; consume later; consume'",
            Budget(timers=2),
        ),
    )


QUICK = _quick_systems()

DUPLICATE = tr("duplicate")
FRACTURED = tr("fractured outcome (a row without its message)")
ORPHANED = tr("orphaned half message")
_UNKNOWN = "'app=listener UNKNOW UNKNOW; send-in-transaction orders-0 A'"
_HASTY = "'app=listener COMMIT_MESSAGE ROLLBACK_MESSAGE; send-in-transaction orders-0 A'"
_LATER = "'app=listener UNKNOW COMMIT_MESSAGE; send-in-transaction orders-0 A'"
_OTHER = "'other=send-in-transaction orders-0 B; end COMMIT_MESSAGE B commit_log_offset=0'"
_ONCE = "rocketmq timeout_ms=0 persist_ms=0 check_max=1"
#: long enough for the check to give up a half message; the process may start again
_APP_DIES = Budget(kills=1, timers=2, killable=("app",))

_SAFEGUARDS = (
    without("half_topic",
            tr("the message can be read before its local transaction is over, and the process "
               "dies: its row never comes"),
            tr("dirty read (P1)"), f"rocketmq {ORDER} claims=row_comes", "row comes",
            Budget(kills=1, killable=("app",))),
    without("op_topic",
        tr("nothing says that a half message has ended: it is asked about, and committed again"),
        DUPLICATE, f"{ASKED} {ORDER} claims=passed_over", "passed over", Budget(timers=2)),
    without("check_back",
            tr("the process dies before it has said how its transaction ended, and nobody asks"),
            ORPHANED, f"rocketmq {ORDER} claims=ends", "ends", Budget(kills=1, killable=("app",))),
    without("check_limit", tr("nobody ever knows the answer, and the broker asks for ever"),
            ORPHANED, f"{_ONCE} {_UNKNOWN} claims=ends", "ends", Budget(timers=3)),
    without("immunity", tr("the check overtakes the end of a transaction that was in no trouble"),
            DUPLICATE, f"rocketmq persist_ms=0 {ORDER} claims=delivered_once", "delivered once",
            Budget(timers=1)),
    without("put_back",
            tr("the check asks once, learns nothing, and never comes back to this half message"),
            ORPHANED, f"{ASKED} {ORDER} claims=ends", "ends", Budget(timers=1, breaks=1)),
    without("any_producer",
        tr("the sender is gone for good, and its second instance, which could tell, is not "
           "checked"),
        ORPHANED, f"rocketmq timeout_ms=0 persist_ms=0 {TWIN} early=on {ORDER} claims=can_be_asked",
        "can be asked", Budget(kills=1, timers=1, killable=("app",), restartable=())),
    without("message_before_op",
            tr("the half message counts as ended, and the broker dies before it has written the "
               "message"),
            FRACTURED, f"rocketmq release=4.9 persist_ms=0 {ORDER}", "row with message",
            Budget(kills=1, killable=("broker",))),
    without("end_validation",
            tr("another group's producer commits the half of a process that has died: its row "
               "never comes"),
            tr("dirty read (P1)"),
            f"rocketmq producers=app:order-service,other:billing {ORDER} {_OTHER} claims=row_comes",
            "row comes", Budget(kills=1, killable=("app",))),
    without("half_before_execute",
            tr("the row is written, and the process dies before its message has left"), FRACTURED,
            f"rocketmq {ORDER}", "row with message", Budget(kills=1, killable=("app",))),
    without("exception_is_unknown",
            tr("the row is written, the answer is lost, and the exception is taken for a rollback"),
            FRACTURED, f"rocketmq {ORDER}", "row with message", Budget(breaks=1)),
    without("consumer_retry", tr("the consumer fails once, and the message never comes again"),
            tr("lost write"),
            "rocketmq persist_ms=0 consumers=shop claims=applied_or_kept 'app=send orders-0 A' "
            "'shop=consume later'",
            "applied or kept"),
    without("idempotent_consumer",
            tr("the consumer dies after its work and before it has said so, and works again"),
            DUPLICATE, f"rocketmq persist_ms=0 'app=send orders-0 A' {SHOP}", "applied once",
            Budget(kills=1, killable=("shop",))),
)  # fmt: skip
SAFEGUARD_CASES = {case.off: case for case in _SAFEGUARDS}

_CLAIMS = (
    Case("late-end",
         tr("an end that is slow is overtaken by a check: both say COMMIT, and both count"),
         DUPLICATE, f"{ASKED} {ORDER} claims=delivered_once", "delivered once", Budget(timers=1)),
    Case("op-lost",
         tr("the broker dies before it has recorded an end: the half message is asked about again"),
         DUPLICATE, f"{ASKED} {ORDER} claims=passed_over", "passed over",
         Budget(kills=1, timers=2, killable=("broker",))),
    Case("rollback-then-commit",
         tr("a check is answered by ROLLBACK, and the COMMIT that was on its way still delivers"),
         tr("aborted read (G1a)"), f"{ASKED} {_HASTY} claims=final", "final", Budget(timers=2)),
    Case("last-check",
         tr("the last check races with the discard: the half message is set aside, and then "
            "committed"),
         tr("fractured outcome (set aside and delivered)"),
         f"{_ONCE} {_LATER} claims=set_aside_or_delivered", "set aside or delivered",
         Budget(timers=2)),
    Case("nobody-answers",
         tr("the only process of the group dies: every check counts, nobody answers, and the half "
            "message is set aside"),
         ORPHANED, f"{_ONCE} {ORDER} claims=row_delivered", "row delivered", _APP_DIES),
    Case("power-cut",
         tr("a half message is acknowledged before it is on the disk, and its row is committed"),
         tr("lost write"), f"rocketmq {ORDER} claims=row_delivered", "row delivered",
         Budget(power_cuts=1, killable=("broker",))),
)  # fmt: skip
CLAIM_CASES = {case.name: case for case in _CLAIMS}

SEARCHES = Searches(
    lesson=Searched("lesson", lesson_system(), BUDGET),
    systems=(*LESSON_SYSTEMS, WHOLE),
    safeguards=SAFEGUARD_CASES,
    claims=CLAIM_CASES,
    quick=QUICK,
)
