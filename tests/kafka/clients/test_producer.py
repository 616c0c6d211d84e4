"""The producer's states and batches: order, retries, holes, epochs of its own."""

import pytest

from mqlab.kafka.clients.calls import Abort, Begin, Commit, Flush, Init, SendOffsets, SendRecord
from mqlab.kafka.clients.producer import ProducerConfig
from mqlab.kafka.clients.producer.flight import (
    ConfigException,
    judge_coordinator_error,
    judge_leader_error,
    name_exception,
)
from mqlab.kafka.errors import Error
from mqlab.kafka.messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    Position,
    ProduceResponse,
    TxnOffsetCommit,
)
from mqlab.kafka.states import ProducerState
from mqlab.registry import scenario
from tests.kafka.clients.driven import Client

S = ProducerState
OK = ProduceResponse()
GAP = ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
LATER = ProduceResponse(Error.NOT_ENOUGH_REPLICAS)
OFFSETS = SendOffsets("g", (Position("o-0", 5),), "m-1", 4)


def idempotent(pid=7, epoch=0, **config):
    """Without transactions, its id just received; one record is on its way."""
    client = Client(txn_id=None, **config).send("a")
    return client.answer(InitProducerIdResponse(pid=pid, epoch=epoch))


# ---- states ------------------------------------------------------------------------------


CALLS = (Init(), Begin(), SendRecord("o-0", "x"), OFFSETS, Commit(), Abort())
ALLOWED = {
    S.UNINITIALIZED: {Init},
    S.READY: {Begin},
    S.IN_TRANSACTION: {SendRecord, SendOffsets, Commit, Abort},
    S.ABORTABLE_ERROR: {Abort},
    S.FATAL_ERROR: set(),
}


def arrived(state):
    """A producer in one of its resting states."""
    client = Client()
    if state is S.UNINITIALIZED:
        return client
    client.begun()
    if state is S.READY:
        client.call(Commit())
    if state in (S.ABORTABLE_ERROR, S.FATAL_ERROR):
        wrong = {S.ABORTABLE_ERROR: Error.INVALID_PRODUCER_EPOCH}.get(state, Error.PRODUCER_FENCED)
        client.send("a").answer(ProduceResponse(wrong))
    assert client.role.state is state
    client.heard.clear()
    return client


@pytest.mark.parametrize("state", ALLOWED)
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_call_that_the_state_does_not_allow_is_refused_and_changes_nothing(state, call):
    client = arrived(state)
    before, sent = client.role, len(client.sent)
    client.call(call)
    refused = [said for said in client.heard if ": failed" in said]
    if type(call) in ALLOWED[state]:
        assert not refused
        return
    kind = {S.ABORTABLE_ERROR: ", abortable", S.FATAL_ERROR: ", fatal"}.get(state)
    assert len(refused) == 1
    assert refused[0].endswith(kind) if kind else "IllegalStateException" in refused[0]
    assert client.role.state is before.state
    assert len(client.sent) == sent


def test_a_producer_without_transactions_knows_no_transactional_call():
    client = Client(txn_id=None)
    client.call(Init(), Begin(), Commit(), Abort())
    assert all("IllegalStateException" in said for said in client.heard)
    assert client.sent == []


def test_no_role_can_take_an_edge_that_the_table_does_not_have():
    with pytest.raises(ValueError, match="UNINITIALIZED cannot become COMMITTING"):
        Client().role.enter(S.COMMITTING)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"max_in_flight": 6}, "at most 5"),
        ({"retries": 0}, "allowed to send again"),
        ({"max_in_flight": 0}, "at least 1"),
        ({"txn_id": "t", "idempotent": False}, "needs idempotence"),
    ],
)
def test_what_java_refuses_to_build(config, says):
    with pytest.raises(ConfigException, match=says):
        ProducerConfig(**config)


def test_what_java_refuses_may_be_built_to_see_what_happens():
    assert ProducerConfig(max_in_flight=6, checked=False).max_in_flight == 6
    assert ProducerConfig(max_in_flight=6, idempotent=False).max_in_flight == 6


# ---- batches -----------------------------------------------------------------------------


def test_numbers_wrap_to_zero():
    client = idempotent()
    line = client.role.lines["o-0"]
    client.role = type(client.role)(
        client.role.config, S.READY, 7, 0,
        client.role.lines.set("o-0", type(line)(7, 0, 2**31 - 2)),
    )  # fmt: skip
    client.sent.clear()
    client.send("x|y|z", "w")
    assert [s.body.batch.first_seq for s in client.sent] == [2**31 - 2, 1]
    assert client.sent[0].body.batch.last_seq == 0


def test_a_gap_in_front_makes_an_idempotent_producer_begin_a_new_epoch():
    waits = idempotent(max_in_flight=1).send("b").answer(GAP)
    assert waits.role.epoch == 1, "b has not left, so it was not taken"
    client = idempotent().send("b", "c").answer(GAP, GAP, GAP).fired()
    assert client.requests == ["o-0 Produce a epoch=1 seq=0"] + [
        f"o-0 Produce {value} epoch=1 seq={i}" for i, value in ((1, "b"), (2, "c"))
    ]
    assert client.role.pid == 7


@pytest.mark.parametrize("txn_id", [None, "t"])
def test_where_a_later_batch_was_taken_java_sends_the_first_again_in_vain(txn_id):
    """KAFKA-15591: the leader knew nothing of the producer and took b; a never fits again."""
    if txn_id:
        client = Client(delivery_timeout_ms=9).begun().send("a", "b")
    else:
        client = idempotent(delivery_timeout_ms=9).send("b")
    first = client.sent.pop(0)
    client.answer(OK)
    client.sent = [first]
    for _ in range(3):
        client.answer(GAP).fired()
        assert client.requests == [f"o-0 {first.body}"]
    client.fired("delivery o-0 a")
    if txn_id:
        assert client.role.state is S.ABORTABLE_ERROR
        return
    client.call(Flush())
    assert client.heard[-1] == "flush: unknown TimeoutException"
    assert client.send("c").requests[-1] == "o-0 Produce c epoch=0 seq=2", "there is no hole"


def test_where_the_last_batch_was_given_up_java_begins_a_new_epoch_whatever_was_taken_before():
    client = idempotent(delivery_timeout_ms=9).send("b", "c")
    first, second, _ = client.sent
    client.fired("delivery o-0 c")
    client.sent = [second]
    client.answer(OK)
    client.sent = [first]
    client.fired("delivery o-0 a").send("d")
    assert client.requests[-1] == "o-0 Produce d epoch=1 seq=0"


def test_what_is_under_way_elsewhere_keeps_its_epoch_until_it_is_through():
    client = idempotent().send("x", to="o-1").send("y", to="o-1")
    client.answer(GAP)
    assert client.role.epoch == 1
    client.send("z", to="o-1")
    assert client.requests[-1] == "o-1 Produce z epoch=0 seq=2"
    client.answer(OK, OK, OK).send("w", to="o-1")
    assert client.requests[-1] == "o-1 Produce w epoch=1 seq=0"


def test_a_gap_makes_librdkafka_number_everything_again_once_nothing_is_under_way():
    """As confluent-kafka 2.16.1 was seen to do (librdkafka#4953): x had been written, and was there
    twice afterwards. Java's rule, for the same answers, is in the tests beside."""
    client = idempotent(client="legacy").send("b").send("x", to="o-1")
    client.answer(LATER, GAP)
    assert (client.role.epoch, len(client.sent)) == (0, 1), "x is still under way"
    client.send("c").fired()
    assert len(client.sent) == 1, "and nothing else leaves"
    client.lost("o-1")
    assert client.role.epoch == 1
    assert sorted(client.requests) == [
        "o-0 Produce a epoch=1 seq=0",
        "o-0 Produce b epoch=1 seq=1",
        "o-0 Produce c epoch=1 seq=2",
        "o-1 Produce x epoch=1 seq=0",
    ]
    java = idempotent().send("b").send("x", to="o-1").answer(LATER, GAP).lost("o-1")
    assert java.requests == ["o-1 Produce x epoch=0 seq=0"]


def test_after_the_last_epoch_it_needs_a_new_id():
    client = idempotent().role
    client = idempotent(epoch=32_767).send("b").answer(GAP, GAP)
    assert client.role.state is S.INITIALIZING
    assert client.requests == ["coordinator InitProducerId"]
    client.answer(InitProducerIdResponse(pid=8, epoch=0)).fired()
    assert [(s.body.batch.pid, s.body.batch.epoch) for s in client.sent] == [(8, 0), (8, 0)]
    assert [s.body.batch.first_seq for s in client.sent] == [0, 1]


def test_a_batch_given_up_is_no_hole_if_a_later_one_was_taken():
    client = idempotent(delivery_timeout_ms=9).send("b").fired("delivery o-0 a")
    first, second = client.sent
    client.sent = [second]
    client.send("c")
    assert client.requests == ["o-0 Produce b epoch=0 seq=1"], "no new numbers before b is through"
    client.answer(OK)
    assert client.requests == ["o-0 Produce c epoch=0 seq=2"]
    client.answer(OK).call(Flush())
    assert client.heard[-1] == "flush: unknown TimeoutException"
    assert first.corr != second.corr


def test_an_allowed_number_of_tries():
    client = idempotent(retries=1).lost("o-0").lost("o-0")
    assert client.requests == []
    assert client.call(Flush()).heard[-1] == "flush: unknown NetworkException"
    refused = idempotent(retries=1).answer(LATER).fired().answer(LATER).call(Flush())
    assert refused.heard[-1] == "flush: failed NotEnoughReplicasException"


def test_a_batch_that_cannot_be_sent_again_leaves_only_the_abort():
    client = Client(retries=1).begun().send("a").lost("o-0").lost("o-0").call(Commit())
    assert client.heard[-1] == "commit: failed TransactionAbortableException, abortable"
    client.call(Abort()).answer(EndTxnResponse(pid=7, epoch=4))
    assert client.heard[-1] == "abort: ok"
    assert (client.role.state, client.role.epoch) == (S.READY, 4)


def test_those_behind_a_refused_batch_move_up():
    client = Client().begun().send("a", "b")
    client.answer(ProduceResponse(Error.TRANSACTION_ABORTABLE), GAP)
    assert client.role.state is S.ABORTABLE_ERROR
    assert client.fired().requests == ["o-0 Produce b epoch=3 seq=0"]
    client.call(Abort())
    assert len(client.sent) == 1, "the end waits for what is under way"
    assert client.answer(OK).requests == ["coordinator EndTxn abort epoch=3"]


# ---- What each error does to a producer: table by table, for both clients ------------
#
# The tables are the client's own (TransactionManager's handlers, Kafka 4.3) and what a running
# broker showed: fencing (TransactionsTest#testFencingOn…) and the producer that was too slow.

E = Error
MODES = {"tv0": "transaction_version=0", "legacy": "client=legacy", "v2": ""}

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
    assert str(judge_leader_error(error, is_java_client=True)) == v2
    assert str(judge_leader_error(error, is_java_client=False)) == (legacy or v2)


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


# ---- too slow: the whole system ----------------------------------------------------------

SLOW = """system kafka partitions=1 timeout_ms=1500 {mode}
run app: init, begin, send orders-0 slow
fire coordinator
run app: {calls}
"""


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
    heard = [f.text.en for f in scenario(text).facts if f.node == "app" and f.glyph == "☞"]
    assert heard[-3].startswith("commit: failed") and heard[-3] == heard[-1]
    assert heard[-2] == "flush: ok"
