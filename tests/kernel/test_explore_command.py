"""`mqlab explore` as it is typed."""

import re

import pytest

from mqlab.cli import main
from mqlab.cli.explore import add_arguments, chosen
from mqlab.kafka.lesson import BUDGET, SAFEGUARD_CASES, lesson_system
from mqlab.lessons.safeguards import budget
from mqlab.lessons.systems import open_run

ONE = ["kafka", "partitions=1", "app=init; begin; send orders-0 a; abort"]


def asked(*words):
    from argparse import ArgumentParser

    parser = ArgumentParser()
    add_arguments(parser)
    return chosen(parser.parse_args(words))


def test_a_bare_kafka_is_the_lesson_system_with_its_own_bounds():
    assert asked("kafka") == (lesson_system(), budget(BUDGET))
    line, bounds = asked("kafka", "--kills", "1", "--killable", "tc,app")
    assert line == lesson_system()
    assert (bounds.kills, bounds.timers, bounds.killable) == (1, 0, ("tc", "app"))


def test_without_one_safeguard_it_is_the_smallest_system_that_needs_it():
    case = SAFEGUARD_CASES["lso"]
    assert asked("kafka", "--off", "lso") == (f"{case.line} off=lso", budget(case.bounds))
    line, _ = asked("kafka", "--off", "lso", "--off", "verification")
    assert line == f"{lesson_system()} off=lso,verification"


def test_the_exit_code_says_whether_something_was_found(capsys, tmp_path):
    assert main(["explore", "kafka", "partitions=1", "app=init; begin; commit; flush"]) == 1
    assert "never reached: commits" in capsys.readouterr().out
    commit = "app=init; begin; send orders-0 a; commit"
    assert main(["explore", "kafka", "partitions=1", commit, "--breaks", "1"]) == 0
    said = capsys.readouterr().out
    assert "complete within" in said
    assert "(1 broken connection)" in said


def test_what_was_found_is_told_viewed_and_reopened(capsys, tmp_path):
    page = tmp_path / "found.html"
    assert main(["explore", *ONE, "--off", "lso", "--view", str(page)]) == 1
    said = capsys.readouterr().out
    assert "“clean read”" in said
    assert "clean read" in page.read_text("utf-8")
    token = re.search(r"as a token:\n(\S+)", said)[1]
    lights = {g.name: g.ok for g in open_run(token).trace.snapshot(-1).lights}
    assert lights["clean read"] is False


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*ONE, "--kills", "1", "--killable", "nobody"], "no node 'nobody'; there are: app"),
        ([*ONE, "--off", "lso", "--view", "found.txt"], "use a name ending in .svg or .html"),
    ],
)
def test_a_mistake_says_what_to_do(words, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", *words]) == 2
    assert says in capsys.readouterr().err
