"""What each error does to a producer: table by table, for both clients.

The tables are the client's own (TransactionManager's handlers, Kafka 4.3) and what a running
broker showed: fencing (TransactionsTest#testFencingOn…) and the producer that was too slow.
"""

import pytest

from mqlab.kafka.clients.calls import Abort, Begin, Commit, Init, SendOffsets
from mqlab.kafka.clients.producer.flight import (
    judge_coordinator_error,
    judge_leader_error,
    name_exception,
)
from mqlab.kafka.errors import Error
from mqlab.kafka.messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    OffsetCommitResponse,
    Position,
    ProduceResponse,
    TxnOffsetCommit,
)
from mqlab.registry import scenario
from tests.kafka.clients.driven import Client

E = Error
OFFSETS = SendOffsets("g", (Position("o-0", 5),), "m-1", 4)
MODES = {
    "tv0": "transaction_version=0",
    "legacy": "client=legacy",
    "v2": "",
}

# ---- the tables --------------------------------------------------------------------------

INIT = InitProducerId("t")
ADD = AddPartitionsToTxn("t", 7, 3, ("o-0",))
GROUP = AddOffsetsToTxn("t", 7, 3, "g")
COMMIT, ABORT = EndTxn("t", 7, 3, True), EndTxn("t", 7, 3, False)
OFFSET = TxnOffsetCommit("t", "g", 7, 3, ())
ROWS = [
    # (requests, error, what the application meets)
    ((INIT, ADD, GROUP, COMMIT, ABORT, OFFSET), E.PRODUCER_FENCED,
     "ProducerFencedException, fatal"),
    ((INIT, ADD, GROUP, COMMIT, ABORT, OFFSET), E.INVALID_PRODUCER_EPOCH,
     "ProducerFencedException, fatal"),
    ((INIT, ADD, GROUP, COMMIT, ABORT, OFFSET), E.CONCURRENT_TRANSACTIONS,
     "ConcurrentTransactionsException, retriable"),
    ((INIT, ADD, GROUP, COMMIT, ABORT, OFFSET), E.COORDINATOR_LOAD_IN_PROGRESS,
     "CoordinatorLoadInProgressException, retriable"),
    ((INIT, ADD, GROUP, COMMIT, ABORT, OFFSET), E.NOT_COORDINATOR,
     "NotCoordinatorException, retriable"),
    ((ADD, GROUP, COMMIT, ABORT), E.INVALID_TXN_STATE, "InvalidTxnStateException, fatal"),
    ((ADD, GROUP, COMMIT, ABORT), E.INVALID_PRODUCER_ID_MAPPING,
     "InvalidPidMappingException, fatal"),
    ((INIT, ADD, GROUP, COMMIT, OFFSET), E.TRANSACTION_ABORTABLE,
     "TransactionAbortableException, abortable"),
    ((ABORT,), E.TRANSACTION_ABORTABLE, "KafkaException (TRANSACTION_ABORTABLE), fatal"),
    ((INIT,), E.INVALID_TRANSACTION_TIMEOUT, "KafkaException (INVALID_TRANSACTION_TIMEOUT), fatal"),
    ((INIT,), E.INVALID_PRODUCER_ID_MAPPING, "KafkaException (INVALID_PRODUCER_ID_MAPPING), fatal"),
    ((ADD,), E.UNKNOWN_TOPIC_OR_PARTITION, "UnknownTopicOrPartitionException, retriable"),
    ((ADD,), E.OPERATION_NOT_ATTEMPTED, "KafkaException (OPERATION_NOT_ATTEMPTED), abortable"),
    ((GROUP, COMMIT), E.INVALID_REQUEST, "KafkaException (INVALID_REQUEST), fatal"),
    ((OFFSET,), E.UNKNOWN_MEMBER_ID, "CommitFailedException (UNKNOWN_MEMBER_ID), abortable"),
    ((OFFSET,), E.ILLEGAL_GENERATION, "CommitFailedException (ILLEGAL_GENERATION), abortable"),
    ((OFFSET,), E.FENCED_INSTANCE_ID, "FencedInstanceIdException, abortable"),
    ((OFFSET,), E.INVALID_TXN_STATE, "KafkaException (INVALID_TXN_STATE), fatal"),
    ((OFFSET,), E.INVALID_PRODUCER_ID_MAPPING,
     "KafkaException (INVALID_PRODUCER_ID_MAPPING), fatal"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "error", "met"),
    [(request, error, met) for requests, error, met in ROWS for request in requests],
    ids=lambda value: value.name if isinstance(value, Error) else type(value).__name__,
)
def test_what_a_coordinators_error_means(request_, error, met):
    assert str(judge_coordinator_error(request_, error)) == met


@pytest.mark.parametrize(
    ("error", "v2", "legacy"),
    [
        (E.INVALID_PRODUCER_EPOCH, "InvalidProducerEpochException, abortable",
         "ProducerFencedException, fatal"),
        (E.PRODUCER_FENCED, "ProducerFencedException, fatal", None),
        (E.INVALID_PRODUCER_ID_MAPPING, "InvalidPidMappingException, fatal", None),
        (E.INVALID_TXN_STATE, "TransactionAbortableException, abortable", None),
        (E.TRANSACTION_ABORTABLE, "TransactionAbortableException, abortable", None),
        (E.OUT_OF_ORDER_SEQUENCE_NUMBER, "OutOfOrderSequenceException, abortable", None),
        (E.NOT_ENOUGH_REPLICAS, "TransactionAbortableException, abortable", None),
        (E.MESSAGE_TOO_LARGE, "RecordTooLargeException, abortable", None),
    ],
)  # fmt: skip
def test_what_a_leaders_error_means_once_it_is_not_retried(error, v2, legacy):
    assert str(judge_leader_error(error, v2=True)) == v2
    assert str(judge_leader_error(error, v2=False)) == (legacy or v2)


def test_exceptions_are_called_as_in_java():
    assert name_exception(E.ILLEGAL_GENERATION) == "IllegalGenerationException"
    assert name_exception(E.NOT_LEADER_OR_FOLLOWER) == "NotLeaderOrFollowerException"


# ---- the same, through the role ----------------------------------------------------------


def test_init_with_a_timeout_that_the_broker_refuses():
    client = Client(timeout_ms=900_001).call(Init())
    client.answer(InitProducerIdResponse(E.INVALID_TRANSACTION_TIMEOUT)).call(Begin())
    assert client.heard == [
        "init: failed KafkaException (INVALID_TRANSACTION_TIMEOUT), fatal",
        "begin: failed KafkaException (INVALID_TRANSACTION_TIMEOUT), fatal",
    ]


def test_an_expired_id_is_fatal():
    client = Client().begun().send("a")
    client.answer(ProduceResponse(E.INVALID_PRODUCER_ID_MAPPING)).call(Commit(), Abort())
    assert client.heard[1:] == [
        "commit: failed InvalidPidMappingException, fatal",
        "abort: failed InvalidPidMappingException, fatal",
    ]
    assert client.sent == []


@pytest.mark.parametrize("mode", ["legacy", "v2"])
@pytest.mark.parametrize("error", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION])
def test_wrong_group_metadata_can_be_aborted(mode, error):
    client = Client(client=mode).begun().call(OFFSETS)
    if mode == "legacy":
        client.answer(AddPartitionsToTxnResponse())
    assert client.requests[0].startswith("__consumer_offsets-0 TxnOffsetCommit g {o-0@5}")
    assert (client.sent[0].body.member, client.sent[0].body.generation) == ("m-1", 4)
    client.answer(OffsetCommitResponse(error)).call(Commit(), Abort())
    assert client.heard[0].endswith(f"CommitFailedException ({error.name}), abortable")
    assert client.heard[1].startswith("commit: failed CommitFailedException")
    assert client.requests == ["coordinator EndTxn abort epoch=3"]
    client.answer(EndTxnResponse(pid=7, epoch=4 if mode == "v2" else 3))
    assert client.heard[-1] == "abort: ok"


@pytest.mark.parametrize("mode", ["legacy", "v2"])
def test_a_retriable_error_is_asked_again_after_a_pause(mode):
    client = Client(client=mode).begun().send("a")
    if mode == "legacy":
        client.answer(AddPartitionsToTxnResponse())
    client.answer(ProduceResponse()).call(Commit())
    client.answer(EndTxnResponse(E.COORDINATOR_LOAD_IN_PROGRESS))
    assert (client.requests, client.timers[-1]) == ([], ("retry", 100))
    assert client.fired().requests == ["coordinator EndTxn commit epoch=3"]


# ---- fencing, and too slow: the whole system ---------------------------------------------

FENCED = """system kafka partitions=1 groups=1 producers=zombie:t,app:t {mode}
run zombie: init{before}
run app: init
{again}
run zombie: {calls}
"""


def outcomes(text, who):
    """(what its calls gave, what it asked for) of one client, after its `init`."""
    facts = [f for f in scenario(text).facts if f.node == who]
    heard = [f.text.en for f in facts if f.glyph == "☞"]
    asked = [f"{f.peer} {f.text.en}" for f in facts if f.glyph == "→"]
    return heard, asked


FATAL = "ProducerFencedException, fatal"
FENCES = [
    # (mode, before the fence, calls after it, what they give, what was asked after it)
    *((mode, ", begin, send orders-0 old", "commit, begin",
       [f"commit: failed {FATAL}", f"begin: failed {FATAL}"], ["coordinator EndTxn commit epoch=0"])
      for mode in MODES),
    ("v2", ", begin, send orders-0 old", "send orders-0 late, flush, commit, abort",
     ["send orders-0 late: ok", "flush: failed InvalidProducerEpochException, abortable",
      "commit: failed InvalidProducerEpochException, abortable", f"abort: failed {FATAL}"],
     ["orders-0 Produce late epoch=0 seq=1", "coordinator EndTxn abort epoch=0"]),
    *((mode, ", begin, send orders-0 old", "send orders-0 late, flush, abort",
       ["send orders-0 late: ok", f"flush: failed {FATAL}", f"abort: failed {FATAL}"],
       ["orders-0 Produce late epoch=0 seq=1"])
      for mode in ("tv0", "legacy")),
    *((mode, "", "begin, send orders-0 late, flush",
       ["begin: ok", "send orders-0 late: ok", f"flush: failed {FATAL}"],
       ["coordinator AddPartitionsToTxn {orders-0}"])
      for mode in ("tv0", "legacy")),
    ("v2", "", "begin, send orders-0 late, flush",
     ["begin: ok", "send orders-0 late: ok",
      "flush: failed InvalidProducerEpochException, abortable"],
     ["orders-0 Produce late epoch=0 seq=0"]),
    *((mode, "", "begin, send-offsets g orders-0@7",
       ["begin: ok", f"send-offsets g {{orders-0@7}}: failed {FATAL}"],
        ["coordinator AddOffsetsToTxn g"])
      for mode in ("tv0", "legacy")),
    ("v2", "", "begin, send-offsets g orders-0@7",
     ["begin: ok", f"send-offsets g {{orders-0@7}}: failed {FATAL}"],
     ["__consumer_offsets-0 TxnOffsetCommit g {orders-0@7}"]),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "before", "calls", "gives", "asks"), FENCES)
def test_a_fenced_producer(mode, before, calls, gives, asks):
    again = "fire app retry" if before else ""
    text = FENCED.format(mode=MODES[mode], before=before, again=again, calls=calls)
    heard, asked = outcomes(text, "zombie")
    assert heard[-len(gives) :] == gives
    assert asked[-len(asks) :] == asks
    data = [f.text.en for f in scenario(text).facts if f.node == "orders-0" and f.glyph == "▮"]
    assert not [text for text in data if text.startswith("late")], "nothing of it is written"


SLOW = """system kafka partitions=1 timeout_ms=1500 {mode}
run app: init, begin, send orders-0 slow
fire coordinator
run app: {calls}
"""
SLOWS = [
    *((mode, "commit", [f"commit: failed {FATAL}"]) for mode in ("tv0", "legacy")),
    ("v2", "commit", ["commit: failed InvalidTxnStateException, fatal"]),
    *((mode, "abort", [f"abort: failed {FATAL}"]) for mode in ("tv0", "legacy")),
    ("v2", "abort, begin, send orders-0 again, commit",
     ["abort: ok", "begin: ok", "send orders-0 again: ok", "commit: ok"]),
    *((mode, "send orders-0 late, flush", ["send orders-0 late: ok", f"flush: failed {FATAL}"])
      for mode in ("tv0", "legacy")),
    ("v2", "send orders-0 late, flush, abort, begin, send orders-0 again, commit",
     ["send orders-0 late: ok", "flush: failed InvalidProducerEpochException, abortable",
      "abort: ok", "begin: ok", "send orders-0 again: ok", "commit: ok"]),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "calls", "gives"), SLOWS)
def test_a_producer_that_was_too_slow(mode, calls, gives):
    heard, _ = outcomes(SLOW.format(mode=MODES[mode], calls=calls), "app")
    assert heard[-len(gives) :] == gives


@pytest.mark.parametrize("mode", MODES)
def test_a_new_instance_goes_on_after_the_timeout_with_an_epoch_above_both(mode):
    text = SLOW.format(mode=MODES[mode], calls="flush").replace(
        "timeout_ms=1500", "timeout_ms=1500 producers=app:t,next:t"
    )
    trace = scenario(text + "run next: init\n")
    given = [f.text.en for f in trace.facts if f.peer == "next" and f.glyph == "⇒"]
    assert given == ["ok pid=0 epoch=2"]


@pytest.mark.parametrize("client", ["v2", "legacy"])
def test_a_flush_after_an_error_waits_and_fails_with_nothing(client):
    """KafkaProducer#flush has no maybeFailWithError; the call behind it hears the error."""
    text = f"system kafka partitions=1 timeout_ms=1500 client={client}\n" + (
        "run app: init, begin, send orders-0 slow\n"
        "fire coordinator\n"
        "run app: send orders-0 late, commit, flush, commit"
    )
    heard, _ = outcomes(text, "app")
    assert heard[-3].startswith("commit: failed") and heard[-3] == heard[-1]
    assert heard[-2] == "flush: ok"
