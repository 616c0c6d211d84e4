"""`mqlab explore` as it is typed."""

import os
import re
import subprocess
import sys

import pytest

from mqlab.cli import main
from mqlab.cli.explore import _progress, add_arguments, choose_system
from mqlab.lessons.kafka.cases import BUDGET, SAFEGUARD_CASES, lesson_system
from mqlab.lessons.registry import open_run

ONE = ["kafka", "partitions=1", "app=init; begin; send orders-0 a; abort"]


def asked(*words):
    from argparse import ArgumentParser

    parser = ArgumentParser()
    add_arguments(parser)
    return choose_system(parser.parse_args(words))


def test_a_bare_kafka_is_the_lesson_system_with_its_own_bounds():
    assert asked("kafka") == (lesson_system(), BUDGET)
    line, bounds = asked("kafka", "--kills", "1", "--killable", "coordinator,app")
    assert line == lesson_system()
    assert (bounds.kills, bounds.timers, bounds.killable) == (1, 0, ("coordinator", "app"))


def test_without_one_safeguard_it_is_the_smallest_system_that_needs_it():
    case = SAFEGUARD_CASES["lso"]
    assert asked("kafka", "--off", "lso") == (f"{case.line} off=lso", case.budget)
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
    token = re.search(r"mqlab open (\S+)", said)[1]
    lights = {g.name: g.ok for g in open_run(token).trace.snapshot(-1).lights}
    assert lights["clean read"] is False


def test_an_interrupt_ends_the_search_and_what_was_found_is_told(capsys, monkeypatch):
    def interrupt():
        def tell(states, depth):
            raise KeyboardInterrupt

        return tell

    monkeypatch.setattr("mqlab.cli.explore._progress", interrupt)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["explore", "kafka", "--kills", "2", "--breaks", "2", "--timers", "2"]) == 0
    assert "not exhaustive: " in capsys.readouterr().out


def test_progress_is_one_line_that_is_written_again(capsys):
    tell = _progress()
    tell(1_000, 3)
    tell(123_456, 17)
    said = capsys.readouterr().err
    assert "123,456 states, depth 17" in said
    assert "\n" not in said


def test_the_same_is_found_under_any_hash_seed():
    def told(seed):
        words = [*ONE[:2], "app=init; begin; send orders-0 a; commit", "--off", "lso"]
        command = [sys.executable, "-m", "mqlab", "explore", *words, "--breaks", "1"]
        env = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        return [line for line in done.stdout.splitlines() if not line.endswith("states/s")]

    assert told("1") == told("2")
    assert any("“clean read”" in line for line in told("1"))


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


def test_a_broker_is_found_by_its_name_and_an_unknown_one_names_those_there_are(capsys):
    from mqlab.lessons.searches import searches_of

    assert searches_of("kafka").lesson.budget == BUDGET
    with pytest.raises(LookupError, match="no broker 'rabbit'; there are: kafka"):
        searches_of("rabbit")
    assert main(["explore", "rabbit"]) == 2
    assert "no system 'rabbit'; there are: " in capsys.readouterr().err
    assert main(["explore", "rabbit", "--safeguards"]) == 2
    assert "belong to a broker's lesson (kafka, rocketmq): mqlab " in capsys.readouterr().err
    assert main(["explore", "kafka", "--claim", "all is well"]) == 2
    assert "`kafka --claim` with one of torn-read, " in capsys.readouterr().err
