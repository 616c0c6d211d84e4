"""A role of Pulsar's whose memory is broken trips over it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqlab.kernel import Append, Appended, Caller, FactKind, Map, MemoryDisk, Trace
from mqlab.pulsar import PulsarSystem, subscription
from mqlab.pulsar.buffer import Buffer
from mqlab.pulsar.coordinator import Coordinator, End, TxnMeta
from mqlab.pulsar.evidence import CONTRADICTIONS, WITNESS, note_answer
from mqlab.pulsar.messages import LedgerEntry, PendingAckEntry, TxnID
from mqlab.pulsar.states import (
    CLIENT_PREVIOUS,
    PREVIOUS,
    BufferState,
    ClientTxnState,
    TxnAction,
    TxnStatus,
    may_enter,
)
from mqlab.pulsar.subscription import Subscription
from mqlab.pulsar.topic import Topic
from mqlab.recordings.evidence import add_evidence
from mqlab.scenario import parse_script, perform, system_of
from tests.pulsar.subscription.stand import NAME, TOPIC, Stand

T1 = TxnID(0, 1)
CONFIG = Stand().config
ONE = MemoryDisk().apply(Append(TOPIC, LedgerEntry(0, ("a",), txn=T1)))
READY = Buffer(BufferState.READY)


def test_nobody_is_told_an_end_that_was_not_decided():
    decided = TxnMeta(T1, TxnStatus.COMMITTING)
    end = End(0, T1, TxnAction.COMMIT, None, ((0, (TOPIC, "")),))
    sound = Coordinator(CONFIG, txns=Map([(T1, decided)]), ends=(end,))
    assert sound.step(Appended(sound.log, 0), MemoryDisk())[0] == sound
    for status in (TxnStatus.OPEN, TxnStatus.ABORTING):
        broken = replace(sound, txns=Map([(T1, replace(decided, status=status))]))
        with pytest.raises(AssertionError, match=str(status)):
            broken.step(Appended(sound.log, 0), MemoryDisk())


@pytest.mark.parametrize(
    ("lac", "buffer"),
    [
        (1, READY),
        (0, replace(READY, max_read_position=1)),
        (0, replace(READY, max_read_position=0, ongoing=((T1, 0),))),
    ],
    ids=["a confirmed entry is missing", "one that is readable", "an open one is readable"],
)
def test_nothing_is_readable_that_is_not_there_or_is_open(lac, buffer):
    sound = Topic(CONFIG, TOPIC, lac=0, buffer=replace(READY, ongoing=((T1, 0),)))
    assert sound.step(Appended(TOPIC, 1), ONE)[0] == sound
    with pytest.raises(AssertionError):
        replace(sound, lac=lac, buffer=buffer).step(Appended(TOPIC, 1), ONE)


def test_pending_acks_wait_in_the_order_of_their_log():
    first, second = (
        subscription.Waiting(PendingAckEntry(base, "COMMIT", T1), Caller("tc-0")) for base in (0, 1)
    )
    sub = Subscription(CONFIG, TOPIC, NAME, waiting=(first, second))
    assert subscription.finish_append(sub, 1, -1, MemoryDisk())[0].waiting == (second,)
    with pytest.raises(AssertionError, match="base=0"):
        subscription.finish_append(replace(sub, waiting=(second, first)), 1, -1, MemoryDisk())


# ---- The tables of states, against the rows of Pulsar's own tests (TxnStatusTest)

MAY = {
    "OPEN": "OPEN COMMITTING ABORTING",
    "COMMITTING": "COMMITTING COMMITTED",
    "COMMITTED": "COMMITTED",
    "ABORTING": "ABORTING ABORTED",
    "ABORTED": "ABORTED",
}


@pytest.mark.parametrize("old", TxnStatus)
def test_a_transaction_may_go_where_pulsar_lets_it(old: TxnStatus) -> None:
    assert [new for new in TxnStatus if may_enter(new, old)] == MAY[old].split()


def test_every_state_is_in_its_table() -> None:
    assert set(PREVIOUS) == set(TxnStatus) and set(CLIENT_PREVIOUS) == set(ClientTxnState)


# ---- The evidence of narrated lines: recorded only where a recording of 4.2.4 says the same

RECORDED = "recorded on Pulsar 4.2.4"
COMMIT = """\
# As the program `commit` asks.
system pulsar clients=app,shop
run shop: subscribe orders-0 billing from=earliest
run app: new-transaction t1 timeout=600000, send orders-0 a txn=t1, send orders-0 b txn=t1
run app: send orders-0 c txn=t1, commit t1
"""
ABORT = """\
# As the program `ack-and-abort-shared` asks.
system pulsar clients=app,shop
run shop: subscribe orders-0 billing type=Shared from=earliest
run app: send orders-0 a, send orders-0 b, send orders-0 c, send orders-0 d
run shop: receive billing, new-transaction t1 timeout=600000
run shop: ack billing orders-0@1 orders-0@2 txn=t1, abort t1
"""
CONFLICT = """\
# As the program `two-transactions-one-message` asks.
system pulsar clients=app,worker
run worker: subscribe orders-0 billing type=Shared from=earliest
run app: send orders-0 a
run worker: receive billing, new-transaction t1 timeout=600000, new-transaction t2 timeout=600000
run worker: ack billing orders-0@0 txn=t1, ack billing orders-0@0 txn=t2
"""
MARKED = """\
# A transaction with a message is aborted.
system pulsar
run app: new-transaction t1, send orders-0 a txn=t1, abort t1
"""


def judged(text: str, called: str) -> Trace:
    script = parse_script(text)
    trace = perform(script, system_of(script.system, {"pulsar": PulsarSystem})).trace
    return add_evidence(trace, called, WITNESS)


def evidence(text: str, called: str) -> dict[str, str]:
    return {" ".join(f.line().split()): f.evidence.en for f in judged(text, called)}


def test_what_a_client_asks_and_what_it_is_sent_are_recorded() -> None:
    lines = evidence(COMMIT, "commit")
    for line in (
        "app → tc-0 NewTxn timeout=600000",
        "app → orders-0 Send a in (0,0)",
        "orders-0 ⇒ app ok @2",
        "app → tc-0 EndTxn commit (0,0)",
        "orders-0 → shop Message a @0",
        "shop → orders-0 Subscribe billing Exclusive",
    ):
        assert RECORDED in lines[line], line


def test_what_stays_inside_the_broker_is_the_models() -> None:
    lines = evidence(COMMIT, "commit")
    inside = [line for line in lines if "EndTxnOnPartition" in line or "▮ disk" in line]
    assert inside and not any(RECORDED in lines[line] for line in inside)


def test_the_recording_of_another_scenario_is_no_evidence() -> None:
    assert not any(RECORDED in said for said in evidence(COMMIT, "no-such-story").values())
    assert RECORDED not in evidence(COMMIT, "abort")["app → tc-0 EndTxn commit (0,0)"]


def test_an_acknowledgement_in_a_transaction_is_answered_and_recorded() -> None:
    lines = evidence(ABORT, "ack-and-abort-shared")
    assert RECORDED in lines["shop → orders-0 Ack billing 1, 2 in (0,0)"]
    assert RECORDED in lines["orders-0 → shop Message b @1 redelivered 1"]


def test_a_refusal_is_recorded_by_the_class_of_its_exception() -> None:
    lines = evidence(CONFLICT, "two-transactions-one-message")
    refused = next(said for line, said in lines.items() if "⇒ worker TransactionConflict" in line)
    assert RECORDED in refused
    assert RECORDED in lines["worker → orders-0 Ack billing 0 in (0,1)"]
    assert note_answer("TransactionConflict (0,1) tries to ack 0") == "TransactionConflictException"
    assert note_answer("ok (0,1)") == "ok (0,1)"


def test_what_articles_say_otherwise_is_said_where_it_is_told() -> None:
    told = [f for f in judged(MARKED, "abort") if "contradicts" in f.evidence.en]
    assert any("discarded" in f.why.en and f.kind is FactKind.APPEND for f in told)
    assert any("16 bits" in f.why.en and f.kind is FactKind.REPLY for f in told)
    assert all("许多文章" in f.why.zh for f in told)


def test_every_contradiction_is_met_in_some_story() -> None:
    facts = [fact for text in (COMMIT, ABORT, MARKED) for fact in judged(text, "")]
    for row in CONTRADICTIONS:
        assert any(row.meets(fact) for fact in facts), row


FENCED = """\
# As the program `fencing-stops-sends` asks.
system pulsar topic=income clients=app,again
run app: producer income-0 access=Exclusive
run again: producer income-0 access=ExclusiveWithFencing
"""


def test_a_producer_that_is_opened_is_recorded() -> None:
    lines = evidence(FENCED, "fencing-stops-sends")
    for line in ("app → income-0 OpenProducer Exclusive",
                 "again → income-0 OpenProducer ExclusiveWithFencing"):  # fmt: skip
        assert lines[line] == RECORDED, line
