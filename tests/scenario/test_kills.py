"""The places at which a node can be killed: each is a line that does kill there, in these words."""

import pytest

from mqlab.scenario import parse_script, perform, system_of
from mqlab.scenario.kills import find_kills
from tests.kernel.toy import Toy

STORY = "system toy\n{kill}\nrun app: keep a, keep b\n"


def run(kill=""):
    script = parse_script(STORY.format(kill=kill))
    return perform(script, system_of(script.system, {"toy": Toy}))


KILLS = find_kills(run())


def test_every_step_that_says_something_has_its_places():
    steps = {(kill.node, kill.step) for kill in KILLS}
    assert {("app", "Keep#1"), ("app", "Keep#2"), ("store", "⇒Keep#2")} <= steps
    assert KILLS[0].text.en == "killed: Keep had not left"
    assert len(set(map(str, KILLS))) == len(KILLS)


@pytest.mark.parametrize("kill", KILLS, ids=str)
def test_the_line_kills_where_its_words_say(kill):
    (fact,) = [fact for fact in run(str(kill)).trace if fact.text.en.startswith("killed")]
    assert (fact.node, fact.text) == (kill.node, kill.text)


def test_nodes_can_be_named_and_must_be_there():
    assert {kill.node for kill in find_kills(run(), ["store"])} == {"store"}
    with pytest.raises(KeyError):
        find_kills(run(), ["nobody"])
