"""The registry opens what somebody pastes: scenarios, tokens, system lines."""

from dataclasses import replace

import pytest

from mqlab.kernel import Play
from mqlab.registry import continue_scenario, open_run, system

TORN = """
system kafka partitions=2
run app: init, begin, send orders-0 a, send orders-1 b, commit
kill coordinator when=WriteTxnMarkers#1 after=1
"""


def test_a_play_begins_where_a_scenario_ends_and_its_token_reopens_it():
    play = continue_scenario(TORN)
    assert "killed: 1 of 2 markers had left" in play.trace.narrate()
    play.do("restart coordinator")
    assert open_run(play.token).trace.narrate() == play.trace.narrate()


def test_a_run_of_replicas_opens_from_its_token():
    """Their names hold an @, which once stood for a place in a queue too."""
    play = continue_scenario("system kafka partitions=1 replicas=2\nrun app: init, begin")
    again = open_run(play.token)
    assert any("coordinator@2" in choice for choice in again.choices)
    assert again.trace.facts == play.trace.facts


def test_what_is_no_token_is_refused():
    with pytest.raises(ValueError, match="not a token"):
        open_run("nonsense")


def test_a_token_of_another_engine_is_opened_with_a_warning(monkeypatch):
    play = continue_scenario(TORN)
    with monkeypatch.context() as then:
        then.setattr("mqlab.kernel.play.digest", lambda system: "0" * 12)
        made = play.token
    with pytest.warns(UserWarning, match="another version of the engine.*what it was then"):
        again = open_run(made)
    assert again.trace.narrate() == play.trace.narrate()


def test_a_token_of_a_run_with_a_learners_rule_is_opened_without_the_rule_and_says_so():
    def rule(firsts, hw):
        return hw

    token = Play(replace(system("kafka"), rules=(("lso", rule),))).token
    with pytest.warns(UserWarning, match="or with a function that it does not hold"):
        open_run(token)


def test_a_token_cannot_ask_for_a_million_partitions_either():
    with pytest.raises(ValueError, match="a picture has room for 100"):
        system("kafka partitions=1000000")
