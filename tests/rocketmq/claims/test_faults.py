"""Faults put into the roles on purpose: each is found, by the claim that it breaks.

The unchanged system is searched with the same bounds and keeps every claim, so what is
found is the fault and nothing else.
"""

from pathlib import Path

from mqlab.explore import Budget
from mqlab.kernel import Append, Fired, Flush, Send, SetTimer, replace
from mqlab.registry.cases import rocketmq as cases
from mqlab.registry.cases.rocketmq import ASKED, ORDER, SEARCHES
from mqlab.rocketmq.application import Database
from mqlab.rocketmq.broker import Broker
from mqlab.rocketmq.broker.timer import CHECK
from mqlab.rocketmq.check import restore_message
from mqlab.rocketmq.claims import CLAIMS, LIT
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC
from mqlab.rocketmq.consumer import Consumer
from mqlab.rocketmq.log import COMMIT_LOG, HALF_KEY, QueueEntry, Stored
from mqlab.rocketmq.messages import EndTransaction, SendMessageResponse
from mqlab.rocketmq.producer import Producer
from mqlab.rocketmq.states import TransactionType
from tests.models.faults import make_tests, read_edits


def body_of(event):
    return getattr(event, "body", None)


def without_records(effects, topic):
    """The effects without what they write into a topic."""
    return tuple(
        e
        for e in effects
        if not (isinstance(e, Append) and e.log.startswith(topic))
        and not (isinstance(e, Append) and e.log == COMMIT_LOG and e.entry.message.topic == topic)
    )


class NoMoreRounds(Broker):
    """After a restart the check service does not start again."""

    @staticmethod
    def started(role, effects):
        return role, tuple(e for e in effects if not isinstance(e, SetTimer))


class OneTooFar(Broker):
    """A round notes one half more than it has examined."""

    def after(self, new, effects, event, disk):
        if isinstance(event, Fired) and event.timer == CHECK:
            new = replace(new, offsets=new.offsets.set(HALF_KEY, new.offsets[HALF_KEY] + 1))
        return new, effects


class EndsOnly(Broker):
    """A commit notes the end of the half and forgets the message."""

    def after(self, new, effects, event, disk):
        if isinstance(body_of(event), EndTransaction):
            effects = without_records(effects, "orders")
        return new, effects


class TakesUnknownForYes(Broker):
    """UNKNOW is taken for COMMIT."""

    def step(self, event, disk):
        ask = body_of(event)
        if isinstance(ask, EndTransaction) and ask.end == TransactionType.NOT_TYPE:
            event = replace(event, body=replace(ask, end=TransactionType.COMMIT_TYPE))
        return Broker.step(self, event, disk)


class ParksNowhere(Broker):
    """What was asked about too often is passed over, and reported nowhere."""

    def after(self, new, effects, event, disk):
        return new, without_records(effects, DISCARD_TOPIC)


class HalfInSight(Broker):
    """A half is written into its real topic as well."""

    def after(self, new, effects, event, disk):
        halves = [
            e.entry
            for e in effects
            if isinstance(e, Append)
            and isinstance(e.entry, Stored)
            and e.entry.message.topic == HALF_TOPIC
        ]
        for half in halves:
            message = restore_message(half)
            seen = Stored(half.base + 1, message, disk.log(message.queue).end)
            entry = QueueEntry(seen.queue_offset, seen.base)
            more = (Append(COMMIT_LOG, seen), Append(message.queue, entry, notify=False))
            effects = (*effects[:2], *more, *effects[2:])
        return new, effects


class EndsFirst(Producer):
    """The transaction is committed before the local transaction has run."""

    def after(self, new, effects, event, disk):
        said = body_of(event)
        if isinstance(said, SendMessageResponse) and new.local is not None:
            yes = EndTransaction(
                new.config.group,
                TransactionType.COMMIT_TYPE,
                said.queue_offset,
                said.commit_log_offset,
                words=new.local.order,
            )
            effects = (Send(new.config.cluster.broker, yes), *effects)
        return new, effects


class ReportsFirst(Consumer):
    """The offset is reported before the work is done."""

    def after(self, new, effects, event, disk):
        return new, tuple(sorted(effects, key=lambda e: not isinstance(e, Send)))


class WorksTwice(Consumer):
    """What an earlier life has done is not looked up, only added to."""

    def step(self, event, disk):
        cluster = self.config.cluster
        blind = replace(cluster, on=cluster.on - {"idempotent_consumer"})
        new, effects = Consumer.step(
            replace(self, config=replace(self.config, cluster=blind)), event, disk
        )
        return replace(new, config=self.config), effects


class RowsInMemory(Database):
    """A row is acknowledged before it is on the disk."""

    def after(self, new, effects, event, disk):
        return new, tuple(e for e in effects if not isinstance(e, Flush))


PLAIN = f"rocketmq persist_ms=0 {ORDER}"
TWICE = "rocketmq timeout_ms=0 persist_ms=0 check_max=1 " + ORDER
SHOP = "rocketmq persist_ms=0 consumers=shop 'app=send orders-0 A' 'shop=consume'"
AGAIN = SHOP.replace("consume'", "consume; consume'")
DIES = Budget(kills=1, killable=("broker",))
SHOP_DIES = Budget(kills=1, killable=("shop",))
FAULTS = [
    (NoMoreRounds, PLAIN, DIES, "ends"),
    (OneTooFar, ASKED + " " + ORDER, Budget(timers=1), "no half message lost"),
    (EndsOnly, PLAIN, Budget(), "row with message"),
    (TakesUnknownForYes, ASKED + " " + ORDER, Budget(timers=1), "message with row"),
    (ParksNowhere, TWICE, Budget(timers=2), "no half message lost"),
    (HalfInSight, PLAIN, Budget(), "clean read"),
    (EndsFirst, PLAIN, Budget(), "message with row"),
    (ReportsFirst, SHOP, SHOP_DIES, "applied or kept"),
    (WorksTwice, AGAIN, SHOP_DIES, "applied once"),
    (RowsInMemory, PLAIN, Budget(power_cuts=1, killable=("db",)), "message with row"),
    *read_edits(Path(__file__).with_name("faults.txt"), vars(cases)),
]


(
    test_a_deliberate_fault_is_found,
    test_without_the_fault_nothing_is_found,
    test_every_claim_is_broken_by_a_fault_or_a_case,
) = make_tests(FAULTS, (*LIT, *CLAIMS.values()), SEARCHES.cases)
