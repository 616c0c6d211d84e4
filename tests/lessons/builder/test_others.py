"""What a learner builds: right files pass, wrong ones hear their own sentence with its run. What
a check round and pending acks may not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.kernel import Text
from mqlab.lessons.builder import closed
from mqlab.lessons.builder.checking import IT_WORKS, check_source, search_trial
from mqlab.lessons.builder.host import BuildError
from mqlab.lessons.builder.right import read_right
from mqlab.lessons.builder.whats import (
    CHECK_ROUND,
    COORDINATOR,
    PENDING_ACKS,
    WHATS,
    What,
    find_what,
)
from mqlab.lessons.course import judging
from mqlab.lessons.course.judging import WALLED
from tests.lessons.builder.mutants import EQUAL, mutate
from tests.lessons.builder.wrong import ACKS, LABS, ROUNDS, WRONG, Wrong, assert_chinese

OTHERS = (CHECK_ROUND, PENDING_ACKS)


def read(what: What, sitting: int) -> str:
    """Its right file of a part; the one to begin with, of part 0."""
    return read_right(LABS / what.name.replace("-", "_"), sitting)


MUTANTS = [(what, *one) for what in OTHERS for one in mutate(read(what, 2))]


@pytest.mark.spread("mqlab/lessons/builder", "tests/lessons/builder")
@pytest.mark.parametrize(
    ("what", "sitting"), [(what, sitting) for what in WHATS.values() for sitting in what.sittings]
)
def test_the_right_ones_pass_and_those_of_the_sitting_before_do_not(what: What, sitting: int):
    card = check_source(read(what, sitting), sitting)
    assert card.ok, card
    assert card.trials == len(what.list_trials(sitting)) and card.states > 500
    assert_chinese(card.message)
    assert not check_source(read(what, sitting - 1), sitting, alone=True).ok


@pytest.mark.spread("mqlab/lessons/builder", "tests/lessons/builder")
@pytest.mark.parametrize("wrong", [*WRONG, *ROUNDS, *ACKS], ids=lambda one: one.belief)
def test_a_wrong_one_hears_its_own_sentence(wrong: Wrong):
    source = wrong.source()
    what = find_what(source)
    (trial,) = (one for one in what.list_trials(wrong.sitting) if one.name == wrong.trial)
    with what.host(source) as host:
        card = search_trial(trial, host, what)
    assert not card.ok and wrong.says in card.message.en, card
    assert_chinese(card.message)
    # the run is there although its process has ended
    assert card.step == 0 or card.trace().facts[card.step - 1].text.en


@pytest.mark.spread("mqlab/lessons/builder", "tests/lessons/builder")
@pytest.mark.parametrize(
    ("what", "says", "source"), MUTANTS, ids=[f"{one[0].name} {one[1]}" for one in MUTANTS]
)
def test_a_mutant_is_refuted_unless_it_does_the_same(what: What, says: str, source: str):
    try:
        refuted = not check_source(source, 2, what).ok
    except BuildError:
        refuted = True
    assert refuted == ((f"{what.name} 2", says) not in EQUAL)


@pytest.mark.parametrize(
    ("what", "wrong"), [(COORDINATOR, WRONG[6]), (CHECK_ROUND, ROUNDS[0]), (PENDING_ACKS, ACKS[0])]
)
def test_what_breaks_is_a_light_of_its_run(what: What, wrong: Wrong):
    (trial,) = (one for one in what.list_trials(1) if one.name == wrong.trial)
    with what.host(wrong.source()) as host:
        card = search_trial(trial, host, what)
    lights = {light.name: light.ok for light in card.trace().snapshot(card.step).lights}
    assert not lights[card.light] and lights["runs"]


def test_no_points_for_a_coordinator_come_from_another_file():
    right = read(CHECK_ROUND, 1)
    assert check_source(right).ok and not IT_WORKS.check(right).ok


# --- what a file may do to others: nothing

ROUND_HARM = {
    "while True: pass": "is there a loop without an end?",
    "__import__('os')._exit(3)": "its process cannot be asked any more",
    "raise ValueError('no order')": "`check`: it raised ValueError (line",
    "return None": "one way through the function has no `return`",
    "return (), 0": "must return three values",
    "return ('a note',), 0, 0": "is no action",
    "return (Ask(7),), 0, 0": "names no half message of this round",
    "return (Ask('0'),), 0, 0": "`half` of Ask is '0', and must be int",
    "return (), 9, 0": "`half_offset` 9 is no place of this round",
    "return (), {}, 0": "is a dict, which no message holds",
    "import random; return (), random.random(), 0": "imports random",
    "s = globals(); s['n'] = s.get('n', 0) + 1; return (), s['n'], 0": "two different things",
}
ACK_HARM = {
    "raise ValueError('no order')": "`acknowledge`: it raised ValueError (line",
    "return {0: txn}": "is a dict, which no message holds",
    "return ()": "`held` is (), and must be a Map",
    "return Map([('0', txn)])": "maps positions to transactions",
    "return Map([(0, 't1')])": "is no transaction",
}


@pytest.mark.parametrize("line", ROUND_HARM)
def test_what_a_round_does_wrong_is_said_and_harms_nobody(line: str):
    place = "    ended = {"
    says = _judge(read(CHECK_ROUND, 0).replace(place, f"    {line}\n{place}", 1))
    assert ROUND_HARM[line] in says.en
    assert_chinese(says)


@pytest.mark.parametrize("line", ACK_HARM)
def test_what_pending_acks_do_wrong_is_said_and_harms_nobody(line: str):
    place = "    for message in messages:"
    says = _judge(read(PENDING_ACKS, 0).replace(place, f"    {line}\n{place}", 1))
    assert ACK_HARM[line] in says.en
    assert_chinese(says)


def _judge(source: str) -> Text:
    try:
        card = check_source(source)
    except BuildError as error:
        return error.args[0]
    assert not card.ok
    return card.message


def test_a_load_that_raises_is_told():
    source = read(PENDING_ACKS, 2)
    card = check_source(source.replace("    held, again = Map(), ()", "    held = [][0]"), 2)
    assert not card.ok and "`load`: it raised IndexError (line" in card.message.en, card


@pytest.mark.parametrize("what", OTHERS, ids=lambda what: what.name)
def test_a_file_without_a_function_is_none(what: What):
    function = what.host.needs[-1]
    source = read(what, 0).replace(f"def {function}(", "def other(")
    with pytest.raises(BuildError, match=f"has no function `{function}`"):
        check_source(source)
    with pytest.raises(BuildError, match="there is no part 3: name one of 1 to 2"):
        check_source(source, 3)


# --- the command


@pytest.mark.parametrize("name", WHATS)
def test_the_command_writes_and_checks_each(name: str, tmp_path: Path, capsys):
    mine = tmp_path / "mine.py"
    assert main(["build", "new", "--what", name, str(mine)]) == 0
    assert find_what(mine.read_text("utf-8")) is WHATS[name]
    assert f"mqlab build check {mine}" in capsys.readouterr().out
    assert main(["build", "check", str(mine)]) == 1
    assert "the counterexample" in capsys.readouterr().out
    assert "<html" in mine.with_suffix(".html").read_text("utf-8")


@pytest.mark.parametrize(("walls", "landlock"), [((), 0), (WALLED[0], -1), ((), 1)])
def test_where_nothing_is_walled_in_one_line_says_so(
    walls, landlock, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(judging, "find_sandbox", lambda: walls)
    monkeypatch.setattr(closed, "ask_version", lambda: landlock)
    mine = tmp_path / "mine.py"
    mine.write_text("no python", "utf-8")
    assert main(["build", "check", str(mine)]) == 2
    said = capsys.readouterr().err
    assert ("the file can read and write what you can" in said) is (not walls and landlock <= 0)
