"""What a program talks to: a broker at an address, and a notebook of what it answered.

A program says what it wants in its own names (`orders-0`, the message `o1`); on the wire they get
a prefix, as for every broker. Each question is noted with its answer in the wording of the engine's
own messages, so a recording, a scenario's narration and a live broker can be laid side by side.

What a timer of the broker would do some time (a check round, a batch of op records, offsets on the
disk) a program asks for through the target's `Control`, so that nothing depends on how fast a
machine is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from mqlab.recordings.recording import Observation
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANS_GROUP
from mqlab.rocketmq.messages import CHECK_TIMES
from mqlab.rocketmq.remoting import (
    MessageRecord,
    PullSysFlag,
    RemotingCommand,
    RequestCode,
    ResponseCode,
    decode_records,
    name_response,
)
from mqlab.rocketmq.states import TransactionType

from .wire import Connection

PATIENCE_S, ROUTE_S = 8.0, 40.0
PAUSE_S = 0.02
#: between what was appended and a round: a message is dispatched to its queue by another thread,
#: and a round passes over what was stored in its own millisecond
SETTLE_S = 0.15
READER, BROKER, TIMER, LOG = "reader", "broker", "timer", "log"
#: a recording's short names of the three topics
SHORT = {"half": HALF_TOPIC, "op": OP_TOPIC, "discard": DISCARD_TOPIC}
#: what RemotingCommand says where nobody has set a remark
DEFAULT_REMARK = "not set any response code"
OLD_MS, YOUNG_MS = 0, 3_600_000


@dataclass(frozen=True, slots=True)
class Profile:
    """A release line: 4.9 writes each op record at once, 5.5 in batches."""

    name: str
    level: int


PROFILES = {"5.5": Profile("5.5", 55), "4.9": Profile("4.9", 49)}


class Control(Protocol):
    """A hand on a broker."""

    def round(self, timeout_ms: int = 0, check_max: int = 3) -> None:
        """One check round, in which a half is old that is older than `timeout_ms`."""

    def write_ops(self) -> None:
        """Op records that are still in memory are written."""

    def persist(self) -> None:
        """Consumer offsets are written to the disk."""

    def end_delay(self, level: int) -> None:
        """What waits on this delay level is delivered; a real broker does so by itself, after a
        second in these recordings."""

    def kill(self) -> None:
        """kill -9."""

    def stop(self) -> None:
        """SIGTERM, and wait."""

    def start(self) -> None:
        """With the data there is; returns when it serves."""


@dataclass(frozen=True)
class Target:
    """A running broker. `version`: of the Java client that goes with it; `name_server`: where a
    Java client asks for it."""

    broker: str
    address: str
    control: Control
    version: str = "5.5.0"
    name_server: str = ""


@dataclass
class Lab:
    """One run of one program."""

    target: Target
    profile: Profile
    prefix: str = ""
    notes: list[Observation] = field(default_factory=list)
    clients: dict[str, str] = field(default_factory=dict)
    _open: list[Connection] = field(default_factory=list)
    _halves: dict[int, int] = field(default_factory=dict)

    def note(self, who: str, to: str, question: object, answer: object) -> None:
        self.notes.append(Observation(who, to, str(question), str(answer)))

    def close(self) -> None:
        for connection in self._open:
            connection.close()
        self._open.clear()

    # -- names and connections -------------------------------------------------------------

    def wire(self, name: str) -> str:
        """The name on the wire of a topic or a group of this program."""
        return re.sub(r"[^A-Za-z0-9_-]", "-", self.prefix) + name

    def topic_of(self, name: str) -> str:
        """The topic that a program calls so; the system's own have no prefix."""
        if name in SHORT:
            return SHORT[name]
        start = re.match(r"%(RETRY|DLQ)%", name)
        return f"{start[0]}{self.wire(name[start.end() :])}" if start else self.wire(name)

    def connect(self) -> Connection:
        """A connection of its own: for the broker another client."""
        self._open.append(Connection(self.target.address))
        return self._open[-1]

    def ask(self, code: RequestCode, body: bytes = b"", **fields: Any) -> RemotingCommand:
        """On a connection that is nobody's."""
        if not self._open:
            self.connect()
        return self._open[0].ask(code, body, **fields)

    def wait_until(self, ask: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
        """Ask until it is so; False where it never is."""
        deadline = time.monotonic() + patience_s
        while not ask():
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        return True

    # -- topics and their queues -----------------------------------------------------------

    def topic(self, name: str, queues: int = 1, **more: Any) -> None:
        """Create a topic; what comes back is no observation. `more`: fields of the header."""
        answer = self.ask(
            RequestCode.UPDATE_AND_CREATE_TOPIC,
            topic=self.topic_of(name),
            defaultTopic="TBW102",
            readQueueNums=queues,
            writeQueueNums=queues,
            perm=6,
            topicFilterType="SINGLE_TAG",
            topicSysFlag=0,
            order=False,
            **more,
        )
        if answer.code != ResponseCode.SUCCESS:
            raise ValueError(f"no topic {name}: {outcome_of(answer)}")
        if self.target.name_server:
            self._wait_for_route(self.topic_of(name))

    def _wait_for_route(self, topic: str) -> None:
        """A broker tells its name server of a new topic by the way; clients ask there."""
        with Connection(self.target.name_server) as names:
            self.wait_until(
                lambda: names.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic=topic).code == 0,
                ROUTE_S,
            )

    def pull(self, name: str, queue_id: int = 0, offset: int = 0) -> list[MessageRecord]:
        """The messages of a queue from an offset on; none where there is no such topic."""
        answer = self.ask(
            RequestCode.PULL_MESSAGE,
            consumerGroup=self.wire("readers"),
            topic=self.topic_of(name),
            queueId=queue_id,
            queueOffset=offset,
            maxMsgNums=32,
            sysFlag=int(PullSysFlag.SUBSCRIPTION),
            commitOffset=0,
            suspendTimeoutMillis=0,
            subscription="*",
            subVersion=0,
            expressionType="TAG",
        )
        return decode_records(answer.body) if answer.code == ResponseCode.SUCCESS else []

    def logs(self, **ends: int) -> None:
        """`log` of each of these, in this order."""
        for name, end in ends.items():
            self.log(name, end)

    def log(self, name: str, end: int, queue_id: int = 0) -> list[MessageRecord]:
        """Wait until a queue ends at `end`, and a little for what should not come; then note what
        it holds, a message a line. `name`: of a topic, or "half", "op", "discard"."""
        self.wait_until(lambda: len(self.pull(name, queue_id)) >= end)
        time.sleep(SETTLE_S)
        records = self.pull(name, queue_id)
        while more := self.pull(name, queue_id, len(records)):  # one answer has a limit
            records += more
        place = name if name in SHORT else f"{name}-{queue_id}"
        halves = records if name == "half" else self.pull("half")
        self._halves |= {record.physical_offset: record.queue_offset for record in halves}
        for record in records:
            kind = name if name in SHORT else "message"
            entry = f"{kind} {self.describe(record)} @{record.queue_offset}"
            self.note(LOG, place, f"Pull @{record.queue_offset}", entry + self._origin(record))
        if not records:
            self.note(LOG, place, "Pull @0", "nothing")
        return records

    def describe(self, record: MessageRecord) -> str:
        """A message by its words; in brackets how often its half was asked about."""
        times = record.properties.get(CHECK_TIMES)
        return record.body.decode() + (f" ({times})" if int(times or 0) else "")

    def _origin(self, record: MessageRecord) -> str:
        """Of a committed message: which half it points back to."""
        if record.sys_flag & TransactionType.ROLLBACK_TYPE != TransactionType.COMMIT_TYPE:
            return ""
        return f" of half @{self._halves.get(record.prepared_offset, '?')}"

    # -- what timers do --------------------------------------------------------------------

    def round(self, young: bool = False, timeout_ms: int = -1, noted: bool = True) -> None:
        """One check round, and how far it has come: the committed offsets of both topics.
        `young`: it finds every half younger than transactionTimeOut; else every half is older,
        or than `timeout_ms`. `noted` False where the round may end in two ways."""
        time.sleep(SETTLE_S)
        default = YOUNG_MS if young else OLD_MS
        self.target.control.round(default if timeout_ms < 0 else timeout_ms)
        time.sleep(SETTLE_S)
        if noted:
            question = "check round" + (" while young" if young else "")
            self.note(TIMER, BROKER, question, self.progress())

    def progress(self) -> str:
        """Where the next round begins, in the half topic and in the op topic."""
        offsets = (self.offset_of(TRANS_GROUP, topic) for topic in (HALF_TOPIC, OP_TOPIC))
        return "half offset {}, op offset {}".format(*offsets)

    def offset_of(self, group: str, topic: str, queue_id: int = 0) -> str:
        """A consumer group's offset as the broker has it."""
        answer = self.ask(
            RequestCode.QUERY_CONSUMER_OFFSET, consumerGroup=group, topic=topic, queueId=queue_id
        )
        # Not found: the group has none yet, and a round begins at the queue's first message.
        return answer.fields.get("offset", "0")

    def write_ops(self) -> None:
        """The op records of 5.5 that wait in memory are written; 4.9 has none."""
        self.target.control.write_ops()


def outcome_of(answer: RemotingCommand) -> str:
    """`ok`, or the code's name and its remark."""
    if answer.code == ResponseCode.SUCCESS:
        return "ok"
    return f"{name_response(answer.code)} {shorten(answer.remark)}".rstrip()


def shorten(remark: str) -> str:
    """A remark without its Java: the exception it came as, the place in the source. How Java words
    a null pointer is the virtual machine's business."""
    first = remark.partition("\n")[0]
    if first == DEFAULT_REMARK:
        return ""
    if "Cannot invoke" in first or "NullPointerException" in first:
        return "NullPointerException"
    return re.sub(r"^[\w.]*Exception: |, [\w.]*\([\w.]*:\d+\)$", "", first).strip()
