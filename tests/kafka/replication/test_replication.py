"""Several replicas: every schedule of an election, and what a scenario cannot show."""

from pathlib import Path

import pytest

from mqlab.explore import Budget, explore
from mqlab.kafka.group import commits
from mqlab.kafka.replication import Fence, Leadership, Replica
from mqlab.kafka.replication.controller import AlterPartition, Register, start_controller
from mqlab.kernel import Call, Caller, Map, MemoryDisk, Play, Reply, Request
from mqlab.registry import run_scenario, scenario, system
from tests.oracle.compare import read_recordings
from tests.oracle.kafka.oracle import KAFKA

APP = "'app=init; begin; send orders-0 a; commit'"
SCENARIOS = Path(__file__).parents[3] / "datasets" / "scenarios" / "kafka"


@pytest.mark.parametrize(
    ("line", "budget", "states"),
    [
        (f"kafka partitions=1 replicas=2 {APP}", Budget(), 302),
        (f"kafka partitions=1 replicas=2 {APP} 'controller=elect orders-0 2'", Budget(), 35_318),
        (f"kafka partitions=1 replicas=2 {APP} 'controller=elect coordinator 2'", Budget(), 54_934),
    ],
    ids=["no election", "the partition's leader changes", "the coordinator moves"],
)
def test_whenever_leadership_moves_nothing_is_lost_or_torn_for_good(line, budget, states):
    verdict = explore(system(line), budget)
    assert verdict.complete, verdict
    assert not verdict.counterexamples and not verdict.missing, verdict
    assert verdict.states == states


def test_a_client_asks_one_broker_after_the_other_who_leads():
    play = Play(system("kafka partitions=1 replicas=3 'app=init'"))
    for down in ("coordinator@1", "coordinator@2"):
        play.do(f"kill {down}")
    play.do("call app")
    for down in ("coordinator@1", "coordinator@2"):
        play.do(f"refuse app {down}")
        play.do("app.")
    assert "app>coordinator@3" in {option.choice for option in play.options()}


PLAIN = (
    "kafka partitions=1 groups=1 replicas=2 producers= readers=one,two "
    "'one=commit-offsets g orders-0@5' 'two=committed g orders-0'"
)
IN_TRANSACTION = (
    "kafka partitions=1 groups=1 replicas=2 readers=two "
    "'app=init; begin; send-offsets g orders-0@5; commit' 'two=committed g orders-0'"
)


@pytest.mark.parametrize(
    ("line", "states"),
    [
        (PLAIN, 468),
        (f"{PLAIN} 'controller=elect __consumer_offsets-0 2'", 90_404),
        (IN_TRANSACTION, 3_894),
    ],
    ids=["plain", "the group moves", "in a transaction"],
)
def test_no_consumer_is_told_a_position_that_a_failover_takes_back(line, states):
    verdict = explore(system(line))
    assert verdict.complete and not verdict.counterexamples, verdict
    assert verdict.states == states


@pytest.mark.parametrize(("line", "length"), [(PLAIN, 9), (IN_TRANSACTION, 36)])
def test_positions_told_before_they_are_replicated_are_found(line, length, monkeypatch):
    """The fault put back: an answer that does not wait for the high watermark."""

    def at_once(coordinator, ask, caller, disk):
        return coordinator, (Reply(caller, commits.read_offsets(coordinator, ask)),)

    monkeypatch.setattr(commits, "fetch_offsets", at_once)
    found = explore(system(line)).counterexamples
    assert list(found) == ["replicated positions"]
    assert len(found["replicated positions"].schedule) == length


@pytest.mark.parametrize(("off", "broken"), [("", []), ("generation_fencing", ["in generation"])])
def test_generations_are_watched_with_several_replicas_too(off, broken):
    line = (
        "kafka topic=in partitions=1 replicas=2 producers= groups=1 workers=one "
        "'one=init; subscribe g in; begin; send-offsets g in-0@1; commit'"
    )
    verdict = explore(system(f"{line} off={off}" if off else line), Budget(timers=2))
    assert verdict.complete and list(verdict.counterexamples) == broken, verdict


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
    assert {"coordinator@1", "coordinator@2", "orders-0@1", "orders-0@2", "controller"} <= set(
        names
    )
    follower = system("kafka partitions=1 replicas=2")
    spec = next(s for s in follower.nodes() if s.name == "orders-0@2")
    role, _ = spec.roles[0][1](MemoryDisk(), 0)
    assert isinstance(role, Replica) and role.role is None and not role.leads


def test_topics_may_have_fewer_replicas_than_the_coordinators_log():
    line = f"kafka partitions=1 replicas=2 topic_replicas=1 {APP} 'controller=elect coordinator 2'"
    lanes = [spec.name for spec in system(line).nodes()]
    assert lanes == ["app", "coordinator@1", "coordinator@2", "orders-0@1", "controller"]
    verdict = explore(system(line), Budget())
    assert verdict.complete and not verdict.counterexamples and not verdict.missing, verdict
    assert verdict.states == 10_852


def test_records_of_several_ids_may_be_safe_at_once():
    # "aa" and "bt" have one log: the follower fetches both records, and the HW moves by two.
    line = "kafka partitions=1 replicas=2 topic_replicas=1 producers=p:aa,q:bt p=init q=init"
    asked = ("p>coordinator@1", "p<coordinator@1", "p>coordinator@1")
    both = ("call p", "call q", *asked, *(step.replace("p", "q", 1) for step in asked))
    play = Play(system(line), both)
    play.go_on()
    returned = [fact.node for fact in play.trace.facts if fact.kind == "return"]
    assert sorted(returned) == ["p", "q"]


def test_a_follower_that_takes_over_knows_the_last_five_batches_and_one_restarted_only_one():
    # Seen on three real 4.3.1 brokers: the new leader knows all five again.
    story = """
        system kafka partitions=1 replicas=2 producers=app:-
        run app: send orders-0 a, send orders-0 b, flush, send orders-0 c, flush
        {restarted}
        run controller: elect orders-0 2
        """
    kept = run_scenario(story.format(restarted=""))
    lost = run_scenario(story.format(restarted="kill orders-0@2\nrestart orders-0@2"))
    assert [_window(run) for run in (kept, lost)] == [3, 1]


def _window(run):
    part = run.system.cluster.leading_role(run.world, "orders-0").part
    (entry,) = part.producers.values()
    return len(entry.window)


def test_a_replica_that_is_proposed_for_the_isr_counts_at_once():
    # Partition's maximal ISR: the controller may elect it before the leader hears back.
    story = run_scenario(
        """
        system kafka partitions=1 replicas=2
        run controller: fence orders-0 2
        run app: init, begin, send orders-0 a
        kill orders-0@2
        restart orders-0@2
        hold controller→orders-0@1 Leadership#2
        run app: send orders-0 b
        """
    )
    leader, world = story.system.cluster.leading_role(story.world, "orders-0"), story.world
    assert leader.part.hw == world.disk("orders-0@2").log("orders-0").end


def test_what_was_fenced_meanwhile_is_not_let_in_by_an_old_proposal():
    first = (Leadership("o-0", 1, 0, (1, 2)),)
    role, _ = start_controller(Map([("o-0", ("o-0@1",))]), first, MemoryDisk(), 0)
    role, _ = role.step(Call(Fence("o-0", 2)), MemoryDisk())
    late = AlterPartition("o-0", 0, (1, 2), (1, 2, 3))
    same, effects = role.step(Request(Caller("o-0@1"), late), MemoryDisk())
    assert same == role and not effects


def test_nothing_is_verified_for_a_leader_that_may_not_append():
    run = scenario(
        """
        system kafka client=legacy partitions=1 replicas=2 min_isr=2
        hold orders-0@1→coordinator@1 AddPartitionsToTxn
        run app: init, begin, send orders-0 a
        run controller: fence orders-0 2
        release orders-0@1→coordinator@1 AddPartitionsToTxn
        """
    )
    told = [f.text.en for f in run.facts if f.node == "orders-0@1" and f.peer == "app"]
    assert told == ["NOT_ENOUGH_REPLICAS"]
    assert not run.snapshot(-1).logs[0].cells


def test_what_too_few_replicas_have_is_not_called_safe():
    # Partition#maybeIncrementLeaderHW (KIP-966)
    run = scenario(
        """
        system kafka partitions=1 replicas=2 min_isr=2
        hold orders-0@2→orders-0@1 FetchReplica#2
        run app: init, begin, send orders-0 a
        run controller: fence orders-0 2
        """
    )
    hw = [f.at for f in run.snapshot(-1).logs[0].frontiers if f.name == "HW"]
    assert hw == [0]
    assert not [f for f in run.facts if f.peer == "app" and f.text.en.startswith("ok @")]


def test_a_log_that_is_cut_back_loses_the_snapshots_of_what_it_lost():
    # ProducerStateManager#truncateAndReload
    run = run_scenario(
        """
        system kafka partitions=1 replicas=2 producers=app:- segment_records=1
        run app: send orders-0 a, flush
        hold controller→orders-0@1 Leadership
        run controller: elect orders-0 2
        run app: send orders-0 b
        kill app
        release controller→orders-0@1 Leadership
        """
    )
    ends = {n: run.world.disk(n).log("orders-0").end for n in ("orders-0@1", "orders-0@2")}
    kept = run.world.disk("orders-0@1").table("orders-0.snapshot")
    assert ends["orders-0@1"] == ends["orders-0@2"] and max(kept) <= ends["orders-0@1"]


def test_who_is_fenced_stays_out_until_it_registers():
    first = (Leadership("o-0", 1, 0, (1, 2)),)
    role, _ = start_controller(Map([("o-0", ("o-0@1",))]), first, MemoryDisk(), 0)
    role, _ = role.step(Call(Fence("o-0", 2)), MemoryDisk())
    ask = Request(Caller("o-0@1"), AlterPartition("o-0", 0, (1,), (1, 2)))
    assert role.step(ask, MemoryDisk()) == (role, ())
    role, _ = role.step(Request(Caller("o-0@2"), Register("o-0", 2)), MemoryDisk())
    role, _ = role.step(ask, MemoryDisk())
    assert role.led["o-0"].isr == (1, 2)


CUT = """
    system kafka partitions=1 replicas=2
    run app: init, begin, send orders-0 a, commit
    power-cut controller
    restart controller
    power-cut orders-0@1
    hold orders-0@1→controller Register
    restart orders-0@1
    run controller: {news}
"""


def test_a_copy_that_lost_power_is_filled_from_the_one_that_has_everything():
    """ClusterControlManager#registerBroker: the old session runs out first."""
    story = CUT.replace("run controller: {news}", "release orders-0@1→controller Register")
    world = run_scenario(story).world
    copies = [world.disk(f"orders-0@{n}").log("orders-0").entries for n in (1, 2)]
    assert len(copies[0]) == 2 and copies[0] == copies[1]
    led = world.disk("controller").table("leadership")["orders-0"]
    assert (led.leader, led.epoch, led.isr) == (2, 1, (1, 2))


def test_claims_that_mean_one_replica_are_refused_for_several():
    with pytest.raises(ValueError, match="no claim 'ends' with several replicas; there are: "):
        system("kafka replicas=2 claims=ends")


def test_a_plain_outage_at_commit_loses_a_marker_as_a_real_broker_does() -> None:
    """KAFKA-20734, with nobody killed: what the client, the coordinator and the partition say
    is what 4.3.1 was recorded to say; with the switch off the marker is written."""
    story = (SCENARIOS / "leaderless-marker.scn").read_text("utf-8")
    assert "kill" not in story.partition("\nsystem ")[2]
    seen = read_recordings(KAFKA, "4.3.1")["tv2/leaderless-marker"].observations
    recorded = {(observation.asked, observation.answered) for observation in seen}
    lost = scenario(story)
    answers = [f.text.en for f in lost if f.glyph == "⇒"]
    assert "ok epoch=1" in answers
    assert ("EndTxn commit epoch=0", "ok epoch=1") in recorded
    assert any("CompleteCommit pid=0 epoch=1" in said for said in answers)
    assert any(a.startswith("DescribeT") and "CompleteCommit" in said for a, said in recorded)
    log = lost.snapshot(-1).logs[0]
    frontiers = {f.name: f.at for f in log.frontiers}
    assert ("frontiers", f"HW={frontiers['HW']} LSO={frontiers['LSO']}") in recorded
    kept = scenario(story.replace(" skip_leaderless_marker=1", ""))
    assert {f.name: f.at for f in kept.snapshot(-1).logs[0].frontiers} == {"HW": 2, "LSO": 2}
