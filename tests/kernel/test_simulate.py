"""Timed runs over a network that is told: loss, delay, and how quickly an application calls."""

import pytest

from mqlab.kernel import FactKind, replay, simulate
from mqlab.kernel.simulate import Timing, simulate_world
from tests.kernel.toy import kept, make_toy

TEN = make_toy(*(f"keep {name}" for name in "abcdefghij"))
LOSSY = Timing(loss=0.4)


def kinds(trace):
    return [fact.kind for fact in trace]


def test_without_loss_no_connection_breaks():
    assert FactKind.BREAK not in kinds(simulate(TEN, 1))


def test_what_is_lost_is_lost_with_its_connection_and_asked_for_again():
    trace = simulate(TEN, 1, timing=LOSSY)
    assert kinds(trace).count(FactKind.BREAK) > 3
    assert kinds(trace).count(FactKind.RETURN) == 10


def test_a_lost_request_is_a_choice_of_its_own_and_so_is_a_lost_answer():
    lost = [choice for seed in range(4) for choice in simulate(TEN, seed, timing=LOSSY).choices]
    assert "lose app>store" in lost and "break app store" in lost


def test_only_the_named_way_loses():
    mirrored = make_toy(*(f"keep {name}" for name in "abcdefghij"))
    everywhere = simulate(mirrored, 1, timing=LOSSY).choices
    lost = {choice for choice in everywhere if choice.startswith(("lose", "break"))}
    elsewhere = Timing(loss=0.4, lossy=(("store", "app"),))
    assert lost
    assert simulate(mirrored, 1, timing=elsewhere).choices == simulate(mirrored, 1).choices
    here = Timing(loss=0.4, lossy=(("app", "store"),))
    named = simulate(mirrored, 1, timing=here).choices
    assert {c for c in named if c.startswith(("lose", "break"))} <= {
        "lose app>store",
        "break app store",
    }


def test_a_run_with_losses_is_a_schedule_that_replays():
    trace = simulate(TEN, 2, timing=LOSSY)
    assert replay(TEN, trace.choices).narrate() == trace.narrate()


def test_the_world_without_the_telling_is_the_one_the_told_run_ends_in():
    for seed in range(5):
        told = simulate(TEN, seed, timing=LOSSY, faults=[(50, "kill store"), (90, "restart store")])
        world = simulate_world(
            TEN, seed, timing=LOSSY, faults=[(50, "kill store"), (90, "restart store")]
        )
        assert TEN.snapshot(world) == told.snapshot(-1)
        assert sorted(kept(TEN, world)) == list("abcdefghij")


def test_slow_messages_take_their_time():
    def length(slowest_ms):
        return simulate(TEN, 1, timing=Timing(slowest_ms=slowest_ms)).facts[-1].at_ms

    assert length(200) > 5 * length(10)


def test_an_application_that_takes_its_time_calls_later():
    calm, quick = (
        simulate(TEN, 1, timing=Timing(call_ms=call_ms)).facts[-1].at_ms for call_ms in (500, 1)
    )
    assert calm > quick + 500


@pytest.mark.parametrize("loss", [0.1, 0.6])
def test_a_share_of_the_messages_is_lost(loss):
    """Of many deliveries about so many are losses; at random, so the bounds are wide."""
    choices = [c for s in range(12) for c in simulate(TEN, s, timing=Timing(loss=loss)).choices]
    lost = sum(c.startswith(("lose ", "break ")) for c in choices)
    arrived = sum(c.startswith(("app>store", "app<store")) for c in choices)
    assert loss - 0.1 < lost / (lost + arrived) < loss + 0.1
