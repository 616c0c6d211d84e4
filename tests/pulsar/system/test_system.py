"""The system line, what a scenario may say, and who is told what is wrong."""

from __future__ import annotations

import re
import shlex

import pytest

from mqlab.kernel import FactKind
from mqlab.pulsar import SAFEGUARDS, PulsarConfig, PulsarSystem
from mqlab.pulsar.messages import CloseConsumer
from mqlab.pulsar.picture import words as sentences
from mqlab.pulsar.system import CALLS, parse_call
from mqlab.registry import run_scenario

CONFIG = PulsarConfig(
    partitions=("orders-0", "dlq-0", "gone-0"), missing=("gone-0",), coordinators=2
)


@pytest.mark.parametrize(
    "words",
    [
        "new-transaction t1",
        "new-transaction t1 timeout=500",
        "new-transaction t1 timeout=0",
        "send orders-0 a",
        "send orders-0 a b txn=t1 sequence=5",
        "send orders-0 a sequence=0",
        "commit t1",
        "abort t1",
        "state t1",
        "reopen t1",
        "end-by-id abort 1/7",
        "subscribe orders-0 s",
        "subscribe orders-0 s type=Shared from=earliest queue=2 dead_letter=dlq-0 max_redeliver=1",
        "reader orders-0 r from=earliest",
        "subscribe orders-0 s queue=0",
        "subscribe orders-0 s batch_index_ack=0",
        "receive s",
        "ack s",
        "ack s orders-0@3 orders-0@4:1 txn=t1",
        "ack-cumulative s orders-0@3 txn=t1",
        "redeliver s",
        "nack s orders-0@3 orders-0@4:1",
        "seek s orders-0@4:1",
        "close s",
        "register 0/0 orders-0",
        "register 0/0 orders-0 s",
        "transaction-metadata 0/0",
        "coordinator-stats 1",
        "slow-transactions 0 30000",
        "buffer-stats orders-0",
        "transaction-in-buffer orders-0 0/0",
        "pending-ack-stats orders-0 s",
        "position-stats s orders-0@3",
        "last-message-id orders-0",
        "delete-topic orders-0",
        "delete-ledger orders-0",
        "delete-ledger orders-0 s",
        "delete-ledger orders-0 s records=2",
        "unsubscribe orders-0 s",
        "create-namespace gone-0",
    ],
)
def test_a_call_is_written_as_it_is_read(words: str) -> None:
    call = parse_call(tuple(words.split()), CONFIG)
    assert str(call) == words
    assert words in PulsarSystem(programs=(("app", (call,)),)).line()


def test_every_call_has_its_advice() -> None:
    for verb, usage in CALLS.by_verb.items():
        with pytest.raises(ValueError, match=re.escape(f"is not a call; expected {usage.text}")):
            parse_call((verb, *["x=1"] * 9), CONFIG)


def test_without_a_coordinator_there_are_plain_messages_only() -> None:
    run = run_scenario(
        "system pulsar coordinators=0\nrun app: send orders-0 a, new-transaction t1, "
        "send orders-0 b txn=t1"
    )
    said = [fact.text.en for fact in run.trace if fact.glyph == "☞"]
    assert said == [
        "send orders-0 a: ok @0",
        "new-transaction t1: failed TransactionCoordinatorClientException",
        "send orders-0 b txn=t1: failed there is no transaction t1",
    ]


def test_a_power_cut_takes_nothing_that_a_bookie_has_answered() -> None:
    run = run_scenario(
        "system pulsar\nrun app: new-transaction t1, send orders-0 a txn=t1\npower-cut tc-0\n"
        "restart tc-0\npower-cut orders-0\nrestart orders-0\nrun app: commit t1, new-transaction t2"
    )
    said = [fact.text.en for fact in run.trace if fact.glyph == "☞"]
    assert said[-2:] == ["commit t1: ok", "new-transaction t2: ok (0,1)"]


@pytest.mark.parametrize("coordinators, again", [(0, "a @0:0 again 1, b"), (1, "b")])
def test_a_broker_that_keeps_no_index_remembers_with_transactions_only(
    coordinators: int, again: str
) -> None:
    """apache/pulsar#5969; Consumer#individualAckNormal."""
    run = run_scenario(
        f"system pulsar batch_index_ack=0 coordinators={coordinators}\n"
        "run app: subscribe orders-0 s type=Shared, send orders-0 a b, receive s\n"
        "run app: ack s orders-0@0:0, nack s orders-0@0:1\nrun app: receive s, ack s"
    )
    said = [fact.text.en for fact in run.trace]
    assert f"receive s: ok {again} @0:1 again 1" in said
    assert said[-1] == "cursors[s] = mark-delete 0", "all of them: the whole batch"


def test_what_waits_for_the_buffer_is_not_nothing_to_do() -> None:
    """apache/pulsar#18923: a decision that meets a topic which is being loaded."""
    run = run_scenario(
        "system pulsar\nrun app: new-transaction t1, send orders-0 a txn=t1\nkill orders-0\n"
        "run app: commit t1\nkill tc-0\nrestart tc-0\nrestart orders-0"
    )
    said = [fact.text.en for fact in run.trace if fact.glyph == "·"]
    assert said == ["EndTxnOnPartition commit (0,0) lowWatermark=-1: waits for the buffer"] * 2


def test_a_line_is_read_back() -> None:
    line = {
        "clients": "app,shop",
        "coordinators": "2",
        "missing": "nowhere-0",
        "off": "replay_log,low_watermark",
        "app": "new-transaction t1; send orders-0 a txn=t1; end-by-id commit 0/0",
    }
    found = PulsarSystem.from_options(line)
    assert found.config.on == frozenset(SAFEGUARDS) - {"replay_log", "low_watermark"}
    assert found.config.partitions == ("orders-0", "nowhere-0")
    words = shlex.split(found.line())[1:]
    assert PulsarSystem.from_options(dict(word.split("=", 1) for word in words)) == found


def test_consumers_of_a_deleted_topic_come_back_to_the_new_one() -> None:
    run = run_scenario(
        "system pulsar clients=app,one,two\n"
        "run one: subscribe orders-0 work type=Shared\n"
        "run two: subscribe orders-0 other\n"
        "run app: send orders-0 a, delete-topic orders-0, send orders-0 b\n"
        "run one: receive work\n"
        "run two: receive other\n"
    )
    told = [fact.text.en for fact in run.trace if fact.glyph == "☞"]
    assert told[-2:] == ["receive work: ok b @0", "receive other: ok b @0"]
    sent = [f for f in run.trace if isinstance(f.body, CloseConsumer) and f.kind is FactKind.SEND]
    assert [(fact.peer, fact.why) for fact in sent] == [
        ("two", sentences.CLOSED()), ("one", sentences.CLOSED())
    ]  # fmt: skip
