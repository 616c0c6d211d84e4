"""Each limit of sizes, one below, at, and one above, in every place where a message is written.

What a broker adds to a message counts too, and differs from place to place. So each program sends
a small message first and reads it where it was written: what its properties take there beyond what
was given is what the next ones leave room for.
"""

from __future__ import annotations

import struct
import time

from mqlab.rocketmq.remoting import MessageRecord, RequestCode, encode_properties, name_response

from ..client import BROKER, COMMIT, ROLLBACK, Half, Lab, Producer, header, outcome_of
from . import SLOW, TIMERS, program
from .consumers import DLQ, RETRY, redelivered, send_back, subscribe
from .ends import begin

MOST = 32_767  # Short.MAX_VALUE: bytes of a message's properties
SIZES = (MOST - 1, MOST, MOST + 1)
LARGEST = 4 << 20  # maxMessageSize: bytes of a body
PROBE = "probe"  # as long as the words of the others


def stored_size(lab: Lab, record: MessageRecord) -> int:
    """Bytes of the properties as they lie in the log: 4.9 leaves the last separator off."""
    return len(encode_properties(record.properties).encode()) - (lab.profile.name == "4.9")


class Sized:
    """Messages whose properties take so many bytes where they are written. `probe`: the first of
    them, as it lies there, which is sent at once; `own`: the properties of each besides;
    `subscribed`: a consumer of the group has come before."""

    def __init__(self, lab: Lab, half: bool = False, subscribed: bool = False, **own: str) -> None:
        self.lab, self.half, self.own = lab, half, own
        self.app, _ = begin(lab)
        if subscribed:
            subscribe(lab)
        self.room = 0
        self.probe = self.send(PROBE)

    def send(self, words: str, size: int = 0) -> Half:
        pad = "p" * (size - self.room) if size else "p"
        return self.app.send("orders-0", words, self.half, 0, colour=pad, **self.own)

    def measure(self, probe: MessageRecord) -> None:
        self.room = stored_size(self.lab, probe) - 1

    def send_all(self) -> list[Half]:
        """One of each size, and one behind them."""
        halves = [self.send(str(size), size) for size in SIZES]
        return [*halves, self.send("after")]


@program("MessageExtEncoder#encode: Short.MAX_VALUE")
def limit_properties_sent(lab: Lab) -> None:
    sized = Sized(lab)
    sized.measure(lab.log("orders", 1)[0])
    sized.send_all()
    lab.log("orders", 4)


@program("HookUtils#transformDelayLevelMessage adds two")
def limit_properties_delayed(lab: Lab) -> None:
    sized = Sized(lab, DELAY="1")
    lab.target.control.end_delay(1)
    sized.measure(lab.log("orders", 1)[0])
    sized.send_all()
    lab.target.control.end_delay(1)
    lab.log("orders", 4)


@program("TransactionalMessageBridge#parseHalfMessageInner adds three")
def limit_properties_half(lab: Lab) -> None:
    """And their commits, which need less room."""
    sized = Sized(lab, half=True)
    sized.measure(lab.log("half", 1)[0])
    for half in [sized.probe, *sized.send_all()]:
        if half.queue_offset >= 0:
            sized.app.end(half, COMMIT)
    lab.written_logs(half=4, orders=4)
    lab.round()


@program("issue 6655: TransactionalMessageServiceImpl#putBackHalfMsgQueue", needs=(SLOW,))
def limit_properties_put_back(lab: Lab) -> None:
    """Copies that just fit are put back, but the question about them has a property more, and is
    not asked. A half that just fits, and its copy does not: a round comes as far as that and no
    further, so the small one behind it is not asked about either, until the long one has ended."""
    sized = Sized(lab, half=True)
    sized.app.answer_round(COMMIT)
    lab.write_ops()
    sized.measure(lab.log("half", 2)[1])
    for size in SIZES[:2]:
        sized.send(str(size), size)
    sized.app.round(0)
    long = sized.send(str(SIZES[2]), SIZES[2])
    sized.send("after")
    lab.write_ops()
    sized.app.round(0)
    sized.app.end_and_write(long, COMMIT)
    sized.app.answer_round(COMMIT)
    lab.written_logs(half=13, orders=3)


@program("MessageDecoder#encode: the length of a question")
def limit_properties_asked(lab: Lab) -> None:
    """The question about a half says WAIT=false besides, and has two bytes for its length too."""
    sized = Sized(lab, half=True)
    lab.round()
    sized.measure(sized.app.question())
    sized.app.end_and_write(sized.probe, ROLLBACK)
    sized.send_all()
    sized.app.round(3)
    lab.log("half", 10)


@program("DefaultTransactionalMessageCheckListener#resolveDiscardMsg")
def limit_properties_parked(lab: Lab) -> None:
    """Too old to be asked about: a check is counted, the half is parked, or lost where it has
    become too long."""
    app, _ = begin(lab)
    old = 73 * 3_600_000
    app.send("orders-0", PROBE, True, old, colour="p")
    lab.round()
    room = stored_size(lab, lab.log("discard", 1)[0]) - 1
    for size in SIZES:
        app.send("orders-0", str(size), True, old, colour="p" * (size - room))
    app.send("orders-0", "after", True, old)
    app.round(0)
    lab.logs(half=5, discard=4)


@program("TransactionalMessageServiceImpl#checkPrepareQueueOffset")
def limit_properties_immune(lab: Lab) -> None:
    """A half with an immunity of its own is put back without a question."""
    sized = Sized(lab, half=True, CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    lab.round()
    sized.measure(lab.log("half", 2)[1])
    sized.app.end_and_write(sized.probe, COMMIT)
    for size in SIZES[:2]:
        sized.send(str(size), size)
    lab.round()
    lab.log("half", 6)


@program("AbstractSendMessageProcessor#consumerSendMsgBack")
def limit_properties_retried(lab: Lab) -> None:
    """The copy for the group's retry topic, by way of the delayed messages."""
    sized = Sized(lab, subscribed=True)
    send_back(lab, lab.log("orders", 1)[0])
    probe = redelivered(lab, 0)
    assert probe is not None
    sized.measure(probe)
    sized.send_all()
    for record in lab.log("orders", 5)[1:]:
        send_back(lab, record)
        lab.target.control.end_delay(3)
    lab.log(RETRY, 4)


@program("AbstractSendMessageProcessor#consumerSendMsgBack: level -1")
def limit_properties_dead(lab: Lab) -> None:
    """The copy for the dead letter queue of the group."""
    sized = Sized(lab, subscribed=True)
    send_back(lab, lab.log("orders", 1)[0], level=-1)
    sized.measure(lab.log(DLQ, 1)[0])
    sized.send_all()
    for record in lab.log("orders", 5)[1:]:
        send_back(lab, record, level=-1)
    lab.log(DLQ, 4)


@program("AdminBrokerProcessor#resumeCheckHalfMessage")
def limit_properties_resumed(lab: Lab) -> None:
    """A plain message that an operator makes a half of: its number of checks is added."""
    sized = Sized(lab)
    (record,) = lab.log("orders", 1)
    sized.app.resume(Half(PROBE, 0, 0, ""), record.msg_id)
    sized.measure(lab.log("half", 1)[0])
    sized.send_all()
    for record in lab.log("orders", 5)[1:]:
        sized.app.resume(Half(record.body.decode(), 0, 0, ""), record.msg_id)
    lab.log("half", 4)


@program("TimerMessageStore#doPut", profiles=("5.5",), settings=TIMERS)
def limit_properties_timed(lab: Lab) -> None:
    """What is delivered at a time has two properties more than what waits for it."""
    sized = Sized(lab, TIMER_DELAY_MS="1000")
    (probe,) = lab.log("orders", 1)
    sized.measure(probe)
    sized.send_all()
    note_delivered(lab, 4)
    left = {n: v for n, v in probe.properties.items() if n not in DELIVERED}
    sized.room -= len(encode_properties(probe.properties)) - len(encode_properties(left))
    sized.send_all()
    note_delivered(lab, 5)


def note_delivered(lab: Lab, end: int) -> None:
    """Which have come; what is due in one second comes in any order."""
    lab.wait_until(lambda: len(lab.pull("orders")) >= end)
    time.sleep(2)
    words = sorted(record.body.decode() for record in lab.pull("orders"))
    lab.note("log", "orders-0", "delivered", ", ".join(words))


#: what the service of timed messages adds to one that it delivers
DELIVERED = ("TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS")


@program("MessageExtEncoder#encode of a batch")
def limit_properties_batch(lab: Lab) -> None:
    """One of three; the length has two bytes there too, and none fits that is longer."""
    app, _ = begin(lab)
    for size in (100, *SIZES):
        raw = encode_properties({"colour": "p" * (size - 8)}).encode()
        batch = pack(b"before", b"") + pack(str(size).encode(), raw) + pack(b"after", b"")
        note_batch(lab, app, f"with properties of {size} bytes", batch)
    lab.log("orders", 9)


def pack(body: bytes, properties: bytes) -> bytes:
    """One message of a batch, whatever its lengths."""
    size = 22 + len(body) + len(properties)
    head = struct.pack(">iiiii", size, 0, 0, 0, len(body))
    return head + body + struct.pack(">H", len(properties)) + properties


def note_batch(lab: Lab, app: Producer, words: str, batch: bytes) -> None:
    answer = app.connection.ask(
        RequestCode.SEND_BATCH_MESSAGE, batch, **header(lab, "orders", "", m=True)
    )
    lab.note("app", BROKER, f"SendBatchMessage {words}", name_response(answer.code))


@program("maxMessageSize: 4 MiB")
def limit_body(lab: Lab) -> None:
    """A message, a half, a batch as a whole."""
    app, _ = begin(lab)
    for size in (LARGEST - 1, LARGEST, LARGEST + 1):
        for kind in ("", "TRAN_MSG\x01true\x02PGROUP\x01order-service\x02"):
            given = header(lab, "orders", f"UNIQ_KEY\x01{size}\x02{kind}")
            answer = app.connection.ask(RequestCode.SEND_MESSAGE_V2, bytes(size), **given)
            what = f"SendMessage{' half' if kind else ''} of {size} bytes"
            lab.note("app", BROKER, what, outcome_of(answer))
        batch = pack(b"before", b"") + pack(bytes(size - 50), b"")
        note_batch(lab, app, f"of {len(batch)} bytes", batch)
    app.send("orders-0", "after", half=False)
    for name in ("orders", "half"):
        end = lab.ask(RequestCode.GET_MAX_OFFSET, topic=lab.topic_of(name), queueId=0)
        lab.note("log", name, "ends at", end.fields["offset"])
