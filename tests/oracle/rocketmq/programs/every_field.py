"""Every field of a message, with bodies plain and compressed in each way, in each of its fates."""

from __future__ import annotations

import time
from typing import Any

from mqlab.rocketmq.config import DLQ_PREFIX, RETRY_PREFIX
from mqlab.rocketmq.messages import PGROUP, TRAN_MSG, UNIQ_KEY
from mqlab.rocketmq.remoting import (
    BatchMessage,
    MessageRecord,
    MessageSysFlag,
    RemotingCommand,
    RequestCode,
    decode_record,
    encode_batch,
    encode_properties,
    read_msg_id,
)

from ..client import BROKER, COMMIT, PATIENCE_S, SETTLE_S, Half, Lab, Producer, header, outcome_of
from ..fields import CODECS, Case, Reader, build_cases
from . import program
from .consumers import GROUP, back_header, subscribe

LAST_S = 2.0  # between two questions of one round; 4.9 does not ask about a body of nothing
BORN_BEFORE_MS = 3_000  # so that a time of birth is never the time of a store
RETRY, DLQ = f"{RETRY_PREFIX}{GROUP}", f"{DLQ_PREFIX}{GROUP}"


class Story:
    """One producer and its cases. Each has a unique key of its client, but for one that has no
    properties at all: a broker may give that one a key, which its answer names."""

    def __init__(self, lab: Lab) -> None:
        lab.topic("orders")
        self.lab, self.app, self.cases = lab, Producer(lab), build_cases()
        self.stored = 0  # messages that the broker has said it has stored
        self.app.start()
        keys = {c.words: f"{lab.wire('key')}-{c.words}" for c in self.cases if c.properties}
        self.reader = Reader(lab, self.app.connection.local, keys)

    def fields(self, case: Case, sys_flag: int) -> dict[str, Any]:
        """SendMessageRequestHeaderV2, without properties."""
        born = int(time.time() * 1000) - BORN_BEFORE_MS
        self.reader.born[case.words] = born
        return header(self.lab, "orders", "", f=sys_flag, g=born, h=case.flag)

    def properties(self, case: Case) -> dict[str, str]:
        key = {UNIQ_KEY: self.reader.keys[case.words]} if case.properties else {}
        return dict(case.properties) | key

    def send(self, case: Case, half: bool = True) -> Half | None:
        """None where the broker has not taken it."""
        given, bits = self.properties(case), 0
        if half:
            given |= {TRAN_MSG: "true", PGROUP: self.lab.wire(self.app.group)}
            bits = MessageSysFlag.TRANSACTION_PREPARED_TYPE
        fields = self.fields(case, case.sys_flag | bits) | {"i": encode_properties(given)}
        answer = self.app.connection.ask(RequestCode.SEND_MESSAGE_V2, case.body, **fields)
        return self.take_answer(case, answer, "half" if half else "message")

    def take_answer(self, case: Case, answer: RemotingCommand, kind: str) -> Half | None:
        question = f"SendMessage {kind}"
        if "msgId" not in answer.fields:
            self.reader.collect("app", BROKER, question, case, outcome_of(answer))
            return None
        _, physical = read_msg_id(answer.fields["msgId"])
        key = self.reader.keys.setdefault(case.words, answer.fields.get("transactionId", ""))
        fields = self.reader.list_fields(case, answer, physical, self.stored)
        self.stored += 1
        self.reader.collect("app", BROKER, question, case, f"{outcome_of(answer)}: {fields}")
        return Half(case.words, int(answer.fields["queueOffset"]), physical, key)

    def send_all(self, half: bool = True) -> list[tuple[Case, Half]]:
        """Those that the broker has taken, in their order."""
        sent = [(case, self.send(case, half)) for case in self.cases]
        self.reader.note_collected()
        return [(case, stored) for case, stored in sent if stored is not None]

    def send_halves(self) -> list[tuple[Case, Half]]:
        """And tell how they lie there."""
        sent = self.send_all()
        self.read("half", "half", [case for case, _ in sent])
        return sent

    def commit_all(self) -> list[tuple[Case, MessageRecord]]:
        """Halves, and then the messages that they become."""
        sent = self.send_halves()
        time.sleep(SETTLE_S)
        for case, half in sent:
            self.reader.collect("app", BROKER, "EndTransaction", case, self.end(half))
        sources = [half.physical_offset for _, half in sent]
        return self.read("orders", "message", [case for case, _ in sent], sources)

    def end(self, half: Half, from_check: bool = False) -> str:
        fields = self.app.end_fields(half, COMMIT, from_check, {})
        return outcome_of(self.app.connection.ask(RequestCode.END_TRANSACTION, **fields))

    def read(
        self, topic: str, name: str, cases: list[Case], sources: list[int] | None = None
    ) -> list[tuple[Case, MessageRecord]]:
        """Tell what a queue holds, a message a case."""
        records = self.reader.read(topic, len(cases))
        if len(records) != len(cases):
            self.lab.note("log", topic, f"{name}s", f"{len(records)} for {len(cases)}")
        for case, record, source in zip(cases, records, sources or [-1] * len(cases), strict=False):
            self.reader.note(name, case, record, source)
        self.reader.note_collected()
        return list(zip(cases, records, strict=False))

    def send_back(self, case: Case, record: MessageRecord, level: int) -> None:
        """CONSUMER_SEND_MSG_BACK."""
        given = {"originMsgId": self.reader.keys[case.words], "delayLevel": level}
        code = RequestCode.CONSUMER_SEND_MSG_BACK
        answer = self.lab.ask(code, **back_header(self.lab, record, **given))
        question = f"ConsumerSendMsgBack level={level}"
        self.reader.collect("stock", BROKER, question, case, outcome_of(answer))

    def hear_checks(self, count: int) -> list[tuple[MessageRecord, RemotingCommand]]:
        """The broker's questions, in the order of the copies that they name."""
        checks: list[tuple[MessageRecord, RemotingCommand]] = []
        for _ in range(count):
            patience = LAST_S if checks else PATIENCE_S
            for command in self.app.connection.take_checks(1, patience):
                checks.append((decode_record(command.body)[0], command))
        return sorted(checks, key=lambda pair: pair[0].physical_offset)


@program("MessageDecoder#encode, CommitLog#asyncPutMessage")
def every_field_ordinary(lab: Lab) -> None:
    story = Story(lab)
    sent = story.send_all(half=False)
    story.read("orders", "message", [case for case, _ in sent])


@program("SendMessageProcessor#sendBatchMessage: one sysFlag for all")
def every_field_batched(lab: Lab) -> None:
    """A batch a codec; what no client does (compress the messages of a batch), a raw one may."""
    story = Story(lab)
    cases: list[Case] = []
    for codec in CODECS:
        these = [case for case in story.cases if case.codec == codec]
        messages = [BatchMessage(c.body, story.properties(c), c.flag) for c in these]
        fields = story.fields(these[0], these[0].sys_flag)
        for case in these:
            story.reader.born[case.words] = story.reader.born[these[0].words]
        answer = story.app.connection.ask(
            RequestCode.SEND_BATCH_MESSAGE, encode_batch(messages), m=True, **fields
        )
        outcome = f"{outcome_of(answer)}: ids {len(answer.fields.get('msgId', '').split(','))}"
        names = ", ".join(name for name in sorted(answer.fields) if name != "msgId")
        lab.note("app", BROKER, f"SendBatchMessage {codec}", f"{outcome}; {names}")
        cases += these
    story.read("orders", "message", cases)


@program("EndTransactionProcessor#endMessageTransaction")
def every_field_committed(lab: Lab) -> None:
    Story(lab).commit_all()


@program("AbstractTransactionalMessageCheckListener#sendCheckMessage")
def every_field_checked(lab: Lab) -> None:
    """Committed by the answer to a check: the question, the copy put back, the message."""
    story = Story(lab)
    sent = story.send_halves()
    lab.round()
    questions = {r.physical_offset: (r, command) for r, command in story.hear_checks(len(sent))}
    copies = story.reader.read("half", 2 * len(sent))[len(sent) :]
    ended = []
    for (case, half), copy in zip(sent, copies, strict=True):
        story.reader.note("copy", case, copy, half.physical_offset)
        if copy.physical_offset not in questions:
            story.reader.collect(BROKER, "app", "CheckTransactionState", case, "is not asked")
            continue
        record, command = questions[copy.physical_offset]
        at = copy.physical_offset
        fields = story.reader.list_fields(case, command, at, story.reader.counted[at])
        story.reader.collect(BROKER, "app", "CheckTransactionState", case, fields)
        story.reader.note("question", case, record, half.physical_offset)
        place = int(command.fields["tranStateTableOffset"])
        ended.append((case, Half(case.words, place, record.physical_offset, half.key)))
    for case, copy_half in ended:
        outcome = story.end(copy_half, True)
        story.reader.collect("app", BROKER, "EndTransaction from check", case, outcome)
    sources = [half.physical_offset for _, half in ended]
    story.read("orders", "message", [case for case, _ in ended], sources)


@program("DefaultTransactionalMessageCheckListener#resolveDiscardMsg")
def every_field_parked(lab: Lab) -> None:
    """Three checks without an answer."""
    story = Story(lab)
    sent = story.send_halves()
    for _ in range(5):
        lab.round(noted=False)
    sources = [half.physical_offset for _, half in sent]
    story.read("discard", "parked", [case for case, _ in sent], sources)


@program("AbstractSendMessageProcessor#consumerSendMsgBack")
def every_field_retried(lab: Lab) -> None:
    """Sent back, and sent back again: both copies, of what was committed."""
    story = Story(lab)
    messages = story.commit_all()
    subscribe(lab)
    back = messages
    for number in (1, 2):
        time.sleep(SETTLE_S)
        for case, record in back:
            story.send_back(case, record, level=3)
        for _ in back:  # here each has a delay of its own
            lab.target.control.end_delay(3)
        copies = story.reader.read(RETRY, number * len(messages))[(number - 1) * len(messages) :]
        for (case, source), record in zip(back, copies, strict=False):
            story.reader.note(f"retry {number}", case, record, source.physical_offset)
        story.reader.note_collected()
        back = [(case, record) for (case, _), record in zip(messages, copies, strict=False)]


@program("AbstractSendMessageProcessor#consumerSendMsgBack: level -1")
def every_field_dead(lab: Lab) -> None:
    story = Story(lab)
    messages = story.commit_all()
    subscribe(lab)
    time.sleep(SETTLE_S)
    for case, record in messages:
        story.send_back(case, record, level=-1)
    sources = [record.physical_offset for _, record in messages]
    story.read(DLQ, "dead", [case for case, _ in messages], sources)
