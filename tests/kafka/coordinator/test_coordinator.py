"""The coordinator's decision tables, row by row, and its transition table against runs."""

import ast
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from mqlab.kafka import SAFEGUARDS, KafkaConfig
from mqlab.kafka.clients.producer import Producer
from mqlab.kafka.coordinator import Coordinator, Entry, Pending
from mqlab.kafka.coordinator.entry import ListTransactions, StateRecord
from mqlab.kafka.errors import Error
from mqlab.kafka.messages import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    InitProducerIdResponse,
    WriteTxnMarkersResponse,
)
from mqlab.kafka.replication import Leadership, Replica, ReplicaConfig
from mqlab.kafka.replication.controller import Load
from mqlab.kafka.states import (
    PREVIOUS,
    PREVIOUS_V2,
    PRODUCER_PREVIOUS,
    ProducerState,
    TxnState,
)
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
from mqlab.registry import SYSTEMS
from mqlab.scenario import load
from tests.project.sources import ROOT
from tests.scenario.test_goldens import FILES

CONFIG = KafkaConfig(on=frozenset(SAFEGUARDS))
ME = Caller("app")
S = TxnState


def tc(state, epoch=3, last_epoch=-1, pid=7, **more):
    entry = Entry("t", pid, epoch, state, ("o-0",), last_epoch=last_epoch, **more)
    return Coordinator(CONFIG, entries=Map([("t", entry)]))


def ask(coordinator, body, disk=None):
    """The coordinator after the request, and what it answers once its record is safe."""
    disk = disk or MemoryDisk()
    coordinator, effects = coordinator.step(Request(ME, body), disk)
    for effect in effects:
        if isinstance(effect, Append):
            disk = disk.apply(effect)
            coordinator, more = coordinator.step(Appended(effect.log, effect.entry.last + 1), disk)
            effects = (*effects, *more)
    answers = [e.body for e in effects if isinstance(e, Reply)]
    return coordinator, (answers[0] if answers else None)


@pytest.mark.parametrize("v2", [True, False])
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_no_end_is_taken_while_one_is_written(state, commit, v2):
    """What is said in every other state is recorded: end-txn-legacy-table, end-txn-v2-table."""
    _, said = ask(tc(state), EndTxn("t", 7, 3, commit, v2=v2))
    assert said.error is Error.CONCURRENT_TRANSACTIONS


def test_exhausted_epochs_rotate_to_a_fresh_producer_id():
    # TransactionCoordinatorTest#shouldGenerateNewProducerIdIfEpochsExhausted
    coordinator = replace(tc(S.EMPTY, epoch=32_765), next_pid=9)
    coordinator, said = ask(coordinator, InitProducerId("t"))
    assert (said.pid, said.epoch) == (7, 32_766)
    coordinator, said = ask(coordinator, InitProducerId("t"))
    assert (said.pid, said.epoch) == (9, 0)


def test_at_the_last_epoch_only_whoever_has_it_is_given_a_fresh_id():
    # recorded: epoch-exhaustion-edges (TransactionMetadata#prepareIncrementProducerEpoch)
    coordinator = replace(tc(S.EMPTY, epoch=32_766), next_pid=9)
    for believed in (32_765, 7):
        _, said = ask(coordinator, InitProducerId("t", pid=7, epoch=believed))
        assert said.error is Error.UNKNOWN_SERVER_ERROR
    _, said = ask(coordinator, InitProducerId("t", pid=7, epoch=32_766))
    assert (said.pid, said.epoch) == (9, 0)


def test_the_id_before_a_rotation_is_forgotten_at_the_next_transition():
    # recorded: epoch-exhaustion-edges (TransactionMetadata#prepareTransitionTo)
    coordinator = replace(tc(S.EMPTY, epoch=32_766), next_pid=9)
    coordinator, _ = ask(coordinator, InitProducerId("t"))
    assert coordinator.entries["t"].prev_pid == 7
    coordinator, said = ask(coordinator, AddPartitionsToTxn("t", 9, 0, ("o-0",)))
    assert not said.error and coordinator.entries["t"].prev_pid == 9
    _, said = ask(coordinator, EndTxn("t", 7, 32_766, True, v2=True))
    assert said.error is Error.INVALID_PRODUCER_ID_MAPPING
    _, said = ask(coordinator, InitProducerId("t", pid=7, epoch=32_766))
    assert said.error is Error.PRODUCER_FENCED


def test_ending_at_the_last_epoch_answers_with_the_next_producer_id():
    coordinator = replace(tc(S.ONGOING, epoch=32_766), next_pid=9)
    coordinator, said = ask(coordinator, EndTxn("t", 7, 32_766, True))
    assert (said.pid, said.epoch) == (9, 0)
    assert coordinator.entries["t"].epoch == 32_767


def test_two_plain_idempotent_producers_get_two_ids_and_leave_no_state():
    coordinator, one = ask(Coordinator(CONFIG), InitProducerId(None))
    coordinator, two = ask(coordinator, InitProducerId(None))
    assert (one.pid, two.pid) == (0, 1)
    assert len(coordinator.entries) == 0


@pytest.mark.parametrize(("version", "table"), [(0, PREVIOUS), (2, PREVIOUS_V2)])
def test_what_the_table_does_not_allow_cannot_be_entered(version, table):
    for old, new in product(S, S):
        entry = Entry("t", 7, 3, old)
        if old in table[new]:
            assert entry.enter(new, version, pid=8) == replace(entry, state=new, pid=8)
        else:
            with pytest.raises(ValueError, match=f"t: no transaction goes from {old} to {new}"):
                entry.enter(new, version)


@pytest.mark.parametrize("fault", ["another decision", "an early marker"])
def test_a_fault_in_its_memory_trips_the_coordinator(fault):
    log = "__transaction_state-0"

    def writing(state: TxnState, new: TxnState, **more: Any) -> Coordinator:
        pending = Map([("t", Pending(Entry("t", 7, 3, new)))])
        return replace(tc(state), pending=pending, writes=Map([(log, ((1, "t"),))]), **more)

    owed = Map([("t", ("o-0",))])
    writing(S.PREPARE_COMMIT, S.COMPLETE_COMMIT, owed=owed).step(Appended(log, 1), MemoryDisk())
    pending = writing(S.PREPARE_COMMIT, S.PREPARE_ABORT)
    early = writing(S.ONGOING, S.PREPARE_COMMIT, owed=owed)
    wrong = pending if fault == "another decision" else early
    with pytest.raises(AssertionError):
        wrong.step(Appended(log, 1), MemoryDisk())


def test_a_state_is_entered_and_never_put():
    """Nothing of the coordinator's room writes a field `state` but `Entry.enter`."""
    put = []
    for path in sorted((ROOT / "mqlab" / "kafka" / "coordinator").glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("replace", "Entry"):
                if any(given.arg == "state" for given in call.keywords) or len(call.args) > 3:
                    put.append((path.name, ast.unparse(call)))
    assert put == [("entry.py", "replace(self, state=state, **more)")]


def test_scenarios_go_through_the_tables_and_nowhere_else(monkeypatch):
    """The coordinator's table by its log, the producer's by the states that it enters."""
    seen, entered = set(), set()
    enter = Producer.enter

    def noted(self, state):
        entered.add((self.state, state))
        return enter(self, state)

    monkeypatch.setattr(Producer, "enter", noted)
    for path in (path for path in FILES if "kafka" in path.parts):
        world = load(path, SYSTEMS).run.world
        disks = [world.disk(n) for n in world.nodes if n.partition("@")[0] == "coordinator"]
        for disk, log in ((d, log) for d in disks for log in d.logs("__transaction_state-")):
            state = {}
            for record in disk.log(log).read(0):
                assert isinstance(record, StateRecord)
                old = state.get(record.entry.txn_id, S.EMPTY)
                seen.add((old, record.entry.state))
                state[record.entry.txn_id] = record.entry.state
                if record.entry.state is S.DEAD:  # a tombstone: the id begins again
                    del state[record.entry.txn_id]
    assert seen <= list_edges(PREVIOUS_V2)
    pending_only = {S.DEAD, S.PREPARE_EPOCH_FENCE}
    written = {edge for edge in list_edges(PREVIOUS) if not pending_only.intersection(edge)}
    assert written <= seen, "every transition of the table happens in some scenario"
    table, p = list_edges(PRODUCER_PREVIOUS), ProducerState
    assert entered <= table
    elsewhere = {
        (p.READY, p.UNINITIALIZED),  # epochs used up: a test of the producer's
        (p.ABORTABLE_ERROR, p.UNINITIALIZED),  # no broker of today brings this about,
        (p.COMMITTING, p.INITIALIZING),  # nor this: an upgrade to transaction.version 2,
        (p.INITIALIZING, p.ABORTABLE_ERROR),  # nor this: an id refused for one transaction
    }
    assert {edge for edge in table - entered if edge[1] is not p.FATAL_ERROR} <= elsewhere


def list_edges(previous):
    return {(old, new) for new, olds in previous.items() for old in olds}


# ---- What a coordinator does when a record cannot be made safe, at the last epoch, and loading


def tc_failures(version=2, **entry):
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
    before = tc_failures(state=S.ONGOING)
    after, effects = fail(before, EndTxn("t", 7, 3, True), error)
    (reply,) = [e for e in effects if isinstance(e, Reply)]
    assert reply.body.error.name == told
    assert after.entries == before.entries and not after.pending
    assert any(isinstance(e, SetTimer) and e.timer == "timeout t" for e in effects)


def test_a_failed_fence_of_version_0_raises_the_epoch_once():
    # TransactionCoordinatorTest#shouldNotRepeatedlyBumpEpochDueToInitPidDuringOngoingTxn-
    # IfAppendToLogFails
    coordinator = tc_failures(version=0, state=S.ONGOING)
    for _ in range(3):
        coordinator, _ = fail(coordinator, InitProducerId("t"), "NOT_ENOUGH_REPLICAS")
        assert coordinator.entries["t"].epoch == 4
        assert coordinator.entries["t"].state is S.ONGOING


def test_a_failed_fence_of_version_2_leaves_the_epoch():
    # TransactionCoordinatorTest#testTV2AllowsEpochReBumpingAfterFailedWrite
    coordinator, _ = fail(tc_failures(state=S.ONGOING), InitProducerId("t"), "NOT_ENOUGH_REPLICAS")
    assert coordinator.entries["t"].epoch == 3


def test_a_timeout_that_could_not_be_written_runs_again():
    # TransactionCoordinatorTest#shouldNotBumpEpochWhenAbortingExpiredTransactionIfAppend-
    # ToLogFails
    coordinator, effects = tc_failures(state=S.ONGOING).step(Fired("timeout t"), MemoryDisk())
    record = next(e for e in effects if isinstance(e, Append))
    lost = AppendFailed(record.log, record.entry.last + 1, "NOT_ENOUGH_REPLICAS")
    coordinator, effects = coordinator.step(lost, MemoryDisk())
    assert coordinator.entries["t"].epoch == 3
    assert [e.timer for e in effects if isinstance(e, SetTimer)] == ["timeout t"]


def test_a_completion_that_could_not_be_written_is_tried_again():
    # TransactionMarkerChannelManager#retryLogAppends
    coordinator = replace(tc_failures(state=S.PREPARE_COMMIT), owed=Map([("t", ())]))
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
    coordinator = tc_failures(state=S.ONGOING, epoch=32_766)
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
    before = tc_failures(state=S.ONGOING, start_ms=1_000)
    after, effects = before.step(Request(ME, EndTxn("t", 7, 3, True), 50_000), MemoryDisk())
    (record,) = [e for e in effects if isinstance(e, Append)]
    lost = AppendFailed(record.log, record.entry.last + 1, "NOT_ENOUGH_REPLICAS", 50_500)
    _, effects = after.step(lost, MemoryDisk())
    (timer,) = [e for e in effects if isinstance(e, SetTimer)]
    assert 50_500 + timer.after_ms == 70_000


def test_an_abort_of_nothing_begins_when_it_ends():
    abort = Request(ME, EndTxn("t", 7, 3, commit=False, v2=True), 50_000)
    _, effects = tc_failures(state=S.COMPLETE_COMMIT, start_ms=1_000).step(abort, MemoryDisk())
    (record,) = [e for e in effects if isinstance(e, Append)]
    assert record.entry.entry.start_ms == 50_000  # TransactionMetadata#prepareAbortOrCommit


def test_an_id_whose_first_record_failed_begins_with_epoch_0():
    new = Coordinator(KafkaConfig(on=frozenset(SAFEGUARDS)))
    new, _ = fail(new, InitProducerId("t"), "NOT_ENOUGH_REPLICAS")
    _, effects = new.step(Request(ME, InitProducerId("t")), MemoryDisk())
    (record,) = [e for e in effects if isinstance(e, Append)]
    assert (record.entry.entry.pid, record.entry.entry.epoch) == (0, 0)


def test_an_answer_to_an_older_marker_settles_nothing():
    owing = replace(tc_failures(state=S.PREPARE_COMMIT, epoch=5), owed=Map([("t", ("o-0",))]))
    old = Response("o-0", 0, WriteTxnMarkersResponse("t", 7, epoch=4))
    assert owing.step(old, MemoryDisk()) == (owing, ())
    now = Response("o-0", 0, WriteTxnMarkersResponse("t", 7, epoch=5))
    done, effects = owing.step(now, MemoryDisk())
    assert done.pending["t"].entry.state is S.COMPLETE_COMMIT and effects


def test_a_refused_marker_is_sent_again_while_it_is_owed_and_only_then():
    owing = replace(tc_failures(state=S.PREPARE_COMMIT, epoch=5), owed=Map([("t", ("o-0",))]))
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
    _, (reply,) = tc_failures(state=S.ONGOING).step(Request(ME, body), MemoryDisk())
    assert reply.body.error is Error.INVALID_REQUEST


@pytest.mark.parametrize(
    "text", ["a{99999999999999}", "(" * 500 + ")" * 500, "(a+)+b", r"(a)\1", "a" * 201, "(", "a**"]
)
def test_an_expression_that_kafkas_engine_would_not_run_is_refused(text):
    ask = ListTransactions(pattern=text)
    _, (reply,) = tc_failures(state=S.ONGOING).step(Request(ME, ask), MemoryDisk())
    assert reply.body.error is Error.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(("text", "found"), [("", 1), ("t", 1), ("[s-u]", 1), ("t.+", 0)])
def test_ids_are_listed_by_expression(text, found):
    _, (reply,) = tc_failures(state=S.ONGOING).step(
        Request(ME, ListTransactions(pattern=text)), MemoryDisk()
    )
    assert len(reply.body.transactions) == found
