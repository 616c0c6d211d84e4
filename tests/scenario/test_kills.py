"""The places at which a node can be killed: each is a line that does kill there, in these words."""

import pytest

from mqlab.scenario import parse_script, perform, system_of
from mqlab.scenario.runner import find_kills
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


def test_an_answer_that_had_left_is_lost_or_arrives_as_the_line_says():
    killed = "kill store when=⇒Keep after=1"
    lost, arrives = run(killed), run(f"{killed} answers=app")
    (fact,) = [fact for fact in arrives.trace if fact.text.en.startswith("killed")]
    assert fact.text.en.endswith("; its answer to app still arrives")
    assert fact.text.zh.endswith("；给 app 的应答仍会到达")
    assert lost.world.nodes["app"].app.results == ()
    assert [str(one) for one in arrives.world.nodes["app"].app.results] == ["keep a: ok @0"]


def test_what_was_held_back_arrives_after_the_kill():
    text = (
        "system toy\nrun app: keep a\nhold app->store =>Keep\nkill store answers=app\n"
        "release app->store =>Keep\n"
    )
    told = perform(parse_script(text), system_of("toy", {"toy": Toy})).trace.narrate()
    assert told.index("killed") < told.index("keep a: ok @0")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("kill store answers=app", "to app is in flight; in flight are answers to: –"),
        ("kill store answers=", "answers=CLIENT"),
        ("power-cut store answers=nobody", "no answer from store to nobody"),
    ],
)  # fmt: skip
def test_where_there_is_no_answer_the_line_is_refused(line, says):
    with pytest.raises(ValueError, match=says):
        perform(parse_script(f"system toy\n{line}\n"), system_of("toy", {"toy": Toy}))


def test_nodes_can_be_named_and_must_be_there():
    assert {kill.node for kill in find_kills(run(), ["store"])} == {"store"}
    with pytest.raises(KeyError):
        find_kills(run(), ["nobody"])
