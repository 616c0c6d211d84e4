"""A half and its end: commit, rollback, both, twice, with wrong words."""

from __future__ import annotations

import time

from mqlab.rocketmq.states import TransactionType

from ..client import COMMIT, ROLLBACK, UNKNOW, Half, Lab, Producer
from . import TIMERS, program


def begin(lab: Lab, *words: str, **properties: str) -> tuple[Producer, list[Half]]:
    """A topic, a producer that the broker knows, and its halves."""
    lab.topic("orders")
    app = Producer(lab)
    app.start()
    return app, [app.send("orders-0", word, True, 0, **properties) for word in words]


@program(
    "CommitLog#handleHA: SYNC_MASTER, inSyncReplicas=2, no slave",
    profiles=("5.5",),
    settings={"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"},
)
def slave_timeout(lab: Lab) -> None:
    """5.5 waits for a slave that is not there: slaveTimeout later the half is stored all the same,
    as a rollback needs it. 4.9 says at once that there is none (java-slave-not-available)."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, ROLLBACK)
    lab.written_logs(half=1, op=1, orders=0)


@program(
    "TransactionMessageIT.consumeTransactionMsg, EndTransactionProcessorTest.testProcessRequest",
)
def commit(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    lab.log("orders", 0)
    app.end(o1, COMMIT)
    lab.written_logs(half=1, op=1, orders=1)
    app.round(0)


@program("EndTransactionProcessorTest.testProcessRequest_RollBack")
def rollback(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    app.end(o1, ROLLBACK)
    lab.written_logs(half=1, op=1, orders=0)
    app.round(0)


@program("EndTransactionProcessor#endMessageTransaction")
def committed_properties(lab: Lab) -> None:
    """What consumers see of the transaction in the message itself."""
    app, (o1,) = begin(lab, "o1", KEYS="k1", TAGS="paid")
    app.end_and_write(o1, COMMIT)
    for name, end in (("half", 1), ("orders", 1)):
        for record in lab.log(name, end):
            own = {n: v for n, v in record.properties.items() if n not in UNIQUE}
            known = ", ".join(f"{n}={own[n].removeprefix(lab.wire(''))}" for n in sorted(own))
            lab.note("log", name, f"@{record.queue_offset} properties", known)
            lab.note("log", name, f"@{record.queue_offset} sysFlag", record.sys_flag)


#: never the same twice
UNIQUE = {"UNIQ_KEY", "__transactionId__"}


@program("issue 5574: there is no table of transactions")
def committed_twice(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    app.end(o1, COMMIT)
    app.end(o1, COMMIT)
    lab.written_logs(half=1, op=2 if lab.profile.name == "4.9" else 1, orders=2)
    lab.round()
    lab.round()


@program("issue 2694")
def rollback_then_commit(lab: Lab) -> None:
    """Two op records name one half: only the later one counts as done at once."""
    app, (o1,) = begin(lab, "o1")
    app.end_and_write(o1, ROLLBACK)
    lab.log("orders", 0)
    app.end(o1, COMMIT)
    lab.written_logs(half=1, op=2, orders=1)
    lab.round()
    lab.round()


@program("EndTransactionProcessor#checkPrepareMessage, testProcessRequest_NotType")
def wrong_ends(lab: Lab) -> None:
    app, (o1,) = begin(lab, "o1")
    app.end(o1, COMMIT, group="stock-service")
    app.end(o1, COMMIT, queue_offset=7)
    app.end(o1, COMMIT, group="stock-service", queue_offset=7)
    app.end(o1, COMMIT, commit_log_offset=1_000_000)
    app.end(o1, ROLLBACK, commit_log_offset=9)
    other = app.send("orders-0", "o2")
    app.end(Half("o1 at the place of o2", 0, other.physical_offset, o1.key), COMMIT)
    app.end(o1, 4)
    app.end(o1, 99)
    app.end(o1, UNKNOW)
    app.end(o1, UNKNOW, from_check=True)
    lab.written_logs(op=0, orders=0)
    app.end(o1, COMMIT)
    lab.log("orders", 1)


@program("EndTransactionProcessor#checkPrepareMessage")
def end_of_what_is_no_half(lab: Lab) -> None:
    """A plain message, and one that was committed, have offsets too."""
    app, (o1,) = begin(lab, "o1")
    plain = app.send("orders-0", "p1", half=False)
    app.end(plain, COMMIT)
    app.end_and_write(o1, COMMIT)
    (_, committed) = lab.log("orders", 2)
    app.end(Half("o1", committed.queue_offset, committed.physical_offset, o1.key), ROLLBACK)
    lab.written_logs(op=1, orders=2)


@program("EndTransactionProcessor#sendFinalMessage: a queue has the order of commits")
def commit_order(lab: Lab) -> None:
    lab.topic("orders", 2)
    app = Producer(lab)
    app.start()
    halves = [app.send(f"orders-{n % 2}", f"o{n}") for n in range(4)]
    for n in (3, 0, 2, 1):
        app.end(halves[n], COMMIT)
    lab.write_ops()
    lab.log("half", 4)
    lab.log("orders", 2, 0)
    lab.log("orders", 2, 1)
    lab.round()


@program("TopicValidator#isNotAllowedSendTopic")
def not_allowed_to_send(lab: Lab) -> None:
    """The three topics belong to the broker."""
    app = Producer(lab)
    app.start()
    for name in ("half", "op", "discard"):
        app.send(f"{name}-0", "o1", half=False)
        app.send(f"{name}-0", "o1")


@program("CommitLog#asyncPutMessages: a batch has no transaction bits")
def batch_in_a_transaction(lab: Lab) -> None:
    """A raw batch that is marked as half messages, which no client sends, and a plain one."""
    lab.topic("orders")
    app = Producer(lab)
    app.send_batch("orders-0", "o1", "o2", bits=TransactionType.PREPARED_TYPE)
    app.send_batch("orders-0", "o3", "o4", bits=TransactionType.NOT_TYPE)
    lab.logs(half=0, orders=2)


@program("HookUtils#handleScheduleMessage: looks at the request's properties", settings=TIMERS)
def batch_with_a_time(lab: Lab) -> None:
    """Raw batches of messages that have a time of delivery or a delay level, which no client sends
    (MessageBatch#generateFromList)."""
    lab.topic("orders")
    app = Producer(lab)
    for name, value in (("TIMER_DELAY_SEC", "3600"), ("TIMER_DELAY_SEC", "x"), ("DELAY", "18")):
        app.send_batch("orders-0", f"{name} {value}", "same", each={name: value})
        app.send_batch("orders-0", f"{name} {value}", "same", request={name: value})
    lab.log("orders", 4)


@program("TopicMessageType: looked at by the proxy only", profiles=("5.5",))
def topic_type(lab: Lab) -> None:
    """A half to a topic of type NORMAL and a plain message to one of type TRANSACTION: a client
    that is connected to the broker itself may send both."""
    lab.topic("normal", attributes="+message.type=NORMAL")
    lab.topic("transaction", attributes="+message.type=TRANSACTION")
    app = Producer(lab)
    app.start()
    o1 = app.send("normal-0", "o1")
    app.end(o1, COMMIT)
    app.send("transaction-0", "p1", half=False)
    lab.logs(normal=1, transaction=1)


@program("HookUtils.handleScheduleMessage")
def delay_never_comes(lab: Lab) -> None:
    """A raw half with a delay level, which a client would take away or refuse."""
    app, (o1,) = begin(lab, "o1", DELAY="1")
    time.sleep(2.5)  # the delay is one second here
    lab.log("half", 0)
    app.end_and_write(o1, COMMIT)
    lab.log("orders", 0)
    lab.round()
    lab.log("half", 0)
