"""What becomes of a message that a consumer cannot process: the retry topic, then the DLQ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mqlab.rocketmq.remoting import (
    MessageRecord,
    RequestCode,
    ResponseCode,
    decode_records,
    encode_json,
    name_response,
)

from ..client import BROKER, COMMIT, Lab, Producer, outcome_of
from . import CLUSTER, SLOW, program
from .ends import begin

GROUP = "stock-service"
RETRY, DLQ = f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"


def subscribe(lab: Lab) -> None:
    """The heartbeat of a consumer of the group: the broker makes its retry topic."""
    topic: dict[str, Any] = {"topic": lab.wire("orders"), "subString": "*", "expressionType": "TAG"}
    topic["subVersion"] = 1
    consumers = [consumer_data(lab.wire(GROUP), topic)]
    who = f"{lab.wire('stock')}@1"
    body = {"clientID": who, "producerDataSet": [], "consumerDataSet": consumers}
    answer = lab.connect().ask(RequestCode.HEART_BEAT, encode_json(body))
    lab.note("stock", BROKER, f"Heartbeat {GROUP}", outcome_of(answer))


def consumer_data(group: str, *subscriptions: Any) -> dict[str, Any]:
    """A consumer's part of a heartbeat."""
    return {
        "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": subscriptions,
        "unitMode": False,
    }  # fmt: skip


def back_header(lab: Lab, record: MessageRecord, **more: Any) -> dict[str, Any]:
    """The header of a message that is sent back; `more` goes before what is usual."""
    usual = {
        "offset": record.physical_offset, "group": lab.wire(GROUP), "delayLevel": 0,
        "originTopic": lab.wire("orders"), "unitMode": False, "maxReconsumeTimes": 16,
    }  # fmt: skip
    return {**usual, **more}


def send_back(lab: Lab, record: MessageRecord, level: int = 0) -> None:
    """CONSUMER_SEND_MSG_BACK: this group could not process it."""
    given = {"originMsgId": record.properties["UNIQ_KEY"], "delayLevel": level}
    code = RequestCode.CONSUMER_SEND_MSG_BACK
    answer = lab.ask(code, **back_header(lab, record, **given))
    question = f"ConsumerSendMsgBack {record.body.decode()} level={level}"
    lab.note("stock", lab.broker, question, outcome_of(answer))


def redelivered(lab: Lab, offset: int) -> MessageRecord | None:
    """Wait for the message at this offset of the group's retry topic: its delay is the next
    level, beginning with the third."""
    lab.target.control.end_delay(3 + offset)
    records: list[MessageRecord] = []

    def there() -> bool:
        records[:] = lab.pull(RETRY, 0, offset)
        return bool(records)

    lab.wait_until(there)
    return records[0] if records else None


@program("AbstractSendMessageProcessor.consumerSendMsgBack", needs=(SLOW,))
def seventeen_deliveries(lab: Lab) -> None:
    """Seventeen deliveries, with the delay levels 3 to 18, then the DLQ. Every level is one second
    in these recordings."""
    app, (o1,) = begin(lab, "o1")
    app.end(o1, COMMIT)
    (record,) = lab.log("orders", 1)
    subscribe(lab)
    deliveries = 1
    while True:
        send_back(lab, record)
        back = redelivered(lab, deliveries - 1)
        if back is None:
            break
        deliveries += 1
        record = back
        state = f"reconsumeTimes={back.reconsume_times} DELAY={back.properties.get('DELAY', '-')}"
        lab.note("log", "%RETRY%", f"@{back.queue_offset}", f"{back.body.decode()} {state}")
        if deliveries > 20:
            break
    for dead in lab.pull(DLQ):
        state = f"{dead.body.decode()} reconsumeTimes={dead.reconsume_times}"
        lab.note("log", "%DLQ%", f"@{dead.queue_offset}", state)
    lab.note("stock", BROKER, "deliveries", deliveries)


@program("AbstractSendMessageProcessor.consumerSendMsgBack: level -1")
def straight_to_the_dlq(lab: Lab) -> None:
    """And what a retried message still says of its transaction."""
    app, (o1, o2) = begin(lab, "o1", "o2")
    app.end(o1, COMMIT)
    app.end(o2, COMMIT)
    subscribe(lab)
    first, second = lab.log("orders", 2)
    send_back(lab, first, level=-1)
    lab.wait_until(lambda: bool(lab.pull(DLQ)))
    for dead in lab.pull(DLQ):
        state = f"{dead.body.decode()} reconsumeTimes={dead.reconsume_times}"
        lab.note("log", "%DLQ%", f"@{dead.queue_offset}", state)
    send_back(lab, second)
    again = redelivered(lab, 0)
    names = ", ".join(sorted(again.properties)) if again else "nothing"
    lab.note("log", "%RETRY%", "@0 properties", names)
    if again:
        lab.note("log", "%RETRY%", "@0 sysFlag", again.sys_flag)
        lab.note("log", "%RETRY%", "@0 preparedTransactionOffset", again.prepared_offset)


# ---- A slave, and its master that comes back


@program(
    "PullMessageProcessor, SlaveSynchronize, RequestCode.GET_ALL_CONSUMER_OFFSET",
    needs=(CLUSTER,),
)
def slave_reads(lab: Lab) -> None:
    """A slave serves what it has copied, by offsets that it has from its master or from consumers;
    those the master never hears of. 5.5.0 cannot read what its master says of groups that have
    pulled (issue 10284). What a client does about it was looked at with both Java clients: it
    pulls from the slave, and reports to it, once the name server has lost the master; it begins
    at the slave's offset where it has none in memory; and it reports to the master again."""
    assert lab.target.slave is not None
    master: Any = lab.target.control
    slave: Any = lab.target.slave.control
    copy = replace(lab, target=lab.target.slave, broker="slave", _open=[])
    app, (half,) = begin(lab, "h1")
    app.send("orders-0", "o1", half=False)
    pull_as_shop(lab, 0)
    offset_of_shop(lab, 1)
    slave.synchronize(master)
    copy.wait_until(lambda: len(copy.pull("orders")) == 1, 30.0)  # it tries every five seconds
    offset_of_shop(copy)
    app.send("orders-0", "o2", half=False)
    copy.wait_until(lambda: len(copy.pull("orders")) == 2)
    master.persist()
    master.kill()
    (_, o2) = pull_as_shop(copy, 0)
    pull_as_shop(copy, 9)
    send_back(copy, o2, 0)
    other = Producer(copy)
    other.send("orders-0", "o3", half=False)
    other.end(half, COMMIT)
    offset_of_shop(copy, 2)
    offset_of_shop(copy)
    copy.close()
    master.start()
    lab.close()
    offset_of_shop(lab)
    slave.synchronize(master)
    offset_of_shop(copy)
    copy.close()


def pull_as_shop(lab: Lab, offset: int) -> list[MessageRecord]:
    """A pull of the group, noted with what comes, or with the code."""
    answer = lab.ask_pull("orders", 0, offset, "shop")
    records = decode_records(answer.body) if answer.code == ResponseCode.SUCCESS else []
    came = ", ".join(map(lab.describe, records)) or name_response(answer.code)
    lab.note("shop", lab.broker, f"PullMessage orders-0@{offset}", came)
    return records


def offset_of_shop(lab: Lab, report: int = -1) -> None:
    """Report an offset of the group; by default ask for it."""
    where: dict[str, Any] = {
        "consumerGroup": lab.wire("shop"),
        "topic": lab.wire("orders"),
        "queueId": 0,
    }
    if report >= 0:
        question = f"UpdateConsumerOffset shop orders-0@{report}"
        answer = lab.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commitOffset=report, **where)
        lab.note("shop", lab.broker, question, outcome_of(answer))
        return
    answer = lab.ask(RequestCode.QUERY_CONSUMER_OFFSET, **where)
    far = answer.fields.get("offset", name_response(answer.code))
    lab.note("shop", lab.broker, "QueryConsumerOffset shop orders-0", f"orders-0@{far}")
