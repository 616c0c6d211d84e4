"""A node that is started may be stopped again after any effect of its recovery; a schedule and
a play mean the same by it."""

import pytest

from mqlab.kernel import Play, Run, replay
from tests.kernel.toy import make_toy

TWO = make_toy("keep a", "keep b")
ONE_KEPT = ("call app", "app>store", "store.", "app<store")
STOPPED = (*ONE_KEPT, *ONE_KEPT, "kill store")  # it will send both copies again


def lines(trace):
    return [fact.line() for fact in trace]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("kill=0", "killed: 0 of 2 messages Copy had left"),
        ("kill=1", "killed: 1 of 2 messages Copy had left"),
        ("power=1", "power cut: 1 of 2 messages Copy had left"),
        ("kill=2", "killed: 2 of 2 messages Copy had left"),
    ],
)
def test_a_schedule_and_a_play_are_the_same_run(how, words):
    choices = (*STOPPED, f"restart store {how}")
    trace = replay(TWO, choices)
    play = Play(TWO, STOPPED)
    assert {option.choice: option.effects for option in play.options()}["restart store"] == 2
    play.do(choices[-1])
    assert lines(play.trace) == lines(trace)
    copies = ["store → mirror  copy a", "store → mirror  copy b"][: int(how[-1])]
    assert lines(trace)[len(replay(TWO, STOPPED)) :] == [
        "store ↻   safe up to 2",
        *copies,
        f"store ✗   {words}",
    ]


def test_what_left_before_the_stop_is_under_way_and_the_next_start_recovers_all():
    play = Play(TWO, (*STOPPED, "restart store kill=1"))
    assert "store>mirror#1" in {option.choice for option in play.options()}
    assert "store>mirror#2" not in {option.choice for option in play.options()}
    play.do("restart store")
    assert lines(play.trace)[-2:] == ["store → mirror  copy a", "store → mirror  copy b"]


@pytest.mark.parametrize(("how", "safe"), [("kill", 2), ("power", 0)])
def test_a_log_that_was_not_flushed_survives_the_process_and_not_the_power(how, safe):
    trace = replay(TWO, (*STOPPED[:-1], f"{how} store", "restart store"))
    assert f"store ↻   safe up to {safe}" in lines(trace)


@pytest.mark.parametrize(
    ("last", "copies"),
    [
        (("store>mirror kill=1",), {"a": 0}),  # written, and the process is gone
        (("store>mirror power=1",), {}),  # written and not flushed
        (("store>mirror", "power mirror"), {"a": 0}),
    ],
)
def test_what_was_flushed_survives_a_power_cut(last, copies):
    run = Run(TWO)
    for choice in (*ONE_KEPT, *last):
        run.do(choice)
    assert dict(run.world.disk("mirror").table("copies").items()) == copies
