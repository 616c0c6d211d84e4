"""Kafka's own tests that no scenario plays: the same story told to a role by hand."""

from dataclasses import replace

import pytest

from mqlab.kafka import SAFEGUARDS, KafkaConfig
from mqlab.kafka.coordinator import Coordinator, Entry, Pending
from mqlab.kafka.errors import Error
from mqlab.kafka.leader import Leader
from mqlab.kafka.log import Batch
from mqlab.kafka.messages import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    Produce,
    WriteTxnMarkers,
)
from mqlab.kafka.states import TxnState
from mqlab.kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    ConnectionLost,
    Fired,
    Map,
    MemoryDisk,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
)
from mqlab.registry import scenario

ON = frozenset(SAFEGUARDS)
ME = Caller("app")
S = TxnState


def coordinator(state, **more):
    entry = Entry("t", 7, 3, state, ("o-0",))
    return Coordinator(KafkaConfig(on=ON), entries=Map([("t", entry)]), **more)


def test_a_timeout_while_a_transition_is_pending_looks_again_later():
    # TransactionCoordinatorTest#shouldNotAbortExpiredTransactionsThatHaveAPendingStateTransition
    pending = Pending(Entry("t", 7, 4, S.PREPARE_COMMIT, ("o-0",)))
    tc = coordinator(S.ONGOING, pending=Map([("t", pending)]))
    after, effects = tc.step(Fired("timeout t"), MemoryDisk())
    assert after == tc
    assert [type(e) for e in effects] == [SetTimer]


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_a_timeout_of_a_transaction_that_has_ended_does_nothing(state):
    # TransactionStateManager#timedOutTransactions looks at Ongoing ids only
    tc = coordinator(state)
    assert tc.step(Fired("timeout t"), MemoryDisk()) == (tc, ())


@pytest.mark.parametrize(
    ("state", "pid", "epoch", "partitions", "error"),
    [
        (S.ONGOING, 7, 3, ("o-0",), Error.NONE),
        (S.ONGOING, 7, 3, ("o-1",), Error.TRANSACTION_ABORTABLE),
        (S.EMPTY, 7, 3, ("o-9",), Error.TRANSACTION_ABORTABLE),
        (S.ONGOING, 8, 3, ("o-0",), Error.INVALID_PRODUCER_ID_MAPPING),
        (S.ONGOING, 7, 2, ("o-0",), Error.PRODUCER_FENCED),
        (S.PREPARE_COMMIT, 7, 3, ("o-0",), Error.CONCURRENT_TRANSACTIONS),
        (S.PREPARE_ABORT, 7, 3, ("o-0",), Error.CONCURRENT_TRANSACTIONS),
    ],
)
def test_verification_answers_for_a_legacy_client(state, pid, epoch, partitions, error):
    # TransactionCoordinatorTest#testVerifyPartitionHandling
    ask = AddPartitionsToTxn("t", pid, epoch, partitions, verify_only=True)
    tc = coordinator(state)
    after, effects = tc.step(Request(ME, ask), MemoryDisk())
    assert after == tc
    assert [e.body.error for e in effects if isinstance(e, Reply)] == [error]


class Log:
    """A leader with its disk: what it is asked is done at once and replicated."""

    def __init__(self, config):
        self.config, self.disk = config, MemoryDisk()
        self.leader, _ = Leader.recover(config, "o-0", self.disk, 0)

    def do(self, event):
        self.leader, effects = self.leader.step(event, self.disk)
        for effect in effects:
            self.disk = self.disk.apply(effect)
        for effect in effects:
            if isinstance(effect, Append) and effect.log == "o-0":
                self.leader, more = self.leader.step(
                    Appended("o-0", effect.entry.last + 1), self.disk
                )
                effects = (*effects, *more)
        return effects

    def write(self, pid, epoch, seq, at_ms=0, transactional=True, count=1):
        records = tuple(f"r{i}" for i in range(count))
        batch = Batch(records, count, -1, pid, epoch, seq, transactional, at_ms=at_ms)
        # A legacy client whose leader does not verify: the log is what is looked at here.
        return self.do(Request(ME, Produce(batch, "t", version=9), at_ms))

    def end(self, pid, epoch, commit, at_ms=0):
        version = self.config.transaction_version
        ask = WriteTxnMarkers("t", pid, epoch, commit, transaction_version=version)
        return self.do(Request(ME, ask, at_ms))


@pytest.fixture
def config():
    return KafkaConfig(on=ON - {"verification"}, transaction_version=0)


def test_after_a_restart_the_same_transactions_are_open_and_the_index_is_the_same(config):
    # UnifiedLogTest#testRebuildTransactionalState
    log = Log(config)
    for pid in (1, 2, 3):
        log.write(pid, 0, 0, count=pid)
    log.end(2, 1, commit=False)
    log.write(1, 0, 1)
    log.end(3, 1, commit=True)
    again, effects = Leader.recover(config, "o-0", log.disk, 0)
    assert not effects, "every index entry was there already"
    assert again.part.open == log.leader.part.open == ((0, 1),)
    assert (again.part.hw, again.part.lso) == (log.leader.part.hw, 0)
    assert [e.first_offset for e in log.disk.log("o-0.txnindex").read(0)] == [1]


def test_a_snapshot_and_the_tail_say_what_the_whole_log_says(config):
    # ProducerStateManagerTest#testRecoverFromSnapshotFinishedTransaction, …Unfinished…
    whole, rolling = Log(config), Log(replace(config, segment_records=3))
    for log in (whole, rolling):
        log.write(1, 0, 0, at_ms=5)
        log.write(2, 0, 0, count=2, at_ms=6)
        log.write(1, 0, 1, at_ms=7)
        log.end(1, 1, commit=False, at_ms=8)
        log.write(2, 0, 2, at_ms=9)
        log.write(3, 0, 0, at_ms=10)
    assert rolling.disk.table("o-0.snapshot")
    a, _ = Leader.recover(whole.config, "o-0", whole.disk, 0)
    b, _ = Leader.recover(rolling.config, "o-0", rolling.disk, 0)
    assert a.part.producers == b.part.producers
    assert (a.part.open, a.part.lso) == (b.part.open, b.part.lso)


def test_an_idle_producer_is_forgotten_but_never_one_with_an_open_transaction():
    # ProducerStateManagerTest#testPidExpirationTimeout, #testProducersWithOngoingTransactions-
    # DontExpire
    config = KafkaConfig(on=ON - {"verification"}, pid_expiration_ms=1_000)
    log = Log(config)
    first = log.write(1, 0, 0, at_ms=0)
    assert any(isinstance(e, SetTimer) and e.timer == "expire producers" for e in first)
    log.write(2, 0, 0, at_ms=0, transactional=False)
    log.write(3, 0, 0, at_ms=4_500, transactional=False)
    again = log.do(Fired("expire producers", at_ms=5_000))
    assert sorted(log.leader.part.producers) == [1, 3]
    assert any(isinstance(e, SetTimer) for e in again)
    log.write(2, 0, 7, at_ms=5_000, transactional=False)
    assert 2 in log.leader.part.producers, "unknown again: it may begin anywhere"


def test_one_request_in_flight_is_enough_to_abort_and_then_commit():
    # TransactionsWithMaxInFlightOneTest
    run = scenario(
        """
        system kafka partitions=2 max_in_flight=1 readers=reader
        run app: init, begin, send orders-0 x, send orders-1 y, abort
        run app: begin, send orders-0 a, flush, send orders-1 b, commit
        run reader: poll orders-0, poll orders-1
        """
    )
    got = [f.text.en for f in run.facts if f.node == "reader" and f.glyph == "☞"]
    assert got == ["poll orders-0 read_committed: ok a", "poll orders-1 read_committed: ok b"]


def test_a_marker_written_once_more_does_not_disturb_the_next_transaction():
    # UnifiedLog#updateProducers: the verification entry of the next epoch stays
    log = Log(KafkaConfig(on=ON))
    first = Batch(("a",), pid=1, epoch=0, first_seq=0, transactional=True)
    (ask,) = log.do(Request(ME, Produce(first, "t")))
    log.do(Response("coordinator", ask.corr, AddPartitionsToTxnResponse()))
    log.end(1, 1, commit=True)
    (ask,) = log.do(Request(ME, Produce(replace(first, epoch=1), "t")))
    log.end(1, 1, commit=True)  # its answer was lost, so it comes again
    told = log.do(Response("coordinator", ask.corr, AddPartitionsToTxnResponse()))
    assert any(isinstance(e, Append) for e in told)


@pytest.mark.parametrize("late", [{"epoch": 2}, {"transactional": False}])
def test_a_first_batch_that_was_refused_is_missed_whatever_comes_between(late):
    # VerificationStateEntry#maybeUpdateLowestSequenceAndEpoch; real 4.3.1 answers the same
    log = Log(KafkaConfig(on=ON))
    first = Batch(("a",), pid=1, epoch=3, first_seq=0, transactional=True)
    for batch in (first, replace(first, **late)):
        for ask in log.do(Request(ME, Produce(batch, "t", version=11))):
            if isinstance(ask, Send):
                refused = AddPartitionsToTxnResponse(Error.TRANSACTION_ABORTABLE)
                log.do(Response("coordinator", ask.corr, refused))
    (ask,) = log.do(Request(ME, Produce(replace(first, first_seq=1), "t", version=11)))
    (reply,) = log.do(Response("coordinator", ask.corr, AddPartitionsToTxnResponse()))
    assert reply.body.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_pause_ends_with_its_question():
    # else a number that is used again would be asked about twice
    log = Log(KafkaConfig(on=ON))
    batch = Batch(("a",), pid=1, epoch=0, first_seq=0, transactional=True)
    (ask,) = log.do(Request(ME, Produce(batch, "t")))
    busy = AddPartitionsToTxnResponse(Error.CONCURRENT_TRANSACTIONS)
    (pause,) = log.do(Response("coordinator", ask.corr, busy))
    effects = log.do(ConnectionLost("coordinator"))
    assert CancelTimer(pause.timer) in effects


def test_a_transactional_batch_without_an_id_is_refused_everywhere():
    # KafkaApis#handleProduceRequest
    log = Log(KafkaConfig(on=ON))
    batch = Batch(("a",), pid=1, epoch=0, first_seq=0, transactional=True)
    (reply,) = log.do(Request(ME, Produce(batch, None)))
    assert reply.body.error is Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_what_waits_for_verification_for_too_long_is_forgotten_too():
    log = Log(KafkaConfig(on=ON, pid_expiration_ms=1_000))
    batch = Batch(("a",), pid=1, epoch=0, first_seq=0, transactional=True)
    effects = log.do(Request(ME, Produce(batch, "t")))
    assert any(isinstance(e, SetTimer) for e in effects)
    assert not log.do(Fired("expire producers", at_ms=5_000))
    assert not log.leader.part.guards
