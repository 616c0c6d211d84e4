"""How often an order arrives: the three promises, over every schedule within a budget."""

import re

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import replay
from mqlab.registry import scenario, system

TWO = "'shop=send 580538:31678; send 580539:31073'"
ONE = "'shop=send 580538:31678'"
MOST = "off=one_write,send_again commit=before"
LEAST = "off=one_write,recognise"
FAULTS = Budget(kills=1, breaks=1)


def broken(line, budget=FAULTS):
    verdict = explore(system(line), budget)
    assert verdict.complete
    assert not verdict.missing
    return {name: len(found.schedule) for name, found in verdict.counterexamples.items()}


@pytest.mark.parametrize(
    ("promise", "breaks"),
    [
        (MOST, {"none lost": 3}),
        (LEAST, {"counted once": 8}),
        ("", {}),
    ],
    ids=["at most once", "at least once", "exactly once"],
)
def test_a_promise_breaks_on_its_own_side_only(promise, breaks):
    assert broken(f"delivery {promise} {TWO}") == breaks


@pytest.mark.parametrize("again", [(), ("send_again",)])
@pytest.mark.parametrize("known", [(), ("recognise",)])
@pytest.mark.parametrize("together", [(), ("one_write",)])
def test_only_with_shop_queue_and_accounting_together_it_is_exactly_once(again, known, together):
    off = (*again, *known, *together)
    found = broken(f"delivery {ONE} off={','.join(off)}", Budget(kills=1, breaks=1, timers=1))
    assert bool(found) == bool(off)


def test_impatience_alone_counts_twice():
    """No fault at all: the shop only waits less long than the network takes."""
    assert broken(f"delivery off=recognise {ONE}", Budget(timers=1)) == {"counted once": 10}
    assert broken(f"delivery {ONE}", Budget(timers=2)) == {}


def test_without_a_fault_every_promise_is_kept_alike():
    for promise in (MOST, LEAST, ""):
        assert broken(f"delivery {promise} {TWO}", Budget()) == {}


def test_a_request_that_is_lost_and_an_answer_that_is_lost_look_alike_to_the_shop():
    """All that it hears is the same; what the queue holds is not."""

    def run(lost):
        return scenario(f"# x\nsystem delivery {LEAST}\nrun shop: send 580538:31678\n{lost}")

    def heard(trace):
        return [fact.text for fact in trace if fact.node == "shop"]

    request, answer = run("lose shop→queue Publish#1"), run("lose shop→queue ⇒Publish#1")
    assert heard(request) == heard(answer)
    assert [len(trace.snapshot(-1).logs[0].cells) for trace in (request, answer)] == [1, 2]


def test_rewinding_counts_everything_after_the_older_place_again():
    story = "run shop: send 580538:31678, send 580539:31073\nrun accounting: seek 0"

    def books(line):
        last = scenario(f"# x\nsystem {line}\n{story}").snapshot(-1)
        return [cell.label for cell in last.logs[1].cells]

    assert books("delivery off=one_write") == ["580538", "580539"] * 2
    assert books("delivery") == ["580538", "580539"], "accounting knows its own position"


def test_the_picture_says_which_orders_are_lost_and_which_are_doubled():
    def last_of(line, broken):
        found = explore(system(line), FAULTS).counterexamples[broken]
        return replay(found.system, found.schedule).snapshot(-1)

    doubled = last_of(f"delivery {LEAST} {ONE}", "counted once")
    assert doubled.tables[0].rows == (("580538", "£316.78", "1×", "2×"),)
    assert (doubled.money.due, doubled.money.seen, doubled.money.extra) == (31678, 63356, 31678)
    lost = last_of(f"delivery {MOST} {ONE}", "none lost")
    assert lost.tables[0].rows == (("580538", "£316.78", "0×", "0×"),)
    assert (lost.money.seen, lost.money.missing) == (0, 31678)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("delivery commit=never", "commit=never: expected after or before"),
        ("delivery order.consume=count,pray", "no piece 'pray' in order.consume; there are: count"),
        ("delivery order.cook=count", "no step 'cook'"),
        ("delivery 'shop=send 580538'", "'send 580538' is no call; expected send NUMBER:PENCE"),
        ("delivery 'shop=send 580538:-5'", "is no call"),
        ("delivery 'accounting=seek back'", "'seek back' is no call; expected seek OFFSET"),
        ("delivery off=luck", "no safeguard 'luck'; there are: send_again, append_first"),
    ],
)
def test_a_mistake_is_told_with_what_there_is(line, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        system(line)


def test_a_system_line_reads_back_to_an_equal_system():
    for promise in (MOST, LEAST, "order.consume=both,commit patience_ms=20"):
        made = system(f"delivery {promise} {TWO}")
        assert system(made.line()) == made
