"""A producer of transactional messages, written by hand: it sends halves, ends them, and answers
checks when the program says so, as the program says. Unlike a real client it can also wait for the
answer to an END_TRANSACTION, and send wrong ones.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

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
    RemotingCommand,
    RequestCode,
    decode_record,
    encode_batch,
    encode_json,
    encode_properties,
    name_response,
    read_msg_id,
)
from mqlab.rocketmq.states import SendStatus, TransactionType

from .client import BROKER, PATIENCE_S, SETTLE_S, Lab, outcome_of
from .wire import Connection

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
        answer = self.connection.ask(
            RequestCode.SEND_MESSAGE_V2,
            words.encode(),
            a=self.lab.wire(self.group),
            b=self.lab.topic_of(topic),
            c="TBW102",
            d=4,
            e=queue_id,
            f=int(flag),
            g=int(time.time() * 1000) - age_ms,
            h=0,
            i=encode_properties(given),
            j=0,
            k=False,
        )
        kind = " half" if half else ""
        self.lab.note(self.who, BROKER, f"SendMessage{kind} {place} {words}", _stored(answer))
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
        answer = self.connection.ask(
            RequestCode.SEND_BATCH_MESSAGE,
            encode_batch([BatchMessage(one.encode(), dict(each)) for one in words]),
            a=self.lab.wire(self.group),
            b=self.lab.topic_of(topic),
            c="TBW102",
            d=4,
            e=queue_id,
            f=int(bits),
            g=int(time.time() * 1000),
            h=0,
            i=encode_properties(request),
            j=0,
            k=False,
            m=True,
        )
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
        self.lab.note(self.who, BROKER, question, outcome)
        return outcome

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
        arrived = [self._check(PATIENCE_S) for _ in range(count)]
        arrived.append(self._check(SETTLE_S))
        checks = sorted(filter(None, arrived), key=lambda half: half.queue_offset)
        for half in checks:
            question = f"CheckTransactionState {half.words} ({half.times})"
            self.lab.note(BROKER, self.who, question, f"about half @{half.queue_offset}")
        if not checks:
            self.lab.note(BROKER, self.who, "CheckTransactionState", "nobody is asked")
        return checks

    def question(self) -> MessageRecord:
        """Wait for one check; the message that it is about."""
        record, _ = decode_record(self.connection.pushed.get(timeout=PATIENCE_S).body)
        return record

    def _check(self, patience_s: float) -> Half | None:
        try:
            command = self.connection.pushed.get(timeout=patience_s)
        except queue.Empty:
            return None
        if command.code != RequestCode.CHECK_TRANSACTION_STATE:
            raise ValueError(f"the broker asks for {command.code}")
        record, _ = decode_record(command.body)
        return Half(
            record.body.decode(),
            int(command.fields["tranStateTableOffset"]),
            int(command.fields["commitLogOffset"]),
            command.fields["transactionId"],
            int(record.properties[CHECK_TIMES]),
        )

    # -- an operator -----------------------------------------------------------------------

    def answer_check(self, end: int) -> None:
        """Wait for the one check of a round, and answer it."""
        (copy,) = self.note_checks(1)
        self.end(copy, end, from_check=True)

    def resume(self, half: Half, msg_id: str) -> None:
        """RESUME_CHECK_HALF_MESSAGE of a message that was given up."""
        answer = self.connection.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=msg_id)
        question = str(ResumeCheckHalfMessage(0)).partition(" @")[0]
        self.lab.note("operator", BROKER, f"{question} {half.words}", outcome_of(answer))


def _stored(answer: RemotingCommand) -> str:
    if answer.code not in STATUS:
        return outcome_of(answer)
    return f"{STATUS[answer.code]} @{answer.fields['queueOffset']}"
