"""Lab 04's tables: what becomes of order 580538 when its end does not come in, case by case.

Each function runs the stories of one table now and gives the table as text; the stories are above
it. A scenario that a lab shows as a picture is written in the lab, except `NOBODY`: it would be an
answer to the lab's first exercise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

from ...kernel import Property, Snapshot, Table, Trace, Words, World, replace, tr
from ...kernel.options import UNWRITTEN
from ...kernel.world import NodeState
from ...registry import scenario
from ...registry.tables import in_words, table
from ...rocketmq.application import TABLE
from ...rocketmq.producer import SendInTransaction
from .endings import ORDER, list_deliveries, list_questions, look_back, wait_for_checks
from .systems import OrderServiceSystem

# ---- when, and whom ------------------------------------------------------------------

SECONDS = (0, 23, 24, 25, 29)
LOST_AT = f"""
# When is it asked about?
system order_service early=on
lose app→broker EndTransaction#1
at {{at_ms}}
run app: send-in-transaction orders-0 {ORDER} {{immunity}}
fire app heartbeat
{wait_for_checks(3)}
"""
IN_THE_END = Words("{hours} hours: {dead} in the dead letter queue, {left}")
BROADCASTING = Words(
    "broadcasting: {dead} in the dead letter queue, counted {booked}×: failed once, gone"
)


def tabulate_first_questions() -> str:
    """When an order is asked about first whose end is lost, by the second at which it was sent;
    the last one has an immunity of its own."""
    rows = []
    for second, own in [*((second, 0) for second in SECONDS), (0, 60)]:
        given = f"immunity={own}" if own else ""
        story = LOST_AT.format(at_ms=second * 1_000, immunity=given)
        at_ms, _, number = list_questions(scenario(story))[0]
        at = at_ms // 1_000
        rows.append((f"{second} s", f"{own or 6} s", f"{at} s", f"{at - second} s", number))
    return table("order sent at | immunity | first question at | age then | check number", rows)


KILL = "kill app when=EndTransaction#1"
#: what becomes of the sender: (other processes, before the order, after it)
SENDERS = {
    "the sender lives": ("", "lose app→broker EndTransaction#1", "fire app heartbeat"),
    "it dies, second instance lives": (",twin:order-service", KILL, ""),
    "it dies and is back": ("", KILL, "restart app"),
    "it dies, another group lives": (",stock:stock-service", KILL, ""),
}
ASKED = f"""
# Who can answer?
system order_service service={{service}} early=on producers=app:order-service{{others}}
{{before}}
run app: send-in-transaction orders-0 {ORDER}
{{after}}
{wait_for_checks(1)}
"""


def tabulate_answerers() -> str:
    """Who is asked, and what is left, with a listener that looks the row up and with one that
    keeps a note in its process."""
    rows = []
    for name, (others, before, after) in SENDERS.items():
        stories = [
            ASKED.format(service=service, others=others, before=before, after=after)
            for service in ("right", "memory")
        ]
        clients = ", ".join(client for _, client, _ in list_questions(scenario(stories[0])))
        rows.append((name, clients or "none", *map(look_back, stories)))
    return table("| asked | looks the row up | keeps it in memory", rows)


NOBODY = f"""
# The service is back at once
system order_service {{version}} check_max=2
kill app when=EndTransaction#1
run app: send-in-transaction orders-0 {ORDER}
restart app
{{rounds}}
"""


def come_back() -> Trace:
    """The service dies, and is back at once without having sent anything."""
    story = NOBODY.format(version="", rounds=wait_for_checks(3))
    return scenario(story, recorded="nobody-to-ask")


def tabulate_registrations() -> str:
    """What becomes of the half when the service is back, by when a producer registers."""
    rows = []
    for name, version, rounds in [
        ("5.5, nothing sent yet", "", wait_for_checks(3)),
        ("5.5, topics in the constructor", "early=on", wait_for_checks(1)),
        ("4.9", "release=4.9", "at 60000\nfire broker check"),
    ]:
        story = NOBODY.format(version=version, rounds=rounds)
        rows.append((name, len(list_questions(scenario(story))), look_back(story)))
    return table("the producer | questions | what is left", rows)


# ---- how often -----------------------------------------------------------------------

UNKNOWN = f"""
# Every check is answered UNKNOW
system order_service early=on
run app: listener UNKNOW UNKNOW, send-in-transaction orders-0 {ORDER}
{wait_for_checks(16)}
"""
ASKED_FOR = Words("asked {n} times, from {began} s to {ended} s")
SET_ASIDE = Words("set aside at {at} s: {left}")
THEN = Words("{name}: {n} message")
LATER = {
    tr("then a COMMIT comes"): f"run app: end COMMIT_MESSAGE {ORDER}",
    tr("then an operator resumes it"): "run app: listener UNKNOW COMMIT_MESSAGE, resume 16\n"
    + wait_for_checks(1, since=17),
}


def describe_limit() -> str:
    """The questions about a half message that is never decided, and what still delivers it."""
    run = scenario(UNKNOWN)
    questions = list_questions(run)
    began, ended = (questions[place][0] // 1_000 for place in (0, -1))
    parked = run.facts[-1].at_ms // 1_000
    lines = [
        ASKED_FOR(n=len(questions), began=began, ended=ended),
        SET_ASIDE(at=parked, left=in_words(str(look_back(UNKNOWN)))),
        *(THEN(name=name, n=look_back(UNKNOWN + line).messages) for name, line in LATER.items()),
    ]
    return "\n".join(map(str, lines))


# ---- how it ends ---------------------------------------------------------------------

ROLLBACK = (
    "# A rollback\nsystem order_service early=on {off}\n{lose}\n"
    f"run app: listener ROLLBACK_MESSAGE UNKNOW, send-in-transaction orders-0 {ORDER}\n{{then}}\n"
)
ROLLBACKS = {
    "the rollback arrives": ("", "", "at 3000\nfire broker op batch"),
    "it is lost": ("", "lose app→broker EndTransaction#1", "fire app heartbeat"),
    "it arrives, nothing is recorded": ("off=op_topic", "", ""),
}


def tabulate_rollbacks() -> str:
    """What a rollback leaves in the broker, and whether the next round asks about it."""
    rows = []
    for name, (off, lose, then) in ROLLBACKS.items():
        story = ROLLBACK.format(off=off, lose=lose, then=then) + wait_for_checks(1)
        left = look_back(story)
        questions = len(list_questions(scenario(story)))
        rows.append((name, left.halves, left.ops, left.messages, questions))
    return table("| half messages | op records | messages | questions in the next round", rows)


LATE = f"""
# An end that is overtaken by a check
system order_service producers=app:order-service,twin:order-service early=on \
    consumers=accounting {{off}}
hold twin→broker EndTransaction#1
run twin: send-in-transaction orders-0 {ORDER}
at 30000
fire broker check
release twin→broker EndTransaction#1
run accounting: consume
"""
KILLED = f"""
# The broker is killed before it has recorded the end
system order_service early=on consumers=accounting {{off}}
run app: send-in-transaction orders-0 {ORDER}
kill broker
restart broker
fire app heartbeat
at 30000
fire broker check
run accounting: consume
"""
AGAIN = f"""
# The answer to the half message is lost: it is sent again, and stored twice
system order_service early=on consumers=accounting {{off}}
lose app→broker ⇒SendMessage#1
run app: send-in-transaction orders-0 {ORDER}
at 3000
fire broker op batch
at 30000
fire broker check
run accounting: consume
"""
ACCIDENTS = {
    "a slow end": LATE,
    "the op record is lost": KILLED,
    "the half message is stored twice": AGAIN,
}


def tabulate_duplicates() -> str:
    """Three accidents that lead to two messages, and how often accounting counts the order."""
    rows = []
    for name, story in ACCIDENTS.items():
        offs = ("off=idempotent_consumer", "")
        plain, careful = (look_back(story.format(off=off)) for off in offs)
        rows.append((name, plain.messages, plain.booked, careful.booked))
    return table("why | messages | counted | counted if accounting looks the order up first", rows)


# ---- the consumer --------------------------------------------------------------------

BROADCAST = f"""
# In broadcasting mode
system order_service consumers=accounting model=broadcasting
run app: send-in-transaction orders-0 {ORDER}
run accounting: consume later, consume, consume
"""
TAKEN_BACK = f"""
# Taken back by an order of its own
system order_service consumers=accounting retry_max=0
run app: send-in-transaction orders-0 {ORDER}
run accounting: consume later
run app: send-in-transaction orders-0 cancel-{ORDER}
run accounting: consume
"""


def tabulate_deliveries() -> str:
    """When a message is delivered that accounting can never process, and what is left of it. The
    deliveries 5 to 15 are left out: each waits longer than the one before."""
    times, left = list_deliveries()
    waited = [0, *(after - before for before, after in pairwise(times))]
    rows = [
        (number, f"{at} s", f"{wait} s")
        for number, (at, wait) in enumerate(zip(times, waited, strict=True), 1)
        if number <= 4 or number >= 16
    ]
    hours = f"{times[-1] / 3_600:.1f}"
    end = str(IN_THE_END(hours=hours, dead=left.dead, left=in_words(str(left))))
    once = look_back(BROADCAST)
    more = str(BROADCASTING(dead=once.dead, booked=once.booked))
    return "\n".join((table("delivery | after | waited", rows), end, more))


def describe_taken_back() -> str:
    """An order whose message is dead, and the one that takes it back."""
    run = scenario(TAKEN_BACK)
    rows = "  ".join(" ".join(row) for row in run.snapshot(-1).tables[0].rows)
    answer = next(fact.text for fact in reversed(run.facts) if fact.glyph == "☞")
    return f"{tr('rows:      ')} {rows}\n{tr('accounting:')} {answer}"


def describe_delayed() -> str:
    """What the two clients make of a transactional message with a delay of a minute."""
    lines = []
    for release in ("5.5", "4.9"):
        run = scenario(f"""
# With delay level 5, which is a minute
system order_service release={release} consumers=accounting
run app: send-in-transaction orders-0 {ORDER} delay=5
run accounting: consume
""")
        lines += [f"{release}  {f.node:10}  {f.text}" for f in run if f.glyph == "☞"]
    return "\n".join(lines)


# ---- The order desk: an order service that tells its customers what became of their orders
#
#     system order_desk 'app=send-in-transaction orders-0 580538'
#
# `sendMessageInTransaction` returns two words, how the half message was stored and what the local
# transaction came to. A rule makes one answer out of them, as the last line of `createOrder` does:
# "placed", "not placed" or "not known". The light *told* is red where something reported to a
# customer is not so: placed, and there is no row; not placed, and there is one.

PLACED, NOT_PLACED, NOT_KNOWN = ANSWERS = ("placed", "not placed", "not known")
Rule = Callable[[str, str], str]

TOLD = Words("what customers were told is so")
FOR_CERTAIN = Words("some customer is told for certain")
CUSTOMERS = Words("what customers were told")
COLUMNS = ("order", "told")


def answer(send_status: str, local_state: str) -> str:
    """What the two words mean for a customer. The first is about the half message alone."""
    known = {"COMMIT_MESSAGE": PLACED, "ROLLBACK_MESSAGE": NOT_PLACED}
    return known.get(local_state, NOT_KNOWN)


@dataclass(frozen=True)
class OrderDeskSystem(OrderServiceSystem):
    """`service`: here one that refuses cancellations, if nothing else is said. `answer`: the
    rule."""

    service: str = "refusing"
    answer: Annotated[Rule, UNWRITTEN] = answer

    name = "order_desk"

    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (*super().functions(), self.answer)

    def snapshot(self, world: World) -> Snapshot:
        seen = super().snapshot(world)
        answers = Table(CUSTOMERS(), COLUMNS, tuple(sorted(self.list_answers(world))))
        return replace(seen, tables=(answers, *seen.tables))

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        kept = (claim for claim in super()._properties if claim.kind != "sometimes")
        return (
            Property("told", TOLD(), self._is_so, "always", self._looks_at),
            *kept,
            Property("certain", FOR_CERTAIN(), self._is_certain, "sometimes", self._looks_at),
        )

    def _is_so(self, world: World) -> bool:
        rows = world.disk(self.config.database).table(TABLE)
        return all(
            answer == NOT_KNOWN or (answer == PLACED) == (order in rows)
            for order, answer in self.list_answers(world)
        )

    def _is_certain(self, world: World) -> bool:
        return any(answer != NOT_KNOWN for _, answer in self.list_answers(world))

    def _looks_at(self, name: str, node: NodeState) -> Hashable:
        if name == self.config.database:
            return node.disk
        return node.app.results if node.app is not None else None

    def list_answers(self, world: World) -> Iterator[tuple[str, str]]:
        """Each order whose call has returned, with what was reported to its customer."""
        for node, _ in self.producers:
            app = world.nodes[node].app
            for got in app.results if app is not None else ():
                if isinstance(got.call, SendInTransaction) and got.ok:
                    yield got.call.order, self.answer(*got.detail.split())
