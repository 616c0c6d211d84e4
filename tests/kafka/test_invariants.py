"""A role of Kafka's whose memory is broken trips over it."""

from dataclasses import replace

import pytest

from mqlab.kafka.clients.calls import Commit
from mqlab.kafka.clients.producer import proceed
from mqlab.kafka.group import Group
from mqlab.kafka.group.members import Member
from mqlab.kafka.messages import EndTxn, ProduceResponse
from mqlab.kafka.replication import Leadership, Replica
from mqlab.kafka.replication.replica import ReplicaConfig
from mqlab.kernel import ConnectionLost, Map
from tests.kafka.clients.driven import Client
from tests.kafka.group.groups import LOG, Broker

LED = Leadership("p", 1, 4, (1, 2))
REPLICA = Replica(
    ReplicaConfig(partition="p", number=1, logs=("p",)), led=Map([("p", LED)]), hw=Map([("p", 5)])
)


@pytest.mark.parametrize("fault", ["a later HW", "a position that is never safe"])
def test_a_group_coordinator_trips_over_its_memory(fault):
    broker = Broker()
    role, end = broker.role, broker.disk.log(LOG).end
    quiet = ConnectionLost("nobody")
    role.step(quiet, broker.disk)
    later = replace(role, part=role.part.advance(end + 1))
    lost = replace(role, timeline=((end + 1, role.committed.set("g", Map())),))
    with pytest.raises(AssertionError):
        (later if fault == "a later HW" else lost).step(quiet, broker.disk)


def test_no_generation_goes_back_and_only_a_member_leads():
    member = Member("m", "m")
    group = Group("g", generation=2).with_member(member)
    coordinator = Broker().role.with_group(group)
    assert coordinator.with_group(replace(group, generation=3)).groups["g"].generation == 3
    for broken in (replace(group, generation=1), replace(group, leader="n")):
        with pytest.raises(AssertionError):
            coordinator.with_group(broken)


@pytest.mark.parametrize(
    ("epoch", "isr", "hw", "sound"),
    [
        (4, (1, 2), 6, True),
        (5, (1, 2), 4, True),
        (4, (1, 2), 4, False),
        (4, (2,), 5, False),
    ],
    ids=["it moves", "another epoch", "its HW goes back", "it is not in sync with itself"],
)
def test_a_leader_is_in_sync_and_its_high_watermark_does_not_go_back(epoch, isr, hw, sound):
    new = replace(
        REPLICA, led=Map([("p", replace(LED, epoch=epoch, isr=isr))]), hw=Map([("p", hw)])
    )
    if sound:
        new.check_invariants(REPLICA)
        return
    with pytest.raises(AssertionError):
        new.check_invariants(REPLICA)


def test_a_batch_is_under_way_only_inside_the_transaction():
    client = Client().begun().send("a")
    role = client.role
    (batch,) = role.flights
    proceed(role)
    with pytest.raises(AssertionError, match="o-0"):
        proceed(replace(role, added=()))
    ending = client.answer(ProduceResponse()).call(Commit()).role
    assert isinstance(ending.request.body, EndTxn)
    proceed(ending)
    with pytest.raises(AssertionError, match="EndTxn"):
        proceed(replace(ending, flights=(batch,)))
