"""Who may commit positions, plain and in a transaction, and what counts when."""

import pytest

from mqlab.kafka.errors import Error
from mqlab.kafka.group import GroupState
from mqlab.kafka.messages import (
    OffsetCommit,
    OffsetFetch,
    Position,
    TxnOffsetCommit,
    WriteTxnMarkers,
)
from mqlab.kernel import (
    AppendFailed,
    Caller,
    ConnectionLost,
    Request,
)
from tests.kafka.group.groups import LOG, Broker


def test_only_members_of_the_current_generation_commit():
    # ClassicGroup#validateOffsetCommit
    broker = Broker()
    member, generation = broker.alone()
    assert broker.commit(member, generation) is Error.NONE
    assert broker.commit(member, generation - 1) is Error.ILLEGAL_GENERATION
    assert broker.commit("who", generation) is Error.UNKNOWN_MEMBER_ID
    assert broker.commit() is Error.UNKNOWN_MEMBER_ID, "a simple commit needs an empty group"
    assert broker.commit(member, generation, offset=9) is Error.NONE
    assert broker.committed() == 9


def test_transactional_commits_are_fenced_by_member_and_generation():
    # OffsetMetadataManagerTest#testGenericGroupTransactionalOffsetCommitWith…
    broker = Broker()
    member, generation = broker.alone()
    assert broker.txn_commit("who", generation) is Error.UNKNOWN_MEMBER_ID
    assert broker.txn_commit(member, generation + 1) is Error.ILLEGAL_GENERATION
    assert broker.txn_commit(member, generation) is Error.NONE
    assert broker.txn_commit() is Error.NONE, "a producer without group metadata is let in"


def test_a_group_that_nobody_knows():
    broker = Broker()
    assert broker.txn_commit("a", 1) is Error.ILLEGAL_GENERATION
    assert broker.commit("a", 1, version=8) is Error.ILLEGAL_GENERATION
    assert broker.commit("a", 1, version=9) is Error.GROUP_ID_NOT_FOUND
    assert broker.commit() is Error.NONE
    assert broker.state is GroupState.EMPTY


def test_fencing_off_lets_everybody_commit():
    broker = Broker(off=("generation_fencing",))
    member, generation = broker.alone()
    assert broker.commit(member, generation - 1) is Error.NONE
    assert broker.txn_commit("who", 17) is Error.NONE


def test_a_plain_commit_waits_while_a_rebalance_completes():
    broker = Broker()
    told = broker.join("a", broker.member("a"))
    assert broker.state is GroupState.COMPLETING_REBALANCE
    assert broker.commit(told.member, 1) is Error.REBALANCE_IN_PROGRESS
    assert broker.txn_commit(told.member, 1) is Error.NONE, "no matter for a transaction"


def test_an_empty_group_id_is_refused_to_a_transaction_only():
    # GroupCoordinatorService#commitTransactionalOffsets, #commitOffsets
    broker = Broker()
    at = (Position("orders-0", 1),)
    assert broker.ask(TxnOffsetCommit("t", "", 7, 0, at)).error is Error.INVALID_GROUP_ID
    assert broker.ask(OffsetCommit("", at)).error is Error.NONE


def end(broker, commit, pid=7, epoch=1):
    assert broker.ask(WriteTxnMarkers("t", pid, epoch, commit)).error is Error.NONE


def test_pending_offsets_hold_readers_and_count_from_the_marker_on():
    # OffsetMetadataManagerTest#testFetchOffsetsWithPendingTransactionalOffsets
    broker = Broker()
    broker.commit(offset=2)
    broker.txn_commit(offset=5)
    assert broker.committed() == ("orders-0",), "UNSTABLE_OFFSET_COMMIT"
    assert broker.committed(stable=False) == 2
    end(broker, commit=True)
    assert broker.committed() == 5
    broker.txn_commit(offset=8, epoch=1)
    end(broker, commit=False, epoch=2)
    assert broker.committed() == 5


@pytest.mark.parametrize("transaction", [False, True])
def test_a_position_is_told_once_it_is_replicated(transaction):
    # GroupCoordinatorService#fetchOffsets
    broker = Broker()
    broker.commit(offset=2)
    if transaction:
        broker.txn_commit(offset=5)
    broker.replicating = False
    broker.ask(WriteTxnMarkers("t", 7, 1, True) if transaction else commit_of(5))
    assert broker.committed(stable=False) == 2, "reads at the high watermark"
    assert broker.ask(OffsetFetch("g", ("orders-0",))) is None, "a stable fetch waits"
    number = broker.asked
    broker.event(broker.unsafe.pop())
    assert broker.held[number].positions == (Position("orders-0", 5),)
    assert broker.committed(stable=False) == 5


def test_a_stable_fetch_that_waits_is_told_when_too_few_replicas_are_left():
    broker = Broker()
    broker.replicating = False
    broker.ask(commit_of(5))
    assert broker.ask(OffsetFetch("g", ("orders-0",))) is None
    broker.event(AppendFailed(LOG, 1, "NOT_LEADER_OR_FOLLOWER"))
    assert broker.held[broker.asked].error is Error.NOT_COORDINATOR


def commit_of(offset):
    return OffsetCommit("g", (Position("orders-0", offset),))


def test_a_later_plain_commit_wins_over_a_pending_one():
    broker = Broker()
    broker.txn_commit(offset=9)
    broker.commit(offset=4)
    end(broker, commit=True)
    assert broker.committed() == 4


def test_a_restart_keeps_what_is_pending_pending():
    broker = Broker()
    broker.txn_commit(offset=5)
    broker.start()
    assert broker.committed() == ("orders-0",)
    end(broker, commit=True)
    assert broker.committed() == 5


def test_without_offsets_in_transaction_they_count_at_once():
    broker = Broker(off=("offsets_in_transaction",))
    broker.txn_commit(offset=5)
    assert broker.committed() == 5


@pytest.mark.parametrize(
    ("verdict", "version", "told"),
    [
        (Error.PRODUCER_FENCED, 5, Error.INVALID_PRODUCER_EPOCH),
        (Error.TRANSACTION_ABORTABLE, 4, Error.TRANSACTION_ABORTABLE),
        (Error.TRANSACTION_ABORTABLE, 3, Error.INVALID_TXN_STATE),
        (Error.CONCURRENT_TRANSACTIONS, 5, Error.CONCURRENT_TRANSACTIONS),
    ],
)
def test_what_the_transaction_coordinator_says_no_to(verdict, version, told):
    broker = Broker()
    broker.verdict = verdict
    assert broker.txn_commit("who", 17, version=version) is told, "verified before fenced"


def test_the_transaction_coordinator_cannot_be_reached():
    broker = Broker()
    ask = TxnOffsetCommit("t", "g", 7, 0, (Position("orders-0", 5),))
    broker.role, (question,) = broker.role.step(Request(Caller("client", 1, 99), ask), broker.disk)
    assert question.body.implicit
    broker.event(ConnectionLost("coordinator"))
    assert broker.held[99].error is Error.COORDINATOR_LOAD_IN_PROGRESS
    assert broker.txn_commit() is Error.NONE, "asked again, it works"


def test_offsets_of_an_older_epoch_are_refused():
    broker = Broker()
    broker.txn_commit(offset=5)
    end(broker, commit=True)
    assert broker.txn_commit(epoch=0) is Error.INVALID_PRODUCER_EPOCH


def test_positions_are_stamped_with_the_time_of_the_request():
    # else an open transaction looks as old as the hills to who looks for hanging ones
    broker = Broker()
    assert broker.txn_commit() is Error.NONE  # the transaction is open here now
    ask = TxnOffsetCommit("t", "g", 7, 0, (Position("orders-0", 6),))
    broker.event(Request(Caller("client", 1, 1), ask, 123_000))
    assert broker.role.part.producers[7].last_ms == 123_000


def test_without_verification_a_legacy_commit_asks_nobody():
    broker = Broker(off=("verification",))
    broker.verdict = Error.TRANSACTION_ABORTABLE
    assert broker.txn_commit(version=3) is Error.NONE
