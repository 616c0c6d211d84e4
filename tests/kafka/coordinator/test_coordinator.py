"""The coordinator's decision tables, row by row, and its transition table against runs."""

import ast
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from mqlab.kafka import SAFEGUARDS, KafkaConfig
from mqlab.kafka.coordinator import Coordinator, Entry, Pending
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.errors import Error
from mqlab.kafka.messages import AddPartitionsToTxn, EndTxn, InitProducerId
from mqlab.kafka.states import PREVIOUS, PREVIOUS_V2, TxnState
from mqlab.kernel import Append, Appended, Caller, Map, MemoryDisk, Reply, Request
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


LEGACY = {
    (S.ONGOING, True): "NONE", (S.ONGOING, False): "NONE",
    (S.COMPLETE_COMMIT, True): "NONE", (S.COMPLETE_COMMIT, False): "INVALID_TXN_STATE",
    (S.COMPLETE_ABORT, True): "INVALID_TXN_STATE", (S.COMPLETE_ABORT, False): "NONE",
    (S.EMPTY, True): "INVALID_TXN_STATE", (S.EMPTY, False): "INVALID_TXN_STATE",
    (S.PREPARE_COMMIT, True): "CONCURRENT_TRANSACTIONS",
    (S.PREPARE_COMMIT, False): "CONCURRENT_TRANSACTIONS",
    (S.PREPARE_ABORT, True): "CONCURRENT_TRANSACTIONS",
    (S.PREPARE_ABORT, False): "CONCURRENT_TRANSACTIONS",
}  # fmt: skip


@pytest.mark.parametrize(("state", "commit"), LEGACY)
def test_end_txn_of_a_legacy_client(state, commit):
    # TransactionCoordinatorTest#testEndTxnWhenStatusIs…InV1, and a running broker, where
    # a prepared transaction always has its completion pending.
    _, said = ask(tc(state), EndTxn("t", 7, 3, commit, v2=False))
    assert said.error.name == LEGACY[state, commit]


V2 = {
    # (state, request's epoch − stored epoch, commit): error
    (S.ONGOING, 0, True): "NONE", (S.ONGOING, 0, False): "NONE",
    (S.ONGOING, -1, True): "PRODUCER_FENCED", (S.ONGOING, 1, True): "PRODUCER_FENCED",
    (S.EMPTY, -1, True): "PRODUCER_FENCED", (S.EMPTY, 0, True): "INVALID_TXN_STATE",
    (S.EMPTY, -1, False): "PRODUCER_FENCED", (S.EMPTY, 0, False): "NONE",
    (S.COMPLETE_COMMIT, -1, True): "NONE", (S.COMPLETE_COMMIT, 0, True): "INVALID_TXN_STATE",
    (S.COMPLETE_COMMIT, -1, False): "INVALID_TXN_STATE", (S.COMPLETE_COMMIT, 0, False): "NONE",
    (S.COMPLETE_ABORT, -1, True): "INVALID_TXN_STATE",
    (S.COMPLETE_ABORT, 0, True): "INVALID_TXN_STATE",
    (S.COMPLETE_ABORT, -1, False): "NONE", (S.COMPLETE_ABORT, 0, False): "NONE",
    (S.COMPLETE_COMMIT, -2, True): "PRODUCER_FENCED",
    (S.PREPARE_COMMIT, 0, True): "CONCURRENT_TRANSACTIONS",
    (S.PREPARE_ABORT, -1, False): "CONCURRENT_TRANSACTIONS",
}  # fmt: skip


@pytest.mark.parametrize(("state", "behind", "commit"), V2)
def test_end_txn_of_a_v2_client(state, behind, commit):
    # TransactionCoordinatorTest …InV2; the comment table above #endTransaction.
    _, said = ask(tc(state), EndTxn("t", 7, 3 + behind, commit))
    assert said.error.name == V2[state, behind, commit]
    if not said.error:
        bumped = behind == 0
        assert (said.pid, said.epoch) == (7, 4 if bumped else 3)


def test_unknown_ids_and_wrong_producer_ids_are_told_so():
    # TransactionCoordinatorTest#shouldReplyWithInvalidPidMapping…
    for body in (
        EndTxn("u", 7, 3, True),
        EndTxn("t", 8, 3, True),
        EndTxn("t", 8, 3, True, False),
        AddPartitionsToTxn("u", 7, 3, ("o-0",)),
        AddPartitionsToTxn("t", 8, 3, ("o-0",)),
    ):
        assert ask(tc(S.ONGOING), body)[1].error is Error.INVALID_PRODUCER_ID_MAPPING


def test_the_bump_rules_as_seen_on_a_real_broker():
    # S22: same call again gives the same epoch; an older or unknown epoch is fenced.
    coordinator = Coordinator(CONFIG)
    given = []
    for pid, epoch in ((-1, -1), (0, 0), (0, 0), (-1, -1), (0, 0), (0, 50), (12345, 0)):
        coordinator, said = ask(coordinator, InitProducerId("t", pid=pid, epoch=epoch))
        given.append(said.epoch if not said.error else said.error.name)
    fenced = "PRODUCER_FENCED"
    assert given == [0, 1, 1, 2, fenced, fenced, fenced]


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


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (InitProducerId(""), Error.INVALID_REQUEST),
        (InitProducerId("t", 0), Error.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerId("t", 900_001), Error.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerId("t", 900_000), Error.NONE),
        (InitProducerId("t", pid=5), Error.INVALID_REQUEST),
        (InitProducerId(None), Error.NONE),
    ],
)
def test_validation_of_init_producer_id(body, error):
    assert ask(Coordinator(CONFIG), body)[1].error is error


def test_two_plain_idempotent_producers_get_two_ids_and_leave_no_state():
    coordinator, one = ask(Coordinator(CONFIG), InitProducerId(None))
    coordinator, two = ask(coordinator, InitProducerId(None))
    assert (one.pid, two.pid) == (0, 1)
    assert len(coordinator.entries) == 0


def test_a_verification_looks_and_changes_nothing():
    inside = AddPartitionsToTxn("t", 7, 3, ("o-0",), verify_only=True)
    outside = AddPartitionsToTxn("t", 7, 3, ("o-1",), verify_only=True)
    before = tc(S.ONGOING)
    assert ask(before, inside) == (before, ask(before, inside)[1])
    assert ask(before, inside)[1].error is Error.NONE
    assert ask(before, outside)[1].error is Error.TRANSACTION_ABORTABLE
    assert ask(tc(S.PREPARE_COMMIT), inside)[1].error is Error.CONCURRENT_TRANSACTIONS


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


@pytest.mark.spread("mqlab/kafka", "mqlab/kernel", "datasets/scenarios/kafka")
def test_the_transitions_seen_in_the_scenarios_are_in_the_table():
    seen = set()
    for path in FILES:
        golden = load(path, SYSTEMS)
        world = golden.run.world
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
    assert seen <= {(old, new) for new, olds in PREVIOUS_V2.items() for old in olds}
    pending_only = {S.DEAD, S.PREPARE_EPOCH_FENCE}
    written = {
        (old, new)
        for new, olds in PREVIOUS.items()
        for old in olds
        if not pending_only & {old, new}
    }
    assert written <= seen, "every transition of the table happens in some scenario"
