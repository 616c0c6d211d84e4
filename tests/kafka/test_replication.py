"""Several replicas: every schedule of an election, and what a scenario cannot show."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.kafka.replication import Replica
from mqlab.kernel import MemoryDisk
from mqlab.lessons import scenario, system
from mqlab.lessons.systems import played

APP = "'app=init; begin; send orders-0 a; commit'"


@pytest.mark.parametrize(
    ("line", "budget", "states"),
    [
        (f"kafka partitions=1 replicas=2 {APP}", Budget(), 302),
        (f"kafka partitions=1 replicas=2 {APP} 'controller=elect orders-0 2'", Budget(), 35_318),
        (f"kafka partitions=1 replicas=2 {APP} 'controller=elect tc 2'", Budget(), 54_934),
    ],
    ids=["no election", "the partition's leader changes", "the coordinator moves"],
)
def test_whenever_leadership_moves_nothing_is_lost_or_torn_for_good(line, budget, states):
    verdict = explore(system(line), budget)
    assert verdict.complete, verdict
    assert not verdict.counterexamples and not verdict.missing, verdict
    assert verdict.states == states


def test_every_replica_ends_with_the_same_log():
    run = scenario(
        """
        system kafka partitions=1 replicas=3
        run app: init, begin, send orders-0 a, commit
        run controller: elect orders-0 3
        run app: begin, send orders-0 b
        fire app retry
        run app: abort
        """
    )
    logs = run.snapshot(-1).logs
    assert [log.name for log in logs] == ["orders-0@3", "orders-0@1", "orders-0@2"]
    assert len({log.cells for log in logs}) == 1
    assert [cell.label for cell in logs[0].cells] == ["a", "C", "b", "A"]


def test_an_out_of_sync_replica_cannot_be_elected():
    run = scenario(
        """
        system kafka partitions=1 replicas=2
        run controller: fence orders-0 2, elect orders-0 2
        """
    )
    told = [fact.text.en for fact in run.facts if fact.glyph == "☞"]
    assert told == [
        "fence orders-0 2: ok",
        "elect orders-0 2: failed ELIGIBLE_LEADERS_NOT_AVAILABLE",
    ]


def test_a_replica_that_follows_refuses_in_the_askers_own_terms():
    world = scenario("system kafka partitions=1 replicas=2\nrun app: init")
    assert world.snapshot(-1).lanes  # the picture has a lane for every copy
    names = [lane.name for lane in world.snapshot(-1).lanes]
    assert {"tc@1", "tc@2", "orders-0@1", "orders-0@2", "controller"} <= set(names)
    follower = system("kafka partitions=1 replicas=2")
    spec = next(s for s in follower.nodes() if s.name == "orders-0@2")
    role, _ = spec.roles[0][1](MemoryDisk(), 0)
    assert isinstance(role, Replica) and role.role is None and not role.leads


@pytest.mark.parametrize("line", ["replicas=4", "replicas=2 min_isr=3", "min_isr=2"])
def test_impossible_numbers_of_replicas_are_refused(line):
    with pytest.raises(ValueError, match="expected 1 to 3 replicas"):
        system(f"kafka {line}")


def test_a_follower_that_takes_over_knows_the_last_five_batches_and_one_restarted_only_one():
    # Seen on three real 4.3.1 brokers: the new leader knows all five again.
    story = """
        system kafka partitions=1 replicas=2 producers=app:-
        run app: send orders-0 a, send orders-0 b, flush, send orders-0 c, flush
        {restarted}
        run controller: elect orders-0 2
        """
    kept = played(story.format(restarted=""))
    lost = played(story.format(restarted="kill orders-0@2\nrestart orders-0@2"))
    assert [_window(run) for run in (kept, lost)] == [3, 1]


def _window(run):
    part = run.system.cluster.leading(run.world, "orders-0").part
    (entry,) = part.producers.values()
    return len(entry.window)
