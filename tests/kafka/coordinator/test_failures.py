"""What a coordinator does when a record cannot be made safe, at the last epoch, and loading."""

from dataclasses import replace

import pytest

from mqlab.kafka import SAFEGUARDS, KafkaConfig
from mqlab.kafka.coordinator import Coordinator, Entry
from mqlab.kafka.coordinator.entry import ListTransactions
from mqlab.kafka.errors import Error
from mqlab.kafka.messages import (
    EndTxn,
    InitProducerId,
    InitProducerIdResponse,
    WriteTxnMarkersResponse,
)
from mqlab.kafka.replication import Leadership, Replica, ReplicaConfig
from mqlab.kafka.replication.controller import Load
from mqlab.kafka.states import TxnState
from mqlab.kernel import (
    Append,
    Appended,
    AppendFailed,
    Caller,
    Fired,
    Map,
    MemoryDisk,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
)

S = TxnState
ME = Caller("app")


def tc(version=2, **entry):
    config = KafkaConfig(on=frozenset(SAFEGUARDS), transaction_version=version)
    known = Entry("t", 7, entry.pop("epoch", 3), partitions=("o-0",), **entry)
    return Coordinator(config, entries=Map([("t", known)]))


def fail(coordinator, body, error):
    """Ask, then let the record fail: (coordinator, effects after the failure)."""
    coordinator, effects = coordinator.step(Request(ME, body), MemoryDisk())
    (record,) = [e for e in effects if isinstance(e, Append)]
    return coordinator.step(AppendFailed(record.log, record.entry.last + 1, error), MemoryDisk())


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE"),
        ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "COORDINATOR_NOT_AVAILABLE"),
        ("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE"),
        ("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"),
        ("KAFKA_STORAGE_ERROR", "NOT_COORDINATOR"),
        ("MESSAGE_TOO_LARGE", "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_what_the_client_hears_when_the_decision_could_not_be_written(error, told):
    # TransactionStateManager#appendTransactionToLog; nothing has changed, so it may ask again.
    before = tc(state=S.ONGOING)
    after, effects = fail(before, EndTxn("t", 7, 3, True), error)
    (reply,) = [e for e in effects if isinstance(e, Reply)]
    assert reply.body.error.name == told
    assert after.entries == before.entries and not after.pending
    assert any(isinstance(e, SetTimer) and e.timer == "timeout t" for e in effects)


def test_a_failed_fence_of_version_0_raises_the_epoch_once():
    # TransactionCoordinatorTest#shouldNotRepeatedlyBumpEpochDueToInitPidDuringOngoingTxn-
    # IfAppendToLogFails
    coordinator = tc(version=0, state=S.ONGOING)
    for _ in range(3):
        coordinator, _ = fail(coordinator, InitProducerId("t"), "NOT_ENOUGH_REPLICAS")
        assert coordinator.entries["t"].epoch == 4
        assert coordinator.entries["t"].state is S.ONGOING


def test_a_failed_fence_of_version_2_leaves_the_epoch():
    # TransactionCoordinatorTest#testTV2AllowsEpochReBumpingAfterFailedWrite
    coordinator, _ = fail(tc(state=S.ONGOING), InitProducerId("t"), "NOT_ENOUGH_REPLICAS")
    assert coordinator.entries["t"].epoch == 3


def test_a_timeout_that_could_not_be_written_runs_again():
    # TransactionCoordinatorTest#shouldNotBumpEpochWhenAbortingExpiredTransactionIfAppend-
    # ToLogFails
    coordinator, effects = tc(state=S.ONGOING).step(Fired("timeout t"), MemoryDisk())
    record = next(e for e in effects if isinstance(e, Append))
    lost = AppendFailed(record.log, record.entry.last + 1, "NOT_ENOUGH_REPLICAS")
    coordinator, effects = coordinator.step(lost, MemoryDisk())
    assert coordinator.entries["t"].epoch == 3
    assert [e.timer for e in effects if isinstance(e, SetTimer)] == ["timeout t"]


def test_a_completion_that_could_not_be_written_is_tried_again():
    # TransactionMarkerChannelManager#retryLogAppends
    coordinator = replace(tc(state=S.PREPARE_COMMIT), owed=Map([("t", ())]))
    coordinator, effects = coordinator.step(Fired("append again t"), MemoryDisk())
    record = next(e for e in effects if isinstance(e, Append))
    assert record.entry.entry.state is S.COMPLETE_COMMIT
    lost = AppendFailed(record.log, record.entry.last + 1, "NOT_ENOUGH_REPLICAS")
    coordinator, effects = coordinator.step(lost, MemoryDisk())
    assert coordinator.entries["t"].state is S.PREPARE_COMMIT
    assert [e.timer for e in effects] == ["append again t"]


@pytest.mark.parametrize(
    ("release", "completed", "then"), [("4.3", (0, 0), (0, 1)), ("4.2", (7, 32_767), (0, 0))]
)
def test_a_fence_at_the_last_epoch_differs_by_release(release, completed, then):
    # TransactionCoordinatorTest#shouldUseLastEpochToFenceWhenEpochsAreExhausted; recorded on
    # 4.2.1 and 4.3.1.
    coordinator = tc(state=S.ONGOING, epoch=32_766)
    coordinator = replace(coordinator, config=replace(coordinator.config, release=release))
    disk = MemoryDisk()
    events = [Request(ME, InitProducerId("t"))]
    answers = []
    while events:
        coordinator, effects = coordinator.step(events.pop(0), disk)
        for effect in effects:
            disk = disk.apply(effect)
            match effect:
                case Append(log=log, entry=entry):
                    events.append(Appended(log, entry.last + 1))
                case Send(to="coordinator", body=note):
                    events.append(Request(Caller("coordinator"), note))
                case Send(to=to, body=ask):
                    assert ask.epoch == 32_767
                    events.append(
                        Response(to, 0, WriteTxnMarkersResponse("t", ask.pid, epoch=ask.epoch))
                    )
                case Reply(body=InitProducerIdResponse() as said):
                    answers.append(said)
    entry = coordinator.entries["t"]
    assert (entry.state, entry.pid, entry.epoch) == (S.COMPLETE_ABORT, *completed)
    assert answers[0].error is Error.CONCURRENT_TRANSACTIONS
    coordinator, effects = coordinator.step(Request(ME, InitProducerId("t")), disk)
    record = next(e for e in effects if isinstance(e, Append))
    assert (record.entry.entry.pid, record.entry.entry.epoch) == then


def test_a_coordinator_that_loads_says_so_and_one_that_follows_says_so_too():
    # TransactionCoordinatorTest #shouldRespondWith…Loading, …NotCoordinator
    config = KafkaConfig(on=frozenset(SAFEGUARDS))

    def lead(disk, at_ms, over):
        return Coordinator.begin_leading(config, disk, at_ms, over.epoch)

    first = (Leadership("coordinator", 2, 0, (1, 2)),)
    replica = ReplicaConfig(partition="coordinator", number=1, lead=lead, first=first, loads=True)
    role, _ = Replica.recover(replica, MemoryDisk(), 0)

    def ask():
        _, effects = role.step(Request(ME, InitProducerId("t")), MemoryDisk())
        return next(e.body.error for e in effects if isinstance(e, Reply))

    assert ask() is Error.NOT_COORDINATOR
    role, effects = role.step(
        Request(Caller("controller"), Leadership("coordinator", 1, 1, (1, 2))), MemoryDisk()
    )
    assert ask() is Error.COORDINATOR_LOAD_IN_PROGRESS
    note = next(e.body for e in effects if isinstance(e, Send) and isinstance(e.body, Load))
    role, _ = role.step(Request(Caller("coordinator@1"), note), MemoryDisk())
    _, effects = role.step(Request(ME, InitProducerId("t")), MemoryDisk())
    assert any(isinstance(e, Append) for e in effects)


def test_all_ids_that_are_idle_too_long_are_forgotten_in_one_sweep():
    # TransactionStateManager#removeExpiredTransactionalIds
    config = KafkaConfig(on=frozenset(SAFEGUARDS), txn_partitions=1, id_expiration_ms=1_000)
    known = [
        Entry("busy", 3, 0, S.ONGOING, ("o-0",), update_ms=0),
        Entry("late", 2, 0, S.COMPLETE_ABORT, update_ms=4_500),
        Entry("old", 0, 0, S.EMPTY, update_ms=0),
        Entry("older", 1, 0, S.COMPLETE_COMMIT, update_ms=0),
    ]
    coordinator = Coordinator(config, entries=Map((e.txn_id, e) for e in known))
    disk = MemoryDisk()
    coordinator, effects = coordinator.step(Fired("expire ids", at_ms=5_000), disk)
    for effect in effects:
        disk = disk.apply(effect)
        if isinstance(effect, Append):
            safe = Appended(effect.log, effect.entry.last + 1)
            coordinator, _ = coordinator.step(safe, disk)
    assert sorted(coordinator.entries) == ["busy", "late"]
    again, _ = Coordinator.recover(config, disk, 6_000)
    assert not again.entries, "tombstones are read as what they are"


def test_a_failed_end_leaves_what_is_left_of_the_timeout():
    # The clock of a transaction does not begin again: begun at 1 s, due at 61 s, and looked at
    # by the first sweep after that.
    before = tc(state=S.ONGOING, start_ms=1_000)
    after, effects = before.step(Request(ME, EndTxn("t", 7, 3, True), 50_000), MemoryDisk())
    (record,) = [e for e in effects if isinstance(e, Append)]
    lost = AppendFailed(record.log, record.entry.last + 1, "NOT_ENOUGH_REPLICAS", 50_500)
    _, effects = after.step(lost, MemoryDisk())
    (timer,) = [e for e in effects if isinstance(e, SetTimer)]
    assert 50_500 + timer.after_ms == 70_000


def test_an_id_whose_first_record_failed_begins_with_epoch_0():
    new = Coordinator(KafkaConfig(on=frozenset(SAFEGUARDS)))
    new, _ = fail(new, InitProducerId("t"), "NOT_ENOUGH_REPLICAS")
    _, effects = new.step(Request(ME, InitProducerId("t")), MemoryDisk())
    (record,) = [e for e in effects if isinstance(e, Append)]
    assert (record.entry.entry.pid, record.entry.entry.epoch) == (0, 0)


def test_an_answer_to_an_older_marker_settles_nothing():
    owing = replace(tc(state=S.PREPARE_COMMIT, epoch=5), owed=Map([("t", ("o-0",))]))
    old = Response("o-0", 0, WriteTxnMarkersResponse("t", 7, epoch=4))
    assert owing.step(old, MemoryDisk()) == (owing, ())
    now = Response("o-0", 0, WriteTxnMarkersResponse("t", 7, epoch=5))
    done, effects = owing.step(now, MemoryDisk())
    assert done.pending["t"].entry.state is S.COMPLETE_COMMIT and effects


def test_a_refused_marker_is_sent_again_while_it_is_owed_and_only_then():
    owing = replace(tc(state=S.PREPARE_COMMIT, epoch=5), owed=Map([("t", ("o-0",))]))
    no = WriteTxnMarkersResponse("t", 7, Error.NOT_LEADER_OR_FOLLOWER, 5)
    same, (timer,) = owing.step(Response("o-0", 0, no), MemoryDisk())
    _, (again,) = same.step(Fired(timer.timer), MemoryDisk())
    assert again.to == "o-0" and again.body.epoch == 5
    later = replace(same, entries=Map([("t", replace(same.entries["t"], epoch=6))]))
    assert later.step(Fired(timer.timer), MemoryDisk()) == (later, ())


@pytest.mark.parametrize(
    "body", [EndTxn("", 7, 3, True), EndTxn("", 7, 3, True, v2=False), InitProducerId(None, pid=7)]
)
def test_what_cannot_be_asked_is_an_invalid_request(body):
    # KafkaApis#handleInitProducerIdRequest, TransactionCoordinator#endTransaction
    _, (reply,) = tc(state=S.ONGOING).step(Request(ME, body), MemoryDisk())
    assert reply.body.error is Error.INVALID_REQUEST


@pytest.mark.parametrize(
    "text", ["a{99999999999999}", "(" * 500 + ")" * 500, "(a+)+b", r"(a)\1", "a" * 201, "(", "a**"]
)
def test_an_expression_that_kafkas_engine_would_not_run_is_refused(text):
    ask = ListTransactions(pattern=text)
    _, (reply,) = tc(state=S.ONGOING).step(Request(ME, ask), MemoryDisk())
    assert reply.body.error is Error.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(("text", "found"), [("", 1), ("t", 1), ("[s-u]", 1), ("t.+", 0)])
def test_ids_are_listed_by_expression(text, found):
    _, (reply,) = tc(state=S.ONGOING).step(
        Request(ME, ListTransactions(pattern=text)), MemoryDisk()
    )
    assert len(reply.body.transactions) == found
