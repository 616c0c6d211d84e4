"""The newer consumer protocol (KIP-848), heartbeat by heartbeat. The numbers, errors and
sentences are those that a real 4.3.1 broker gave to the same heartbeats."""

from dataclasses import dataclass
from dataclasses import replace as changed

import pytest

from mqlab.kafka.errors import Error
from mqlab.kafka.group.consumer.assign import ranges, uniform
from mqlab.kafka.group.consumer.messages import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from mqlab.kafka.group.messages import DeleteGroup, DeleteOffsets, DescribeGroup, ListGroups
from mqlab.kafka.messages import OffsetCommit, OffsetFetch, Position, TxnOffsetCommit
from mqlab.kernel import Caller, Put, Request
from tests.kafka.group.groups import Broker

FOUR = tuple(f"ka-{i}" for i in range(4))
SECOND_MS = 1_000


@dataclass(frozen=True)
class Topic:
    id: str
    count: int


class Newer(Broker):
    """A coordinator that knows two topics, ka (4 partitions) and kb (1), and has a clock."""

    def __init__(self):
        self.at_ms = 1_000_000
        super().__init__()
        self.topic("ka", 4)
        self.topic("kb", 1)

    def topic(self, name, count):
        self.disk = self.disk.apply(Put("topics", name, Topic(f"id-{name}", count)))

    def ask(self, body):
        self.asked += 1
        self.event(Request(Caller("client", 1, self.asked), body, self.at_ms))
        return self.held.pop(self.asked, None)

    def beat(self, member, epoch, **given):
        return self.ask(ConsumerGroupHeartbeat("g", member, epoch, **given))

    def come(self, member, *topics, **given):
        topics = topics or ("ka",)
        return self.beat(member, 0, topics=topics, owned=(), rebalance_ms=60_000, **given)

    def later(self, ms=SECOND_MS):
        self.at_ms += ms

    @property
    def now(self):
        return self.ask(ConsumerGroupDescribe("g"))

    def has(self, member):
        return self.now.members[member].partitions


def answer(told):
    return told.error, told.epoch, told.assignment


def test_alone_a_member_gets_everything_at_once():
    broker = Newer()
    assert answer(broker.come("m1")) == (Error.NONE, 2, FOUR)
    assert answer(broker.beat("m1", 2)) == (Error.NONE, 2, None)
    assert (broker.now.state, broker.now.epoch, broker.now.target_epoch) == ("Stable", 2, 2)
    assert answer(Newer().come("m", "nowhere")) == (Error.NONE, 2, ())


def shared():
    """Two members at the target's epoch 3: m1 has just been told what to let go."""
    broker = Newer()
    broker.come("m1")
    assert answer(broker.come("m2")) == (Error.NONE, 2, ())
    assert broker.now.state == "Assigning", "a target is made once a second at most"
    broker.later()
    assert answer(broker.beat("m2", 2)) == (Error.NONE, 3, None)
    assert answer(broker.beat("m1", 2)) == (Error.NONE, 2, ("ka-0", "ka-1"))
    return broker


def test_a_partition_changes_hands_only_when_it_was_let_go():
    broker = shared()
    assert broker.now.state == "Reconciling"
    assert answer(broker.beat("m2", 3)) == (Error.NONE, 3, None)
    assert answer(broker.beat("m1", 2, owned=FOUR)) == (Error.NONE, 2, None)
    assert answer(broker.beat("m1", 2, owned=("ka-0", "ka-1"))) == (Error.NONE, 3, None)
    assert answer(broker.beat("m2", 3)) == (Error.NONE, 3, ("ka-2", "ka-3"))
    assert broker.now.state == "Stable"


def test_who_does_not_let_go_in_time_is_out():
    broker = shared()
    assert broker.timers["consumer-revoke/g/m1"] == 60_000
    broker.fire("consumer-revoke/g/m1")
    broker.later()
    assert answer(broker.beat("m2", 3)) == (Error.NONE, 4, FOUR)
    assert broker.beat("m1", 2).error is Error.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_out_and_a_restart_gives_a_new_session():
    broker = shared()
    before = broker.now
    broker.start()
    assert changed(broker.now, image=before.image) == before
    assert broker.timers["consumer-session/g/m1"] == 45_000
    assert broker.timers["consumer-revoke/g/m1"] == 60_000
    broker.fire("consumer-session/g/m1")
    assert sorted(broker.now.members) == ["m2"]
    broker.start()
    assert sorted(broker.now.members) == ["m2"]


def test_an_epoch_is_fenced_unless_the_answer_to_it_was_lost():
    broker = shared()
    broker.beat("m1", 2, owned=("ka-0", "ka-1"))
    assert answer(broker.beat("m1", 2, owned=("ka-0", "ka-1"))) == (Error.NONE, 3, None)
    for epoch, owned in ((2, None), (2, ("ka-0", "ka-3")), (9, None), (1, ())):
        told = broker.beat("m1", epoch, owned=owned)
        assert told.error is Error.FENCED_MEMBER_EPOCH
    assert told.message == (
        "The consumer group member has a smaller member epoch (1) than the one known by the "
        "group coordinator (3). The member must abandon all its partitions and rejoin."
    )
    assert answer(broker.come("m1")) == (Error.NONE, 3, ("ka-0", "ka-1")), "it joins again"


def commit(broker, partition, member="", epoch=-1, version=9):
    at = (Position(partition, 5),)
    return broker.ask(OffsetCommit("g", at, member, epoch, version)).error


def test_a_commit_is_stale_when_the_partition_was_got_later_or_is_gone():
    broker = shared()
    assert commit(broker, "ka-0", "m1", 2) is Error.NONE
    assert commit(broker, "ka-3", "m1", 2) is Error.NONE, "not let go yet"
    assert commit(broker, "ka-0", "m1", 3) is Error.STALE_MEMBER_EPOCH
    assert commit(broker, "ka-0", "m1", 1) is Error.STALE_MEMBER_EPOCH
    assert commit(broker, "ka-0", "x", 2) is Error.UNKNOWN_MEMBER_ID
    assert commit(broker, "ka-0") is Error.UNKNOWN_MEMBER_ID
    assert commit(broker, "ka-0", "m1", 2, version=8) is Error.UNSUPPORTED_VERSION
    broker.beat("m1", 2, owned=("ka-0", "ka-1"))
    broker.beat("m2", 3)
    assert commit(broker, "ka-0", "m1", 2) is Error.NONE, "held since then"
    assert commit(broker, "ka-3", "m1", 2) is Error.STALE_MEMBER_EPOCH
    assert commit(broker, "ka-2", "m2", 3) is Error.NONE
    anonymous = TxnOffsetCommit("t", "g", 7, 0, (Position("ka-0", 6),))
    assert broker.ask(anonymous).error is Error.NONE
    zombie = changed(anonymous, member="m1", generation=1)
    assert broker.ask(zombie).error is Error.STALE_MEMBER_EPOCH


def test_positions_are_told_to_members_and_to_nobody_in_particular():
    broker = shared()
    commit(broker, "ka-0", "m1", 2)

    def told(member=None, epoch=-1):
        return broker.ask(OffsetFetch("g", ("ka-0",), False, member, epoch))

    assert told().positions == told("m1", 2).positions == (Position("ka-0", 5),)
    assert told("m1", 9).error is Error.STALE_MEMBER_EPOCH
    assert told("x", 2).error is Error.UNKNOWN_MEMBER_ID


def test_another_subscription_or_more_partitions_raise_the_epoch():
    broker = Newer()
    broker.come("m", "kb")
    broker.later()
    assert answer(broker.beat("m", 2, topics=("kb", "ka"))) == (Error.NONE, 3, ("kb-0", *FOUR))
    broker.topic("kb", 3)
    broker.later()
    assert broker.beat("m", 3).epoch == 4
    assert set(broker.has("m")) == {*FOUR, "kb-0", "kb-1", "kb-2"}
    assert broker.beat("m", 4).epoch == 4, "and only once"


def test_leaving():
    broker = shared()
    broker.beat("m1", 2, owned=("ka-0", "ka-1"))
    assert answer(broker.beat("m2", -1)) == (Error.NONE, -1, None)
    assert broker.now.state == "Assigning"
    broker.later()
    assert answer(broker.beat("m1", 3)) == (Error.NONE, 4, FOUR)
    assert broker.beat("m1", -1).epoch == -1
    assert broker.beat("m1", -1).message == "Member m1 is not a member of group g."
    assert (broker.now.state, broker.now.epoch) == ("Empty", 5)
    assert "consumer-session/g/m1" not in broker.timers


def test_a_static_member_keeps_its_place():
    broker = Newer()
    broker.come("s1", instance="i")
    assert broker.come("s2", instance="i").error is Error.UNRELEASED_INSTANCE_ID
    assert answer(broker.beat("s1", -2, instance="i")) == (Error.NONE, -2, None)
    assert answer(broker.come("s2", instance="i")) == (Error.NONE, 2, FOUR)
    assert (broker.now.epoch, broker.now.state) == (2, "Stable")
    assert broker.beat("s1", 2).error is Error.UNKNOWN_MEMBER_ID
    fenced = broker.beat("s1", 2, instance="i")
    assert fenced.message == "Static member s1 with instance id i was fenced by member s2."
    broker.start()
    assert list(broker.now.members) == ["s2"] and broker.has("s2") == FOUR


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"group": ""}, "GroupId can't be empty."),
        ({"member": ""}, "MemberId can't be empty."),
        ({"instance": ""}, "InstanceId can't be empty."),
        ({"rack": ""}, "RackId can't be empty."),
        ({"rebalance_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"owned": None}, "TopicPartitions must be empty when (re-)joining."),
        ({"owned": FOUR}, "TopicPartitions must be empty when (re-)joining."),
        (
            {"topics": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining.",
        ),
        (
            {"assignor": "nope"},
            "ServerAssignor nope is not supported. Supported assignors: uniform, range.",
        ),
        ({"epoch": -3}, "MemberEpoch is invalid."),
        ({"epoch": -2}, "InstanceId can't be null."),
        ({"epoch": 1}, "Group g not found."),
    ],
)
def test_refusals(given, words):
    whole = ConsumerGroupHeartbeat("g", "m", 0, topics=("ka",), owned=(), rebalance_ms=1_000)
    broker = Newer()
    assert broker.ask(changed(whole, **given)).message == words
    assert not broker.role.consumers


def test_beside_the_classic_protocol():
    broker = Newer()
    assert commit(broker, "ka-0") is Error.NONE, "an empty classic group"
    assert broker.come("m").error is Error.NONE, "which becomes one of the newer kind"
    assert broker.ask(OffsetFetch("g", ("ka-0",))).positions == (Position("ka-0", 5),)
    assert broker.ask(DescribeGroup("g")).message == "Group g is not a classic group."
    (row,) = broker.ask(ListGroups()).groups
    assert (row.name, row.state, row.kind) == ("g", "Stable", "consumer")
    assert broker.join("a").error is Error.INCONSISTENT_GROUP_PROTOCOL
    busy = broker.ask(DeleteOffsets("g", ("ka-0", "kb-0"))).errors
    assert busy == (Error.GROUP_SUBSCRIBED_TO_TOPIC, Error.NONE)
    assert broker.ask(DeleteGroup("g")).error is Error.NON_EMPTY_GROUP
    broker.beat("m", -1)
    assert broker.join("a").error is Error.MEMBER_ID_REQUIRED, "and a classic one again"
    broker.start()
    assert "g" in broker.role.groups and "g" not in broker.role.consumers
    assert broker.ask(OffsetFetch("g", ("ka-0",))).positions == (Position("ka-0", 5),)
    other = Broker()
    other.alone()
    told = other.ask(ConsumerGroupHeartbeat("g", "m", 0, None, None, 1, ("orders",), owned=()))
    assert told.message == "Group g is not a consumer group."


def test_an_empty_group_can_be_deleted():
    broker = Newer()
    broker.come("m")
    broker.beat("m", -1)
    commit(broker, "ka-0")
    assert broker.ask(DeleteGroup("g")).error is Error.NONE
    broker.start()
    assert broker.now is None
    assert broker.ask(OffsetFetch("g", ("ka-0",))).positions == (Position("ka-0", -1),)


# ---- who shall read what -------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2, 3, 5, 7])
def test_uniform_is_even_whole_and_moves_little(members):
    wishes = {f"m{i}": ("a", "b") for i in range(members)}
    counts = {"a": 7, "b": 3}
    target = uniform(wishes, counts, {})
    every = [p for rows in target.values() for p in rows]
    assert sorted(every) == sorted(f"{t}-{i}" for t in counts for i in range(counts[t]))
    sizes = [len(rows) for rows in target.values()]
    assert max(sizes) - min(sizes) <= 1
    more = uniform({**wishes, "new": ("a", "b")}, counts, target)
    moved = sum(p not in target[m] for m in wishes for p in more[m])
    assert moved == 0, "nobody but the newcomer gets anything"
    assert uniform(wishes, counts, target) == target


def test_uniform_with_different_wishes():
    target = uniform({"m1": ("a",), "m2": ("a", "b")}, {"a": 4, "b": 2}, {"m2": ("a-0", "a-1")})
    assert set(target["m2"]) >= {"b-0", "b-1"}
    assert [len(target[m]) for m in ("m1", "m2")] == [3, 3]
    assert uniform({"m": ("gone",)}, {}, {"m": ("gone-0",)}) == {"m": ()}


def test_ranges_give_the_same_numbers_of_each_topic_to_one_member():
    target = ranges({"b": ("ka", "kb"), "a": ("ka", "kb")}, {"ka": 4, "kb": 1}, {})
    assert target == {"a": ("ka-0", "ka-1", "kb-0"), "b": ("ka-2", "ka-3")}
