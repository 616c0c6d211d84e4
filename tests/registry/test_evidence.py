"""What a cited run shows is still there when everything has happened that can happen by itself.

A promise is broken only where nobody but an operator can still keep it. So each run is taken on to
its end by a driver of this test: what is under way arrives, what is down starts again, every timer
runs out, again and again. Only then is the claim asked, once. A fault of another kind stays by
itself: somebody has read or was told what he should not have been; those claims are named.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest

from mqlab.brokers import list_brokers
from mqlab.explore import Budget, explore
from mqlab.kernel import Run, System, World
from mqlab.kernel.choice import Choice
from mqlab.kernel.moves import apply, list_choices
from mqlab.places import ROOT, SCENARIOS
from mqlab.registry import SYSTEMS, run_scenario, system
from mqlab.registry.cases.anomalies import MATRIX
from mqlab.registry.matrix import Told
from mqlab.registry.searches import Case, searches_of
from mqlab.scenario import load
from tests.registry.renew import path_of

ROUNDS = 20  # of timers: more than any count that a broker gives up after
A_MINUTE = 60_000
CASES = [
    (broker, case) for broker in list_brokers("searches") for case in searches_of(broker).cases
]
#: in which order what may happen does: as it is listed, or by a seed
ORDERS = (None, 1, 2)

#: claims about each moment, and what stays of a moment in which one did not hold
OF_A_MOMENT = {
    ("kafka", "clean read"): "a reader has got what was undecided or aborted",
    ("kafka", "in generation"): "a position of a member that was given up is in the log",
    ("kafka", "whole read"): "a reader has got half of a transaction",
    ("patterns", "consistent at once"): "somebody has seen one side without the other",
    ("patterns", "isolated"): "somebody has seen a step that may be taken back",
    ("patterns", "known at once"): "nobody has known that the batch is written",
    ("patterns", "never blocked"): "a participant has waited for nobody",
    ("patterns", "seen at once"): "somebody has seen the row without its message",
    ("patterns", "whole order"): "somebody has seen half of an order",
    ("patterns", "written at once"): "somebody has seen less than was complete",
    ("pulsar", "max read position correct"): "what was undecided could be read",
    ("pulsar", "clean read"): "a consumer has got what was undecided or aborted",
    ("pulsar", "one holder"): "two transactions were told that they hold one message",
    ("pulsar", "pending kept"): "an acknowledgement was answered and is on no disk",
    ("pulsar", "pending withheld"): "a consumer has got what a transaction has acknowledged",
    ("pulsar", "plain at once"): "a plain message has waited for a transaction",
}
#: machines that do not come back: to replace one is an operator's work
GONE = {"any_producer": ("app",)}


def settle(system: System, world: World, at_ms: int, dice: random.Random | None) -> World:
    """Whatever happens by itself, without a timer, until nothing does."""
    while ready := [one for one in list_choices(system, world) if one.kind != "fire"]:
        world = apply(system, world, dice.choice(ready) if dice else ready[0], at_ms)[-1].world
    return world


def run_to_end(
    system: System, world: World, seed: int | None = None, gone: Sequence[str] = ()
) -> World:
    """The world when nothing changes any more, or after so many rounds of all timers. `gone`: the
    nodes that do not start again."""
    dice = random.Random(seed) if seed is not None else None
    for number in range(1, ROUNDS + 1):
        before, at_ms = world, number * A_MINUTE
        world = settle(system, world, at_ms, dice)
        for name in world.nodes:
            if not world.nodes[name].up and name not in gone:
                world = apply(system, world, Choice("restart", name), at_ms)[-1].world
                world = settle(system, world, at_ms, dice)
        for name in world.nodes:
            for _, timer, _ in world.nodes[name].timers:
                if any(timer == set_now for _, set_now, _ in world.nodes[name].timers):
                    world = apply(system, world, Choice("fire", name, timer), at_ms)[-1].world
                    world = settle(system, world, at_ms, dice)
        if world == before:
            break
    return world


def holds(run: Run, world: World, claim: str) -> bool:
    (one,) = (one for one in run.system.properties() if one.name == claim)
    return one.holds(world)


def holds_in_the_end(run: Run, claim: str, gone: Sequence[str] = ()) -> list[bool]:
    """By each order in which things may happen."""
    return [holds(run, run_to_end(run.system, run.world, seed, gone), claim) for seed in ORDERS]


def replay(broker: str, case: Case) -> Run:
    return load(path_of(broker, case), SYSTEMS).run


@pytest.mark.parametrize(("broker", "case"), CASES, ids=lambda one: getattr(one, "name", one))
def test_the_fault_of_a_counterexample_stays(broker, case):
    run = replay(broker, case)
    assert not holds(run, run.world, case.broken)
    if (broker, case.broken) in OF_A_MOMENT:
        kinds = {one.kind for one in run.system.properties() if one.name == case.broken}
        assert kinds == {"always"}, "what can always still be kept is not of a moment"
    else:
        gone = GONE.get(case.name, ())
        assert holds_in_the_end(run, case.broken, gone) == [False] * len(ORDERS)


def test_a_machine_is_gone_only_where_the_bounds_say_so():
    for broker, case in CASES:
        for node in GONE.get(case.name, ()):
            assert not case.budget.may_restart(node)
            assert all(holds_in_the_end(replay(broker, case), case.broken)), "its return repairs it"


def test_a_claim_is_called_one_of_a_moment_only_where_it_holds_again():
    again = {
        (broker, case.broken)
        for broker, case in CASES
        if (broker, case.broken) in OF_A_MOMENT
        and any(holds_in_the_end(replay(broker, case), case.broken))
    }
    assert again == set(OF_A_MOMENT)


def cited_stories() -> list[str]:
    """Those that prove a cell of the matrix, and those that pages, labs and the lecture name."""
    told = {
        proof.story
        for cells in MATRIX.values()
        for cell in cells.values()
        for proof in cell.proofs
        if isinstance(proof, Told)
    }
    texts = (
        ROOT / "labs" / "choose" / "choose.md",
        ROOT / "labs" / "lecture" / "lecture.toml",
        ROOT / "mqlab" / "lessons" / "choice.toml",
    )
    for text in texts:
        told |= set(re.findall(r'\bstory(?: ?= ?"|:)([\w/-]+)', text.read_text("utf-8")))
    decision = (ROOT / "mqlab" / "lessons" / "decision.toml").read_text("utf-8")
    told |= set(re.findall(r'\brun = "([\w/-]+)"', decision))
    return sorted(told)


def test_stories_are_cited():
    named = {
        "rocketmq/counterexamples/nobody-answers",  # by the page that helps to choose
        "patterns/delivery-commit-first",  # by a lab
        "pulsar/zombie-both-commit",  # by the lecture
        "pulsar/seen-in-one-topic-first",  # by the matrix
    }
    assert named <= {*cited_stories()}


@pytest.mark.parametrize("story", cited_stories())
def test_a_light_that_a_cited_story_leaves_red_stays_so(story):
    run = load(SCENARIOS / f"{story}.scn", SYSTEMS).run
    claims = {one.name for one in run.system.properties()}
    red = [light.name for light in run.snapshots[-1].lights if not light.ok]
    for name in claims.intersection(red):
        if (story.partition("/")[0], name) not in OF_A_MOMENT:
            assert not any(holds_in_the_end(run, name)), name


# ---- the driver tells a fault from what is merely not yet so ----------------------------------

ASKED = "rocketmq timeout_ms=0 check_max=1 persist_ms=0 claims=row_delivered"
#: the half is parked while the process that sent it runs, and its COMMIT is yet to come
NOT_YET = ("call app", "app>broker", "app>broker", "app<broker", "app>db", *["fire broker"] * 2)


def test_a_half_that_is_parked_before_its_commit_arrives_is_no_fault():
    run = Run(system(f"{ASKED} 'app=send-in-transaction orders-0 A'"))
    for choice in NOT_YET:
        run.do(choice)
    assert not holds(run, run.world, "row delivered")
    assert holds_in_the_end(run, "row delivered") == [True] * len(ORDERS)


def test_no_search_calls_it_one():
    found = explore(system(f"{ASKED} 'app=send-in-transaction orders-0 A'"), Budget(timers=2))
    assert found.complete and not found.counterexamples


def test_a_wrong_rollback_really_loses_the_message():
    """apache/rocketmq#9791: a process of the group that knows nothing of orders is asked."""
    run = run_scenario("""# A process of the group says ROLLBACK.
system rocketmq producers=app:order-service,billing:order-service early=on claims=row_delivered
run billing: listener UNKNOW ROLLBACK_MESSAGE
kill app when=EndTransaction
run app: send-in-transaction orders-0 o1
at 30000
fire broker check
""")
    assert [one.name for one in run.snapshots[-1].lights if not one.ok][-1] == "row delivered"
    assert holds_in_the_end(run, "row delivered") == [False] * len(ORDERS)
