"""Published example classes of RocketMQ, unmodified: what they print, and what is in the log then.

Each has names of its own, and each program a broker of its own: no prefix.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from mqlab.real.program import RealBrokerError

from ...beside import Beside
from ..client import BROKER, LOG, Lab
from ..example import MESSAGE, PACKAGE, REFUSAL, RESULT, VERSION, hear_all, hear_some, run_example
from . import JAVA, program
from .java import wait_until_known

TOPIC = "TopicTest"
SENT, QUEUES = 128, 4
TRIES = 5
SCHEDULED, DELAY_LEVEL = 100, 3


def unprefixed(given: Lab) -> Lab:
    given.clients["rocketmq-client"] = VERSION
    return replace(given, prefix="")


# ---- transactions ----------------------------------------------------------------------------

HALVES = 10
TRANSACTIONS, GROUP = "TopicTest1234", "please_rename_unique_group_name"
PRODUCER = "transaction.TransactionProducer"


@program(f"{PACKAGE}.{PRODUCER}", profiles=("5.5",), needs=(JAVA,))
def java_example(given: Lab) -> None:
    """Ten halves are stored, each check answers UNKNOW, COMMIT_MESSAGE or ROLLBACK_MESSAGE in turn;
    what stays UNKNOW is given up."""
    lab = unprefixed(given)
    lab.topic(TRANSACTIONS)
    with run_example(lab.target.name_server, PRODUCER) as app:
        for number, match in enumerate(hear_all(app, RESULT, HALVES)):
            question = f"SendMessage half {TRANSACTIONS} {number}"
            lab.note("app", BROKER, question, f"{match[1]} @{match[3]}")
        wait_until_known(lab, GROUP)
        lab.round()
        lab.wait_until(lambda: len(_list_ended(lab)) >= 6)
        lab.note(LOG, "op", "halves that ended", _list_ended(lab))
        bodies = sorted(record.body.decode() for record in lab.pull(TRANSACTIONS))
        lab.note(LOG, TRANSACTIONS, "Pull", "; ".join(bodies))
        # How far these come in the op topic depends on how many records the ends have shared.
        for _ in range(3):
            lab.round(noted=False)
        lab.logs(discard=4, half=28)


def _list_ended(lab: Lab) -> list[int]:
    """The places of halves that op records name. Ends of one round come in any order, and any
    number of them shares a record."""
    lab.write_ops()
    bodies = [record.body.decode() for record in lab.pull("op")]
    return sorted({int(place) for body in bodies for place in body.split(",") if place})


# ---- producers -------------------------------------------------------------------------------


@program("simple.Producer and others", profiles=("5.5",), needs=(JAVA,))
def java_example_send(given: Lab) -> None:
    """Producers: one message after the other, in the order of their orders, in a batch, as many as
    one says, with a trace; and at a certain time, which is refused."""
    lab = unprefixed(given)
    for topic in (TOPIC, "TopicTestjjj", "BatchTest", "TimerTopic"):
        lab.topic(topic, QUEUES)
    _note_sent(lab, "simple.Producer", SENT)
    _note_sent(lab, "tracemessage.TraceProducer", SENT)
    _note_sent(lab, "ordermessage.Producer", 100)
    for queue in range(QUEUES):
        _note_queue(lab, "TopicTestjjj", queue)
    five = ("-g", "operators", "-t", TOPIC, "-a", "TagA", "-k", "key", "-c", "5")
    _note_sent(lab, "operation.Producer", 5, *five)
    with run_example(lab.target.name_server, "batch.SimpleBatchProducer"):
        queues = range(QUEUES)
        lab.wait_until(lambda: any(len(lab.pull("BatchTest", q)) == 3 for q in queues))
        (whole,) = [records for q in queues if (records := lab.pull("BatchTest", q))]
        lab.note(LOG, "BatchTest", "Pull", "; ".join(r.body.decode() for r in whole))
    _note_refusal(lab, "schedule.TimerMessageProducer")


def _note_sent(lab: Lab, name: str, count: int, *arguments: str) -> None:
    """How its messages are stored, and how many there are in each queue."""
    matches = _hear_sent(lab, name, count, *arguments)
    lab.note(name, BROKER, "sends", _count(Counter(m[1] for m in matches)))
    per_queue = sorted(Counter(m[2] for m in matches).values())
    lab.note(name, BROKER, "messages in each queue", ", ".join(map(str, per_queue)))


def _hear_sent(lab: Lab, name: str, count: int, *arguments: str) -> list[re.Match[str]]:
    """What it prints of its messages. On a machine that has much else to do, the three seconds of
    a send are over before it is answered, at the first or later: the class is run again."""
    told: list[int] = []
    while len(told) < TRIES:
        with run_example(lab.target.name_server, name, *arguments) as app:
            matches = hear_some(app, RESULT, count)
        if len(matches) == count:
            return matches
        told.append(len(matches))
    raise RealBrokerError(f"{name} has sent {told} messages of {count} in {TRIES} runs")


def _note_queue(lab: Lab, topic: str, queue: int) -> None:
    bodies = [record.body.decode().rpartition(" ")[2] for record in lab.pull(topic, queue)]
    lab.note(LOG, f"{topic}-{queue}", "Pull", ", ".join(bodies))


def _note_refusal(lab: Lab, name: str) -> None:
    """With which words; a class whose messages are taken ends without them."""
    with run_example(lab.target.name_server, name) as app:
        matches = hear_some(app, REFUSAL, 1)
    lab.note(name, BROKER, "is refused", f"{matches[0][1]} {matches[0][2]}" if matches else "no")


def _count(counts: Counter[str]) -> str:
    return ", ".join(f"{many} × {what}" for what, many in sorted(counts.items()))


# ---- consumers -------------------------------------------------------------------------------


@program("quickstart.Consumer and others", profiles=("5.5",), needs=(JAVA,))
def java_example_receive(given: Lab) -> None:
    """Consumers of 128 messages in four queues: pushed, broadcast, pulled, from a place in the
    queue, in order with some put off."""
    lab = unprefixed(given)
    lab.topic(TOPIC, QUEUES)
    _note_sent(lab, "simple.Producer", SENT)
    for name in ("quickstart.Consumer", "simple.PushConsumer", "broadcast.PushConsumer",
                 "simple.LitePullConsumerSubscribe"):  # fmt: skip
        _note_received(lab, name, SENT)
    # It takes half of the queues, and of the first only what follows its tenth message.
    _note_received(lab, "simple.LitePullConsumerAssign", SENT // 2 - 10)
    _note_pulled(lab)
    _note_received(lab, "tracemessage.TracePushConsumer", SENT)


def _note_received(lab: Lab, name: str, count: int, *arguments: str) -> None:
    """How many messages of which tag, and which properties they carry."""
    with run_example(lab.target.name_server, name, *arguments) as app:
        _note_messages(lab, app, name, count)


def _note_messages(lab: Lab, app: Beside, name: str, count: int) -> None:
    matches = hear_all(app, MESSAGE, count)
    properties = [dict(p.split("=", 1) for p in m["properties"].split(", ")) for m in matches]
    tags = Counter(p.get("TAGS", "no tag") for p in properties)
    places = {(m["queue"], m["offset"]) for m in matches}
    lab.note(name, BROKER, "receives", f"{_count(tags)}, of {len(places)} places")
    names = sorted({n for p in properties for n in p})
    lab.note(name, BROKER, "properties", ", ".join(names))


def _note_pulled(lab: Lab) -> None:
    name, pattern = "simple.PullScheduleService", r"pullStatus=(FOUND).*msgFoundList=(\d+)"
    with run_example(lab.target.name_server, name) as app:
        matches = hear_all(app, re.compile(pattern), QUEUES)
    lab.note(name, BROKER, "pulls", _count(Counter(f"{m[1]} {m[2]}" for m in matches)))


@program("ordermessage.Consumer", profiles=("5.5",), needs=(JAVA,))
def java_example_order(given: Lab) -> None:
    """A consumer that puts every tenth call off: a message that was put off comes again, and those
    behind it in its queue wait."""
    lab, name = unprefixed(given), "ordermessage.Consumer"
    lab.topic(TOPIC, QUEUES)
    _note_sent(lab, "simple.Producer", SENT)
    seen: dict[str, list[int]] = {}
    again = 0
    with run_example(lab.target.name_server, name) as app:
        while sum(len(set(offsets)) for offsets in seen.values()) < SENT:
            for match in MESSAGE.finditer(app.hear()):
                seen.setdefault(match["queue"], []).append(int(match["offset"]))
                again += match["times"] != "0"
    for queue, offsets in sorted(seen.items()):
        ordered = "in order" if offsets == sorted(offsets) else f"as {offsets}"
        lab.note(name, f"{TOPIC}-{queue}", "receives", f"{len(set(offsets))} messages {ordered}")
    lab.note(name, BROKER, "messages that came again", again)


# ---- filters and delays ----------------------------------------------------------------------


@program("filter.TagFilterConsumer", profiles=("5.5",), needs=(JAVA,))
def java_example_filter(given: Lab) -> None:
    """Two tags of three; an expression in SQL is refused where enablePropertyFilter is off."""
    lab = unprefixed(given)
    lab.topic("TagFilterTest", QUEUES)
    lab.topic("SqlFilterTest", QUEUES)
    _note_sent(lab, "filter.TagFilterProducer", 60)
    with run_example(lab.target.name_server, "filter.TagFilterConsumer") as app:
        _note_messages(lab, app, "filter.TagFilterConsumer", 40)
    _note_sent(lab, "filter.SqlFilterProducer", 10)
    _note_refusal(lab, "filter.SqlFilterConsumer")


@program("schedule.ScheduledMessageProducer", profiles=("5.5",), needs=(JAVA,))
def java_example_delay(given: Lab) -> None:
    """A hundred messages of a delay level come when its time is over."""
    lab = unprefixed(given)
    lab.topic("TestTopic", QUEUES)
    received = re.compile(r"Receive message\[msgId=\w+ (\d+)  ms later\]")
    with run_example(lab.target.name_server, "schedule.ScheduledMessageConsumer") as app:
        _note_sent(lab, "schedule.ScheduledMessageProducer", SCHEDULED)
        lab.target.control.end_delay(DELAY_LEVEL)
        delays = hear_all(app, received, SCHEDULED)
        lab.note("schedule.ScheduledMessageConsumer", BROKER, "receives", f"{len(delays)} messages")
