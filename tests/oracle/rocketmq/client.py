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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from mqlab.recordings.recording import Observation
from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANS_GROUP
from mqlab.rocketmq.messages import (
    CHECK_TIMES,
    NAMES,
    PGROUP,
    TRAN_MSG,
    UNIQ_KEY,
    ResumeCheckHalfMessage,
)
from mqlab.rocketmq.remoting import (
    BatchMessage,
    MessageRecord,
    MessageSysFlag,
    PullSysFlag,
    RemotingCommand,
    RequestCode,
    ResponseCode,
    decode_record,
    decode_records,
    encode_batch,
    encode_json,
    encode_properties,
    name_response,
    read_msg_id,
)
from mqlab.rocketmq.states import SendStatus, TransactionType

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
#: what is usual in the header of a new topic, of a pull and of a message that is sent back
TOPIC: dict[str, Any] = {
    "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6,
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False,
}  # fmt: skip
PULL: dict[str, Any] = {
    "maxMsgNums": 32, "sysFlag": int(PullSysFlag.SUBSCRIPTION), "commitOffset": 0,
    "suspendTimeoutMillis": 0, "subscription": "*", "subVersion": 0, "expressionType": "TAG",
}  # fmt: skip


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
    Java client asks for it; `slave`: another that copies it."""

    broker: str
    address: str
    control: Control
    version: str = "5.5.0"
    name_server: str = ""
    slave: Target | None = None


@dataclass
class Lab:
    """One run of one program. `broker`: what it calls the target."""

    target: Target
    profile: Profile
    prefix: str = ""
    notes: list[Observation] = field(default_factory=list)
    clients: dict[str, str] = field(default_factory=dict)
    broker: str = BROKER
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
        fields = {**TOPIC, "readQueueNums": queues, "writeQueueNums": queues, **more}
        code = RequestCode.UPDATE_AND_CREATE_TOPIC
        answer = self.ask(code, topic=self.topic_of(name), **fields)
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
        answer = self.ask_pull(name, queue_id, offset, "readers")
        return decode_records(answer.body) if answer.code == ResponseCode.SUCCESS else []

    def ask_pull(self, name: str, queue_id: int, offset: int, group: str) -> RemotingCommand:
        where: dict[str, Any] = {
            "topic": self.topic_of(name),
            "queueId": queue_id,
            "queueOffset": offset,
        }
        return self.ask(RequestCode.PULL_MESSAGE, **PULL, consumerGroup=self.wire(group), **where)

    def written_logs(self, **counts: int) -> None:
        """As `logs`, when what is in memory of op records is written."""
        self.write_ops()
        self.logs(**counts)

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


def header(lab: Lab, topic: str, properties: str, **more: Any) -> dict[str, Any]:
    """A send's header, on the wire; `more` goes before what is usual."""
    usual = {
        "a": lab.wire("order-service"), "b": lab.topic_of(topic), "c": "TBW102", "d": 4, "e": 0,
        "f": 0, "g": int(time.time() * 1000), "h": 0, "i": properties, "j": 0, "k": False,
    }  # fmt: skip
    return {**usual, **more}


def outcome_of(answer: RemotingCommand) -> str:
    """`ok`, or the code's name and its remark."""
    if answer.code == ResponseCode.SUCCESS:
        return "ok"
    return f"{name_response(answer.code)} {shorten(answer.remark)}".rstrip()


def shorten(remark: str) -> str:
    """A remark without its Java: the exception it came as, the place in the source. How Java words
    a null pointer is the virtual machine's business."""
    first = remark.partition("\n")[0].partition(" It may be caused by")[0]
    if first == DEFAULT_REMARK:
        return ""
    if "Cannot invoke" in first or "NullPointerException" in first:
        return "NullPointerException"
    return re.sub(r"^[\w.]*Exception: |, [\w.]*\([\w.]*:\d+\)$", "", first).strip()


# A producer of transactional messages, written by hand: it sends halves, ends them, and answers
# checks when the program says so, as the program says. Unlike a real client it can also wait for
# the answer to an END_TRANSACTION, and send wrong ones.


COMMIT, ROLLBACK = TransactionType.COMMIT_TYPE, TransactionType.ROLLBACK_TYPE
UNKNOW = TransactionType.NOT_TYPE
#: how long to wait for an answer that should not come
SILENCE_S = 0.5
STATUS = {
    0: SendStatus.SEND_OK,
    10: SendStatus.FLUSH_DISK_TIMEOUT,
    11: SendStatus.SLAVE_NOT_AVAILABLE,
    12: SendStatus.FLUSH_SLAVE_TIMEOUT,
}

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Half:
    """Where a half lies: what its END_TRANSACTION must name. `times`: of a copy that a check
    was about, the number of that check."""

    words: str
    queue_offset: int
    physical_offset: int
    key: str
    times: int = 0


@dataclass
class Producer:
    """`who`: the process; `group`: of producers, whom the broker may ask alike."""

    lab: Lab
    who: str = "app"
    group: str = "order-service"
    _connection: Connection | None = field(default=None, repr=False)

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            self._connection = self.lab.connect()
        return self._connection

    def start(self, *groups: str) -> None:
        """A heartbeat: from now on the broker knows whom it may ask."""
        names = groups or (self.group,)
        body = {
            "clientID": f"{self.lab.wire(self.who)}@1",
            "producerDataSet": [{"groupName": self.lab.wire(name)} for name in names],
            "consumerDataSet": [],
        }
        answer = self.connection.ask(RequestCode.HEART_BEAT, encode_json(body))
        self.lab.note(self.who, BROKER, f"Heartbeat {', '.join(names)}", outcome_of(answer))

    def leave(self) -> None:
        """Its process is gone: the connection breaks."""
        self.connection.close()
        self._connection = None
        time.sleep(SETTLE_S)

    def reconnect(self) -> None:
        """After the broker was away; it has forgotten who this is."""
        self._connection = None

    # -- sending ---------------------------------------------------------------------------

    def send(
        self, place: str, words: str, half: bool = True, age_ms: int = 0, **properties: str
    ) -> Half:
        """A half message to a queue ("orders-0"), or a plain one. `age_ms`: how long ago it was
        born; `properties`: besides those that a client sets."""
        topic, _, queue_id = place.rpartition("-")
        key = f"{self.lab.wire(self.who)}-{words}"
        given = {UNIQ_KEY: key, **properties}
        if half:
            given |= {TRAN_MSG: "true", PGROUP: self.lab.wire(self.group)}
        flag = MessageSysFlag.TRANSACTION_PREPARED_TYPE if half else 0
        own = {"a": self.lab.wire(self.group), "e": queue_id, "f": int(flag)}
        fields = header(self.lab, topic, encode_properties(given), **own)
        fields["g"] -= age_ms
        answer = self.connection.ask(RequestCode.SEND_MESSAGE_V2, words.encode(), **fields)
        kind = " half" if half else ""
        question = f"SendMessage{kind} {place} {words}"
        self.lab.note(self.who, self.lab.broker, question, _stored(answer))
        if answer.code not in STATUS:
            return Half(words, -1, -1, key)
        _, physical = read_msg_id(answer.fields["msgId"])
        return Half(words, int(answer.fields["queueOffset"]), physical, key)

    def send_batch(
        self, place: str, *words: str, bits: TransactionType = TransactionType.NOT_TYPE,
        request: Mapping[str, str] = NO_PROPERTIES, each: Mapping[str, str] = NO_PROPERTIES,
    ) -> None:  # fmt: skip
        """Several messages in one request, with these transaction bits. Properties: `request`, of
        the request; `each`, of each message."""
        topic, _, queue_id = place.rpartition("-")
        batch = encode_batch([BatchMessage(one.encode(), dict(each)) for one in words])
        own = {"a": self.lab.wire(self.group), "e": queue_id, "f": int(bits), "m": True}
        fields = header(self.lab, topic, encode_properties(request), **own)
        answer = self.connection.ask(RequestCode.SEND_BATCH_MESSAGE, batch, **fields)
        stored = _stored(answer) if answer.code in STATUS else name_response(answer.code)
        question = f"SendBatchMessage {place} {', '.join(words)} with bits {int(bits)}"
        question += "".join(f" {name}={value} of each" for name, value in each.items())
        question += "".join(f" {n}={value} of the request" for n, value in request.items())
        self.lab.note(self.who, BROKER, question, stored)

    # -- ending ----------------------------------------------------------------------------

    def end(self, half: Half, end: int, from_check: bool = False, **wrong: Any) -> str:
        """END_TRANSACTION that waits for its answer. `wrong`: `group`, `queue_offset` or
        `commit_log_offset` that are not the half's."""
        name = NAMES.get(end, str(end))
        question = f"EndTransaction {name} {half.words}" + (" from check" if from_check else "")
        if wrong:
            place = wrong.get("queue_offset", half.queue_offset)
            log = wrong.get("commit_log_offset", half.physical_offset)
            question += f" {wrong.get('group', self.group)} half@{place} log@{log}"
        fields = self.end_fields(half, end, from_check, wrong)
        try:
            patience = SILENCE_S if end == UNKNOW else PATIENCE_S
            outcome = outcome_of(
                self.connection.ask(RequestCode.END_TRANSACTION, patience_s=patience, **fields)
            )
        except TimeoutError:
            outcome = "no answer"
        self.lab.note(self.who, self.lab.broker, question, outcome)
        return outcome

    def end_and_write(self, half: Half, end: int, from_check: bool = False) -> None:
        """END_TRANSACTION, and the op record that it leaves in memory is written."""
        self.end(half, end, from_check)
        self.lab.write_ops()

    def end_fields(
        self, half: Half, end: int, from_check: bool, wrong: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "topic": self.lab.wire("orders"),
            "producerGroup": self.lab.wire(wrong.get("group", self.group)),
            "tranStateTableOffset": wrong.get("queue_offset", half.queue_offset),
            "commitLogOffset": wrong.get("commit_log_offset", half.physical_offset),
            "commitOrRollback": int(end),
            "fromTransactionCheck": from_check,
            "msgId": half.key,
            "transactionId": half.key,
        }

    # -- being asked -----------------------------------------------------------------------

    def note_checks(self, count: int) -> list[Half]:
        """Wait for `count` checks, and a little for one more; note each with the half it names.
        Checks leave through a pool of threads: what one round asks comes in any order."""
        take = self.connection.take_checks
        arrived = [*take(count, PATIENCE_S), *take(1, SETTLE_S)]
        checks = sorted(map(_asked_about, arrived), key=lambda half: half.queue_offset)
        for half in checks:
            question = f"CheckTransactionState {half.words} ({half.times})"
            self.lab.note(BROKER, self.who, question, f"about half @{half.queue_offset}")
        if not checks:
            self.lab.note(BROKER, self.who, "CheckTransactionState", "nobody is asked")
        return checks

    def round(self, checks: int, **how: Any) -> list[Half]:
        """One check round, and the checks that it sends."""
        self.lab.round(**how)
        return self.note_checks(checks)

    def question(self) -> MessageRecord:
        """Wait for one check; the message that it is about."""
        (check,) = self.connection.take_checks(1, PATIENCE_S)
        return decode_record(check.body)[0]

    # -- an operator -----------------------------------------------------------------------

    def answer_round(self, end: int, **how: Any) -> None:
        """One check round, and the answer to the one check that it sends."""
        (copy,) = self.round(1, **how)
        self.end(copy, end, from_check=True)

    def resume(self, half: Half, msg_id: str) -> None:
        """RESUME_CHECK_HALF_MESSAGE of a message that was given up."""
        answer = self.connection.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=msg_id)
        question = str(ResumeCheckHalfMessage(0)).partition(" @")[0]
        self.lab.note("operator", BROKER, f"{question} {half.words}", outcome_of(answer))


def _asked_about(check: RemotingCommand) -> Half:
    record, _ = decode_record(check.body)
    return Half(
        record.body.decode(),
        int(check.fields["tranStateTableOffset"]),
        int(check.fields["commitLogOffset"]),
        check.fields["transactionId"],
        int(record.properties[CHECK_TIMES]),
    )


def _stored(answer: RemotingCommand) -> str:
    if answer.code not in STATUS:
        return outcome_of(answer)
    return f"{STATUS[answer.code]} @{answer.fields['queueOffset']}"
