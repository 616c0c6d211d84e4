"""A node that is started may be stopped again after any effect of its recovery; a schedule,
a play and a scenario mean the same by it."""

import pytest

from mqlab.kernel import Play, replay
from mqlab.lessons.registry import scenario, system
from mqlab.scenario.language import ScenarioError, parse_script

STORY = """# Stopped while it recovers.
system kafka partitions=2
run app: init, begin, send orders-0 a, send orders-1 b, commit
kill tc when=WriteTxnMarkers#1 after=1
{restart}
"""


def again(how):
    return scenario(STORY.format(restart=f"restart tc {how}".rstrip()))


def down(trace):
    """The last fact of the coordinator's second stop."""
    return [f.line() for f in trace.facts if f.node == "tc" and f.glyph == "✗"][-1]


@pytest.mark.parametrize("how", ["kill=1", "power=1", "kill=2"])
def test_a_scenario_its_schedule_and_a_play_are_the_same_run(how):
    told = again(how)
    assert f"restart tc {how}" in told.choices
    line = "kafka partitions=2"
    assert [f.line() for f in replay(system(line), told.choices).facts] == [
        f.line() for f in told.facts
    ]
    play = Play(system(line), told.choices[:-1])
    choices = {option.choice: option for option in play.options()}
    effects = choices["restart tc"].effects
    assert effects >= 2
    play.do(f"restart tc {how}")
    assert [f.line() for f in play.trace.facts] == [f.line() for f in told.facts]
    words = "power cut" if how.startswith("power") else "killed"
    assert f"{words} ({how[-1]} of {effects} effects done)" in down(told)


def test_an_armed_kill_strikes_inside_a_recovery_too():
    told = scenario(STORY.format(restart="kill tc when=SendMarkers#2 after=1\nrestart tc"))
    assert told.choices[-1] == "restart tc kill=1"
    assert "killed (1 of" in down(told)


def test_a_stop_inside_a_recovery_that_cannot_be_read_is_refused():
    with pytest.raises(ScenarioError, match="restart NODE kill=K"):
        parse_script(STORY.format(restart="restart tc when=3"))
