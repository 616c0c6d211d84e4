"""Limits of names and of numbers: what a broker takes, one below, at, and one above."""

from __future__ import annotations

import re
from typing import Any

from mqlab.rocketmq.remoting import (
    MessageRecord,
    RequestCode,
    decode_records,
    encode_json,
    encode_properties,
)

from ..client import BROKER, LOG, PULL, TOPIC, Lab, Producer, header, outcome_of
from . import TIMERS, program
from .consumers import DLQ, GROUP, RETRY, back_header, consumer_data, subscribe
from .limits import pack

INT, LONG = 1 << 31, 1 << 63
VERSION = 495  # a client's of these days (MQVersion): its maxReconsumeTimes is looked at
NO_NUMBERS = ("", " 1", "+1", "1.0", "0x1", "1_0")


class Asker:
    """Asks as one client, and notes the answer with long names cut out of it."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.app = lab, Producer(lab)
        self.app.start()
        self.app.connection.version = VERSION
        self.long: dict[str, str] = {}

    def name(self, length: int, start: str = "") -> str:
        """A name of this length, of this run's own."""
        name = start + self.lab.wire("x")
        name += "n" * (length - len(name))
        self.long[name] = f"{start}<{length}>"
        self.long[name.removeprefix(start)] = f"<{length - len(start)}>"
        return name

    def ask(self, question: str, code: int, body: bytes = b"", **fields: Any) -> str:
        """The answer's offset of a queue, "" where it has none."""
        answer = self.app.connection.ask(code, body, **fields)
        self.note(question, outcome_of(answer))
        return answer.fields.get("queueOffset", "")

    def note(self, question: str, said: str) -> None:
        for name in sorted(self.long, key=len, reverse=True):
            said = said.replace(name, self.long[name])
        said = said.partition(", java.base/")[0]
        said = re.sub(r"(queueId\[-?\d+\] is illegal).*", r"\1", said)
        said = said.replace(self.lab.wire(""), "")
        self.lab.note("app", BROKER, question, said)

    def send(
        self, question: str, topic: str, properties: dict[str, str], body: bytes = b"o1",
        **more: Any,
    ) -> str:  # fmt: skip
        given = header(self.lab, "orders", encode_properties(properties), **{"b": topic, **more})
        return self.ask(f"SendMessage {question}", RequestCode.SEND_MESSAGE_V2, body, **given)

    def give_back(self, question: str, record: MessageRecord, **more: Any) -> None:
        given = back_header(self.lab, record, **{"originMsgId": "k", **more})
        self.ask(f"ConsumerSendMsgBack {question}", RequestCode.CONSUMER_SEND_MSG_BACK, **given)

    def pull(self, topic: str, question: str = "", **more: Any) -> list[MessageRecord]:
        place = {"topic": topic, "queueId": 0, "queueOffset": 0}
        asked = {**PULL, "consumerGroup": self.lab.wire("readers"), **place, **more}
        answer = self.app.connection.ask(RequestCode.PULL_MESSAGE, **asked)
        records = decode_records(answer.body) if answer.code == 0 else []
        if question:
            behind = answer.fields.get("nextBeginOffset")
            said = outcome_of(answer).partition(" OFFSET_")[0]
            end = f", {len(records)} messages, next {behind}" if behind else ""
            self.note(f"PullMessage {question}", said + end)
        return records


@program("TopicValidator#validateTopic, HookUtils#checkBeforePutMessage")
def limit_topics(lab: Lab) -> None:
    """A topic's name: where it makes itself, of a half, of a batch, where it is made."""
    it = Asker(lab)
    half = {"TRAN_MSG": "true", "PGROUP": lab.wire("order-service"), "UNIQ_KEY": "k"}
    for length in (126, 127, 128, 255, 256):
        name = it.name(length)
        it.send(f"to a topic of {length}", name, {"UNIQ_KEY": "k"})
        it.send(f"half to a topic of {length}", name, half)
        given = header(lab, "orders", "", **{"b": name, "m": True})
        batch = pack(b"o1", b"")
        it.ask(f"SendBatchMessage to a topic of {length}", 320, batch, **given)
        it.ask(f"UPDATE_AND_CREATE_TOPIC of {length}", 17, topic=name, **TOPIC)
        for start in ("%RETRY%", "%DLQ%"):
            it.send(f"to a topic {start} of {length}", it.name(length, start), {"UNIQ_KEY": "k"})
    for name in ("a b", "a.b", "größe", "a/b", "", " ", "a\tb", "%|a-_9"):
        it.send(f"to the topic {name!r}", name, {"UNIQ_KEY": "k"})
        it.ask(f"UPDATE_AND_CREATE_TOPIC {name!r}", 17, topic=name, **TOPIC)


@program("TopicValidator#validateGroup, HookUtils#checkBeforePutMessage")
def limit_groups(lab: Lab) -> None:
    """A consumer group's name: its heartbeat, its retry topic, its dead letter queue."""
    lab.topic("orders")
    it = Asker(lab)
    it.app.send("orders-0", "o1", half=False)
    (record,) = lab.log("orders", 1)
    for length in (119, 120, 121, 122, 123, 248, 249, 255, 256):
        ask_of_group(it, it.name(length), str(length), record)
    for name in ("a b", "a.b", "größe", "", " "):
        ask_of_group(it, name, repr(name), record)


def ask_of_group(it: Asker, name: str, called: str, record: MessageRecord) -> None:
    beat = {"clientID": "c", "producerDataSet": [], "consumerDataSet": [consumer_data(name)]}
    orders = it.lab.wire("orders")
    it.ask(f"HEART_BEAT of {called}", 34, encode_json(beat))
    it.ask(f"GET_CONSUMER_LIST_BY_GROUP of {called}", 38, consumerGroup=name)
    it.pull(orders, f"of group {called}", consumerGroup=name)
    it.give_back(f"of {called}", record, group=name)
    it.give_back(f"of {called} for good", record, group=name, delayLevel=-1)
    made = encode_json({"groupName": name, "retryMaxTimes": 3})
    it.ask(f"UPDATE_AND_CREATE_SUBSCRIPTIONGROUP of {called}", 200, made)
    place: dict[str, Any] = {"consumerGroup": name, "topic": orders, "queueId": 0}
    it.ask(f"UPDATE_CONSUMER_OFFSET of {called}", 15, **place, commitOffset=1)
    it.lab.target.control.end_delay(3)
    it.lab.wait_until(lambda: bool(it.pull(f"%RETRY%{name}")), 1.5)
    for start in ("%RETRY%", "%DLQ%"):
        it.lab.note(LOG, start, f"of {called}", f"{len(it.pull(start + name))} messages")


@program("SendMessageRequestHeaderV2, MessageExtEncoder: int and long")
def limit_numbers(lab: Lab) -> None:
    """Each number of a send's header, and what a reader is told of it."""
    lab.topic("orders")
    it = Asker(lab)
    for letter, (name, told, values) in FIELDS.items():
        for value in (*values, *NO_NUMBERS):
            more: dict[str, Any] = {letter: value}
            words = f"{name}={value!r}"
            at = it.send(words, lab.wire("orders"), {"UNIQ_KEY": "k"}, **more)
            if at:
                record = wait_for(lab, at)
                lab.note(LOG, "orders-0", f"{told} {words}", getattr(record, told))
    for value in (4, 8, 12, 0x80):
        it.send(
            f"sysFlag={value}", lab.wire("orders"), {"UNIQ_KEY": "k"}, str(value).encode(), f=value
        )
    it.send("behind them", lab.wire("orders"), {"UNIQ_KEY": "k"}, b"behind")
    lab.wait_until(lambda: lab.pull("orders", 0, 20)[-1].body == b"behind")
    came = [record.body.decode() for record in lab.pull("orders", 0, 20)]
    lab.note(LOG, "orders-0", "sent with bits of a transaction", [w for w in came if w != "o1"])


def wait_for(lab: Lab, at: str) -> MessageRecord:
    """What lies there; a real broker makes the queue's entry a moment later."""
    lab.wait_until(lambda: bool(lab.pull("orders", 0, int(at))))
    return lab.pull("orders", 0, int(at))[0]


INTS = (-INT - 1, -INT, -1, 1, INT - 1, INT)
FIELDS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "e": ("queueId", "queue_id", (*INTS, 0)),
    "f": ("sysFlag", "sys_flag", INTS),
    "g": ("bornTimestamp", "born_timestamp", (-LONG - 1, -LONG, -1, 0, LONG - 1, LONG)),
    "h": ("flag", "flag", INTS),
    "j": ("reconsumeTimes", "reconsume_times", INTS),
    "d": ("defaultTopicQueueNums", "queue_id", (*INTS, 0)),
}


@program("MessageConst: properties that the broker reads", settings=TIMERS)
def limit_properties_read(lab: Lab) -> None:
    """Properties that the broker reads as numbers or flags: what it takes for one."""
    lab.topic("orders")
    it, topic = Asker(lab), lab.wire("orders")
    for value in (-1, 0, 1, 18, 19, INT - 1, INT, "x", "1.0", " 1", "+1", "01", "1_0"):
        it.send(f"DELAY={value!r}", topic, {"DELAY": str(value), "UNIQ_KEY": "k"})
    own = {"PGROUP": lab.wire("order-service"), "UNIQ_KEY": "k"}
    for value in ("true", "TRUE", "True", "tRuE", "truex", " true", "1", "false"):
        it.send(f"TRAN_MSG={value!r}", topic, {"TRAN_MSG": value, **own}, value.encode())
    old = {"TRAN_MSG": "true", **own}
    for more, times in (({"DELAY": "18"}, 1), ({}, 1), ({"DELAY": "0"}, 1), ({"DELAY": "-1"}, 1)):
        words = f"TRAN_MSG {more} reconsumeTimes={times}"
        it.send(words, topic, {**old, **more}, words.encode(), j=times)
    each = {"of the request": ("TRAN_MSG\x01true\x02", ""), "of each": ("", "TRAN_MSG\x01true\x02")}
    for words, (head, one) in each.items():
        batch = pack(words.encode(), one.encode())
        given = header(lab, "orders", head, m=True)
        it.ask(f"SendBatchMessage TRAN_MSG=true {words}", 320, batch, **given)
    lab.log("half", 7)
    came = sorted({record.body.decode() for record in lab.pull("orders")} - {"o1"})
    lab.note(LOG, "orders-0", "at once", ", ".join(came))


@program("HookUtils#transformTimerMessage", profiles=("5.5",), settings=TIMERS)
def limit_times(lab: Lab) -> None:
    """Times of delivery; a long that is too large becomes negative, and is over at once."""
    lab.topic("orders")
    it, topic = Asker(lab), lab.wire("orders")
    most = {"TIMER_DELAY_SEC": 259_200, "TIMER_DELAY_MS": 259_200_000, "TIMER_DELIVER_MS": LONG}
    for name, limit in most.items():
        for value in (-1, 0, limit - 1, limit, limit + 1, LONG - 1, LONG, "x", "+0", "00", "1_0"):
            given = {name: str(value), "UNIQ_KEY": "k"}
            it.send(f"{name}={value!r}", topic, given, f"{name}={value}".encode())
    came = sorted(record.body.decode() for record in lab.pull("orders"))
    lab.note(LOG, "orders-0", "at once", ", ".join(came))


@program("SendMessageProcessor#handleRetryAndDLQ, consumerSendMsgBack")
def limit_retries(lab: Lab) -> None:
    """How often a message comes back: by a request of its own, and by a client's own send."""
    subscribe(lab)
    it = Asker(lab)
    lab.topic("orders")
    for before in (-1, 0, 15, 16, 17, INT - 1):
        at = it.send(f"reconsumeTimes={before}", lab.wire("orders"), {"UNIQ_KEY": "k"},
                     f"{before}".encode(), j=before)  # fmt: skip
        record = wait_for(lab, at)
        for most in (-1, 0, 16, INT - 1, None):
            words = f"of reconsumeTimes={before} at most {most}"
            it.give_back(words, record, maxReconsumeTimes=most)
    for level in (-INT, -1, 0, 1, 18, 19, INT - 1):
        it.give_back(f"level={level}", record, delayLevel=level, maxReconsumeTimes=INT - 1)
    for before, most in ((16, None), (17, None), (1, 0), (1, 1), (INT - 1, INT - 1)):
        words = f"to %RETRY% reconsumeTimes={before} at most {most}"
        given = {"UNIQ_KEY": "k", "DELAY": "3"}
        it.send(
            words, lab.topic_of(RETRY), given, f"own {before} of {most}".encode(), j=before, l=most
        )
    lock = {"consumerGroup": lab.wire(GROUP), "clientId": "c", "onlyThisBroker": False,
            "mqSet": [{"topic": lab.wire("orders"), "brokerName": "broker-a",
                       "queueId": 0}]}  # fmt: skip
    for code, state in ((41, "locked"), (42, "free again")):
        it.ask(f"{RequestCode(code).name}", code, encode_json(lock))
        given = {"UNIQ_KEY": "k", "DELAY": "3"}
        it.send(f"to %RETRY% while {state}", lab.topic_of(RETRY), given, state.encode(), j=1, l=16)
    for level in [*range(1, 19)] * 12:  # one message at least each time
        lab.target.control.end_delay(level)
    lab.wait_until(lambda: len(lab.pull(RETRY)) > 40, 3)
    for name in (RETRY, DLQ):
        rows = [f"{one.body.decode()} times {one.reconsume_times} DELAY {one.properties['DELAY']}"
                for one in (*lab.pull(name), *lab.pull(name, 0, 32))]  # fmt: skip
        for row in sorted(set(rows)):
            lab.note(LOG, name, "holds", f"{rows.count(row)} × {row}")


@program("QueryMessageProcessor, PullMessageProcessor, ConsumerManageProcessor")
def limit_queries(lab: Lab) -> None:
    """Numbers of a look-up, of a pull, of an offset that is reported; keys that are empty."""
    lab.topic("orders")
    subscribe(lab)
    it, topic = Asker(lab), lab.wire("orders")
    for n in range(66):
        keys = encode_properties({"UNIQ_KEY": f"u{n}", "KEYS": "k" if n else " k  k2 "})
        it.app.connection.ask(RequestCode.SEND_MESSAGE_V2, b"o", **header(lab, "orders", keys))
    lab.wait_until(lambda: _found(it, topic, "u65") == 1)
    for key in ("k", "k2", "", " ", "u0", "u1", "k k2", "nothing"):
        lab.note("app", BROKER, f"QueryMessage {key!r}", f"{_found(it, topic, key)} messages")
    for most in (-1, 0, 1, 63, 64, 65, INT - 1):
        found = _found(it, topic, "k", most)
        lab.note("app", BROKER, f"QueryMessage at most {most}", f"{found} messages")
    for most in (-INT, -1, 0, 1, 31, 32, 33, INT - 1, INT):
        it.pull(topic, f"at most {most}", maxMsgNums=most)
    for offset in (-LONG, -1, 0, 65, 66, 67, LONG - 1, LONG):
        it.pull(topic, f"from {offset}", queueOffset=offset)
    for queue in (-INT, -1, 0, 1, INT - 1, INT):
        it.pull(topic, f"of queue {queue}", queueId=queue)
    place: dict[str, Any] = {"consumerGroup": lab.wire(GROUP), "topic": topic, "queueId": 0}
    for offset in (-LONG, -1, 0, 66, 67, LONG - 1):
        it.ask(f"UPDATE_CONSUMER_OFFSET {offset}", 15, **place, commitOffset=offset)
        answer = it.app.connection.ask(14, **place)
        it.note("QUERY_CONSUMER_OFFSET", f"{outcome_of(answer)} {answer.fields.get('offset')}")
    for at in (-LONG, -1, 0, LONG - 1):
        answer = it.app.connection.ask(29, topic=topic, queueId=0, timestamp=at)
        it.note(f"SEARCH_OFFSET_BY_TIMESTAMP {at}",
                f"{outcome_of(answer)} {answer.fields.get('offset')}")  # fmt: skip


def _found(it: Asker, topic: str, key: str, most: int = 64) -> int:
    answer = it.app.connection.ask(
        RequestCode.QUERY_MESSAGE, topic=topic, key=key, maxNum=most, beginTimestamp=0,
        endTimestamp=LONG - 1, _UNIQUE_KEY_QUERY=False,
    )  # fmt: skip
    return len(decode_records(answer.body)) if answer.code == 0 else 0
