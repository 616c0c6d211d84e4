"""What a partition leader accepts, beside the rules of the real one."""

import pytest

from mqlab.kafka import SAFEGUARDS, KafkaConfig
from mqlab.kafka.config import java_hash, partition_for
from mqlab.kafka.errors import Error
from mqlab.kafka.group import GroupCoordinator
from mqlab.kafka.leader import Leader
from mqlab.kafka.log import AbortedTxn, Batch, role
from mqlab.kafka.log.role import DescribeProducers, Partition
from mqlab.kafka.messages import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    Fetch,
    InitProducerIdResponse,
    ListOffsets,
    ProduceResponse,
    Unwatch,
    Watch,
    Watched,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from mqlab.kernel import (
    Append,
    Appended,
    AppendFailed,
    Caller,
    ConnectionLost,
    MemoryDisk,
    Reply,
    Request,
)

CONFIG = KafkaConfig(on=frozenset(SAFEGUARDS))


def test_a_leader_that_believes_more_than_its_log_has_trips():
    leader = Leader(CONFIG, "orders-0", Partition(CONFIG, hw=1))
    with pytest.raises(AssertionError):
        leader.step(ConnectionLost("app"), MemoryDisk())


VECTORS = [
    ((0, 100), [0, 1, 2, 3]), ((0, 32), [0, 1, 2]), ((0, 35), [0, 1, 2, 3]),
    ((10, 35), [0, 1, 2, 3]), ((11, 35), [1, 2, 3]), ((20, 41), [2, 3]),
]  # fmt: skip


@pytest.mark.parametrize(("bounds", "pids"), VECTORS)
def test_the_search_of_the_transaction_index(bounds, pids):
    # TransactionIndexTest#testCollectAbortedTransactions
    disk = MemoryDisk()
    for i, row in enumerate([(0, 0, 10, 11), (1, 5, 15, 13), (2, 18, 35, 25), (3, 32, 50, 40)]):
        disk = disk.apply(Append("t-0.txnindex", AbortedTxn(i, *row), notify=False))
    assert [a.pid for a in role.collect_aborted_txns("t-0", *bounds, disk)] == pids


@pytest.mark.parametrize(
    ("txn_id", "partition"),
    [("A", 15), ("tx-0", 19), ("order-service-1", 16), ("polygenelubricants", 0)],
)
def test_the_coordinators_partition_is_javas_hash(txn_id, partition):
    assert partition_for(txn_id, 50) == partition


def test_java_hash_of_characters_outside_the_basic_plane():
    assert java_hash("polygenelubricants") == -(2**31)
    assert java_hash("😀") == 31 * 0xD83D + 0xDE00


# ---- What a partition's leader and a group coordinator share, looked at for both -----

NAME = "__consumer_offsets-0"
WHO = Caller("reader", 1, 5)
ABORTED, OPEN = 7, 8
both = pytest.mark.parametrize("kind", [Leader, GroupCoordinator])


def written(kind):
    """A role whose log holds one transaction to be aborted and one that stays open."""
    disk = MemoryDisk()
    for base, pid in enumerate((ABORTED, OPEN)):
        data = Batch((), 1, base, pid, 0, 0, transactional=True)
        disk = disk.apply(Append(NAME, data))
    role, _ = kind.recover(CONFIG, NAME, disk, 0)
    return role, disk


def abort(role, disk):
    """(role, its effects) of the marker that ends the first transaction."""
    ask = WriteTxnMarkers("t", ABORTED, 1, commit=False)
    return role.step(Request(Caller("coordinator"), ask), disk)


@pytest.mark.parametrize(
    "ask",
    [
        Fetch(0, READ_COMMITTED),
        Fetch(0, READ_UNCOMMITTED),
        Fetch(9),
        ListOffsets(-1, READ_COMMITTED),
        ListOffsets(-1, READ_UNCOMMITTED),
        ListOffsets(-2),
        DescribeProducers(),
    ],
    ids=str,
)
def test_readers_are_answered_alike(ask):
    answers = []
    for kind in (Leader, GroupCoordinator):
        role, disk = written(kind)
        same, (reply,) = role.step(Request(WHO, ask), disk)
        assert same == role, "a question changes nothing"
        answers.append(reply)
    assert answers[0] == answers[1]


@both
def test_a_long_poll_ends_with_what_it_waits_for_or_is_given_up(kind):
    role, disk = written(kind)
    _, (at_once,) = role.step(Request(WHO, Watch(1, READ_UNCOMMITTED)), disk)
    assert at_once == Reply(WHO, Watched())
    waiting, nothing = role.step(Request(WHO, Watch(2, READ_UNCOMMITTED)), disk)
    assert nothing == () and waiting.watchers
    left, _ = waiting.step(Request(Caller("reader", 1, 6), Unwatch(WHO.corr)), disk)
    assert not left.watchers
    longer = disk.apply(Append(NAME, Batch((), 1, 2)))
    woken, effects = waiting.step(Appended(NAME, 3), longer)
    assert Reply(WHO, Watched()) in effects and not woken.watchers


@both
def test_a_marker_that_could_not_be_made_safe_is_refused_by_its_name(kind):
    role, disk = written(kind)
    role, effects = abort(role, disk)
    for effect in effects:
        disk = disk.apply(effect)
    role, (reply,) = role.step(AppendFailed(NAME, 3, Error.NOT_ENOUGH_REPLICAS.name), disk)
    assert reply.body == WriteTxnMarkersResponse("t", ABORTED, Error.NOT_ENOUGH_REPLICAS, 1)
    assert role.acks == ()


@pytest.mark.parametrize(
    "answer",
    [
        InitProducerIdResponse(pid=7, epoch=3),
        AddPartitionsToTxnResponse(),
        EndTxnResponse(pid=7, epoch=3),
        ProduceResponse(base_offset=4, start=1),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_a_refused_answer_says_nothing_but_its_error(answer):
    refused = answer.refuse(Error.NOT_COORDINATOR)
    assert refused == type(answer)(error=Error.NOT_COORDINATOR)
    assert str(refused) == "NOT_COORDINATOR"
