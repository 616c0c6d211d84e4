"""What a group coordinator answers, beside the rules of the real one."""

import pytest

from mqlab.kafka.clients.consumer import assign_ranges
from mqlab.kafka.errors import Error
from mqlab.kafka.group import Group, GroupState
from mqlab.kafka.group.members import (
    PREVIOUS,
    DescribeGroup,
    Heartbeat,
    JoinedMember,
    JoinGroup,
    LeaveGroup,
    ListedGroup,
    ListGroups,
    SyncGroup,
)
from mqlab.kafka.messages import (
    OffsetCommit,
    OffsetFetch,
    Position,
    TxnOffsetCommit,
    WriteTxnMarkers,
)
from mqlab.kernel import Append, AppendFailed, Caller, ConnectionLost, Request
from tests.kafka.group.groups import LOG, RANGE, Broker

# ---- membership --------------------------------------------------------------------------


def test_a_new_member_first_gets_its_id():
    # JoinGroup v4 (KIP-394); GroupMetadataManagerTest#testNewMemberJoin…
    broker = Broker()
    told = broker.join("a")
    assert (told.error, told.member) == (Error.MEMBER_ID_REQUIRED, "a-1")
    assert broker.group.expected == ("a-1",)
    assert broker.timers == {"session/g/a-1": 45_000}
    broker.fire("session/g/a-1")
    assert broker.group.expected == (), "who never comes back is forgotten"


def test_an_older_request_is_let_in_at_once():
    told = Broker().join("a", version=3)
    assert (told.error, told.generation, told.leader) == (Error.NONE, 1, told.member)


def test_an_assignment_that_cannot_be_made_safe_begins_the_rebalance_anew():
    broker = Broker()
    told = broker.join("a", broker.member("a"))
    ask = SyncGroup("g", told.member, told.generation, ((told.member, ("orders-0",)),))
    broker.role, effects = broker.role.step(Request(Caller("client", 1, 99), ask), broker.disk)
    (append,) = (e for e in effects if isinstance(e, Append))
    broker.disk = broker.disk.apply(append)
    at = Request(Caller("client", 1, 98), OffsetCommit("other", (Position("orders-0", 1),)))
    broker.role, _ = broker.role.step(at, broker.disk)
    broker.event(AppendFailed(LOG, append.entry.last + 1, "NOT_LEADER_OR_FOLLOWER"))
    assert broker.held[99].error is Error.NOT_COORDINATOR
    assert broker.held[98].error is Error.NOT_COORDINATOR
    assert broker.state is GroupState.PREPARING_REBALANCE
    assert broker.join("a", told.member).generation == 2


def test_whoever_waits_is_told_that_somebody_else_leads():
    broker = Broker()
    broker.alone("a")
    assert broker.join("b", broker.member("b")) is None
    waiting = broker.asked
    (told,) = broker.role.resign()
    assert (told.caller.corr, told.body.error) == (waiting, Error.NOT_COORDINATOR)


def two(broker):
    """a (the leader) and b in generation 2, both stable; their ids."""
    a, _ = broker.alone("a")
    b = broker.member("b")
    assert broker.join("b", b) is None, "held back until the rebalance is complete"
    assert broker.ask(Heartbeat("g", a, 1)).error is Error.REBALANCE_IN_PROGRESS
    told = broker.join("a", a)
    assert told.generation == 2
    assert {m.member for m in told.members} == {a, b}
    assert broker.ask(SyncGroup("g", b, 2)) is None, "waits for the leader"
    broker.ask(SyncGroup("g", a, 2, ((a, ("orders-0",)), (b, ("orders-1",)))))
    assert [m.assignment for m in broker.group.members.values()] == [("orders-0",), ("orders-1",)]
    return a, b


def test_who_does_not_come_back_in_time_is_dropped():
    broker = Broker()
    a, _ = broker.alone("a")
    b = broker.member("b")
    broker.join("b", b)
    assert broker.state is GroupState.PREPARING_REBALANCE
    broker.fire("join/g")
    assert tuple(broker.group.members) == (b,)
    assert broker.group.leader == b
    assert broker.ask(Heartbeat("g", a, 1)).error is Error.UNKNOWN_MEMBER_ID


def test_who_joins_and_never_asks_for_its_part_is_dropped():
    # GroupMetadataManagerTest#testRebalanceTimesOutWhenSyncRequestIsNotReceived
    broker = Broker()
    broker.alone("a")
    broker.join("b", broker.member("b"))
    a = broker.join("a", "a-1").member
    broker.ask(SyncGroup("g", a, 2, ((a, ("orders-0",)),)))
    assert broker.group.unsynced == ("b-2",)
    broker.fire("sync/g")
    assert tuple(broker.group.members) == (a,)
    assert broker.state is GroupState.PREPARING_REBALANCE


def test_the_last_one_to_leave_leaves_an_empty_generation():
    broker = Broker()
    member, generation = broker.alone()
    assert broker.ask(LeaveGroup("g", ((member, None),))).errors == (Error.NONE,)
    assert (broker.state, broker.group.generation) == (GroupState.EMPTY, generation + 1)
    assert broker.ask(LeaveGroup("g", ((member, None),))).errors == (Error.UNKNOWN_MEMBER_ID,)
    assert broker.timers == {}


def test_a_follower_that_changed_nothing_hears_of_its_generation_again():
    broker = Broker()
    _, b = two(broker)
    told = broker.join("b", b)
    assert (told.error, told.generation) == (Error.NONE, 2)
    assert broker.state is GroupState.STABLE


def test_the_leader_joining_again_forces_a_rebalance():
    broker = Broker()
    a, _ = two(broker)
    assert broker.join("a", a) is None
    assert broker.state is GroupState.PREPARING_REBALANCE


def test_a_member_of_an_older_generation_is_told():
    broker = Broker()
    a, _ = two(broker)
    assert broker.ask(Heartbeat("g", a, 1)).error is Error.ILLEGAL_GENERATION
    assert broker.ask(SyncGroup("g", a, 1)).error is Error.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (JoinGroup("", "", "a", RANGE), Error.INVALID_GROUP_ID),
        (JoinGroup("g", "", "a", RANGE, session_ms=10), Error.INVALID_SESSION_TIMEOUT),
        (JoinGroup("g", "", "a", ()), Error.INCONSISTENT_GROUP_PROTOCOL),
        (JoinGroup("g", "who", "a", RANGE), Error.UNKNOWN_MEMBER_ID),
        (SyncGroup("g", "who", 1), Error.UNKNOWN_MEMBER_ID),
        (Heartbeat("g", "who", 1), Error.UNKNOWN_MEMBER_ID),
    ],
    ids=lambda value: value.name if isinstance(value, Error) else type(value).__name__,
)
def test_what_a_group_refuses(ask, error):
    assert Broker().ask(ask).error is error


def test_who_leaves_a_group_that_nobody_knows_is_told_by_name():
    told = Broker().ask(LeaveGroup("g", (("who", None), ("else", None))))
    assert (told.error, told.errors) == (Error.NONE, (Error.UNKNOWN_MEMBER_ID,) * 2)


def test_a_refused_question_makes_the_group_all_the_same():
    broker = Broker()
    assert broker.ask(JoinGroup("g", "", "a", ())).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert broker.ask(DescribeGroup("g")).state == "Empty"


def test_a_group_whose_last_member_expired_in_a_rebalance_takes_the_next_one():
    # ClassicGroup#supportsProtocols: nobody is left to disagree with
    broker = Broker()
    a, _ = broker.alone("a")
    broker.member("b")
    assert broker.join("a", a) is None
    broker.ask(LeaveGroup("g", ((a, None),)))
    assert (broker.state, len(broker.group.members)) == (GroupState.PREPARING_REBALANCE, 0)
    assert broker.join("c").error is Error.MEMBER_ID_REQUIRED


def test_strategies_must_have_one_in_common():
    broker = Broker()
    broker.alone()
    other = JoinGroup("g", "", "b", (("sticky", ()),))
    assert broker.ask(other).error is Error.INCONSISTENT_GROUP_PROTOCOL


def test_a_static_member_keeps_its_place_and_fences_its_older_self():
    # GroupMetadataManagerTest#testStaticMemberReJoinWithUnknownMemberIdAndStableGroup…
    broker = Broker()
    told = broker.join("a", instance="i")
    broker.ask(SyncGroup("g", told.member, 1, ((told.member, ("orders-0",)),), instance="i"))
    again = broker.join("a", instance="i")
    assert (again.error, again.generation, again.skip_assignment) == (Error.NONE, 1, True)
    assert again.member != told.member
    assert broker.group.members[again.member].assignment == ("orders-0",)
    old = Heartbeat("g", told.member, 1, instance="i")
    assert broker.ask(old).error is Error.FENCED_INSTANCE_ID
    assert broker.commit(told.member, 1, instance="i") is Error.FENCED_INSTANCE_ID
    assert broker.txn_commit(told.member, 1, instance="i") is Error.FENCED_INSTANCE_ID


def test_a_restart_restores_members_and_generation():
    broker = Broker()
    a, b = two(broker)
    before = broker.group
    broker.start()
    assert (broker.state, broker.group.generation) == (GroupState.STABLE, 2)
    assert broker.group.leader == before.leader
    assert broker.timers == {f"session/g/{a}": 45_000, f"session/g/{b}": 45_000}
    assert broker.ask(Heartbeat("g", a, 2)).error is Error.NONE
    assert broker.member("a") not in (a, b), "no id is given twice"


def test_the_transitions_seen_are_the_table(monkeypatch):
    seen = set()
    enter = Group.enter

    def noted(group, state):
        seen.add((group.state, state))
        return enter(group, state)

    monkeypatch.setattr(Group, "enter", noted)
    broker = Broker()
    a, b = two(broker)
    broker.ask(LeaveGroup("g", ((b, None),)))
    broker.join("a", a)
    broker.join("c", broker.member("c"))
    broker.ask(LeaveGroup("g", ((a, None),)))
    broker.ask(LeaveGroup("g", (("c-3", None),)))
    table = {(old, new) for new, olds in PREVIOUS.items() for old in olds}
    assert seen == {edge for edge in table if GroupState.DEAD not in edge}


def test_ranges_are_contiguous_and_the_first_get_one_more():
    # RangeAssignor
    topics = ("orders",)
    members = tuple(JoinedMember(m, None, topics) for m in ("b", "a"))
    given = assign_ranges(members, ("orders-0", "orders-1", "orders-2"))
    assert given == (("a", ("orders-0", "orders-1")), ("b", ("orders-2",)))


# ---- administration ----------------------------------------------------------------------


def test_groups_are_listed_and_described():
    broker = Broker()
    assert broker.ask(DescribeGroup("g")).error is Error.GROUP_ID_NOT_FOUND
    member, _ = broker.alone()
    assert broker.ask(ListGroups()).groups == (ListedGroup("g", "consumer", "Stable"),)
    told = broker.ask(DescribeGroup("g"))
    assert (told.state, told.protocol, told.members[0].member) == ("Stable", "range", member)
    assert told.members[0].assignment == ("orders-0",)
    broker.join("b", broker.member("b"))
    told = broker.ask(DescribeGroup("g"))  # ClassicGroup#describeNoMetadata
    assert (told.state, told.members[0].assignment) == ("PreparingRebalance", ("orders-0",))


def test_a_role_keeps_no_timer_of_members_that_left():
    broker = Broker()
    a, b = two(broker)
    broker.ask(LeaveGroup("g", ((a, None), (b, None))))
    assert broker.timers == {}


# ---- Who may commit positions, plain and in a transaction, and what counts when ------


def test_a_group_that_nobody_knows():
    broker = Broker()
    assert broker.txn_commit("a", 1) is Error.ILLEGAL_GENERATION
    assert broker.commit("a", 1, version=8) is Error.ILLEGAL_GENERATION
    assert broker.commit("a", 1, version=9) is Error.GROUP_ID_NOT_FOUND
    assert broker.commit() is Error.NONE
    assert broker.state is GroupState.EMPTY


def test_a_plain_commit_waits_while_a_rebalance_completes():
    broker = Broker()
    told = broker.join("a", broker.member("a"))
    assert broker.state is GroupState.COMPLETING_REBALANCE
    assert broker.commit(told.member, 1) is Error.REBALANCE_IN_PROGRESS
    assert broker.txn_commit(told.member, 1) is Error.NONE, "no matter for a transaction"


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
