"""`mqlab explore` as it is typed."""

import errno
import os
import re
import signal
import subprocess
import sys

import pytest

from mqlab.cli import main
from mqlab.cli.explore import add_arguments, choose_system
from mqlab.cli.searching import _progress
from mqlab.registry import open_run
from mqlab.registry.cases.kafka import BUDGET, SAFEGUARD_CASES, lesson_system
from mqlab.registry.searches import NOTHING_FOUND, Searched, Searches

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
    said = capsys.readouterr().out
    assert "never reached: commits" in said and "no timer may run out in this search" in said
    commit = "app=init; begin; send orders-0 a; commit"
    assert main(["explore", "kafka", "partitions=1", commit, "--breaks", "1"]) == 0
    said = capsys.readouterr().out
    assert "complete within" in said and "no timer" not in said
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

    monkeypatch.setattr("mqlab.cli.searching._progress", interrupt)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["explore", "kafka", "--kills", "2", "--breaks", "2", "--timers", "2"]) == 0
    assert "not exhaustive: " in capsys.readouterr().out


def test_progress_is_one_line_that_is_written_again(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
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
    from mqlab.registry.searches import searches_of

    assert searches_of("kafka").lesson.budget == BUDGET
    with pytest.raises(LookupError, match="no broker 'rabbit'; there are: kafka"):
        searches_of("rabbit")
    assert main(["explore", "rabbit"]) == 2
    assert "no system 'rabbit'; there are: " in capsys.readouterr().err
    assert main(["explore", "rabbit", "--safeguards"]) == 2
    assert "need the name of a broker alone (kafka, " in capsys.readouterr().err
    assert main(["explore", "kafka", "--claim", "all is well"]) == 2
    said = capsys.readouterr().err
    assert "no case 'all is well' of kafka --claim; there are: torn-read, " in said


QUICK = (
    Searched("kept", " ".join(["kafka", "partitions=1", "'app=init; begin; commit'"])),
    Searched("broken", f"kafka partitions=1 '{ONE[2]}' off=lso"),
    Searched("as it should be", "kafka partitions=1 'app=init; begin; send orders-0 a; commit'"),
)


@pytest.fixture
def small(monkeypatch):
    """A broker of which little is searched."""
    searches = Searches(QUICK[0], QUICK, {}, {}, quick=QUICK)
    monkeypatch.setattr("mqlab.cli.explore.searches_of", lambda name: searches)


@pytest.mark.parametrize("words", [["kafka"], ["kafka", "--table"]], ids=" ".join)
def test_a_violated_claim_among_several_systems_is_exit_code_1(words, small, capsys):
    assert main(["explore", *words]) == 1
    said = capsys.readouterr().out
    sought, _, told = said.partition("\nsystem ")
    assert (
        sought.startswith("looking for an execution that breaks one of ") and "LSO waits" in sought
    )
    head, _, kept, broken, *quiet, whole = f"system {told}".partition("\n\n")[0].splitlines()
    assert head.split()[:2] == ["system", "bounds"]
    assert kept.startswith("kept ") and kept.endswith(" commits, read back")
    assert broken.startswith("broken ") and "clean read" in broken
    assert re.fullmatch(
        r"searched \d+ states of 3 systems in \d+ s: a claim breaks in 1 of them", whole
    )
    if "--table" in words:
        assert quiet[0].startswith("as it should be ") and quiet[0].endswith(" nothing")
    else:  # one line for all that found nothing
        assert quiet == [str(NOTHING_FOUND), "  no faults, no timers: as it should be"]
    token = re.search(r"mqlab open (\S+)", said)[1]
    assert open_run(token).system.line() in said


def test_the_plain_form_obeys_its_bounds_and_writes_a_page(small, capsys, tmp_path):
    page = tmp_path / "found.html"
    assert main(["explore", "kafka", "--view", str(page), "--states", "5"]) == 0
    said = capsys.readouterr().out
    assert said.count("the bound was 5 states") == 3 and "no claim breaks so far" in said
    assert "no counterexample, so" in said
    assert main(["explore", "kafka", "--view", str(page)]) == 1
    assert page.is_file()


def test_the_plain_form_is_for_a_name_alone(small, capsys):
    assert main(["explore", "kafka", "--timers", "0", "--states", "10"]) == 0
    assert "of 3 systems" not in capsys.readouterr().out


def test_a_search_ends_before_the_memory_does(capsys):
    assert main(["explore", "kafka", "--kills", "2", "--memory", "1"]) == 0
    assert "it has taken 1 MB of memory" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--states=0", "'0': expected 1, 2, 3"),
        ("--memory=0", "'0': expected 1, 2, 3"),
        ("--kills=256", "'256': expected a number from 0 to 255"),
        ("--timers=²", "'²': expected a number from 0 to 255"),
    ],
)
def test_a_bad_number_is_bad_usage(option, says, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explore", "two_phase", option])
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_more_retries_than_a_search_can_count_is_one_sentence(monkeypatch, capsys):
    def count(*_, **__):
        raise OverflowError("a part of the world has more than 256 values")

    monkeypatch.setattr("mqlab.cli.explore.explore", count)
    assert main(["explore", "two_phase"]) == 2
    said = capsys.readouterr().err
    assert "more than 256 values: take a smaller system, or smaller bounds" in said


def test_safeguards_ask_for_their_anomalies(monkeypatch, capsys):
    def hide(*_, **__):
        raise LookupError("lso: “clean read” holds")

    monkeypatch.setattr("mqlab.cli.explore.table", hide)
    assert main(["explore", "kafka", "--safeguards"]) == 1
    assert "“clean read” holds" in capsys.readouterr().out


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_in_the_middle_it_goes_on_with_the_same_counts(how, tmp_path, capsys):
    folder = tmp_path / "search"
    words = [sys.executable, "-m", "mqlab", "explore", "two_phase_set managers=7"]
    with subprocess.Popen(
        [*words, "--disk", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        # a shell that starts tests in the background has SIGINT ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not list(folder.glob("0010.level")):
            assert process.poll() is None, process.stdout.read()
        process.send_signal(how)
        said = process.stdout.read()
    if how == signal.SIGINT:
        assert "it was interrupted" in said and f"--resume {folder}` continues the search" in said
    assert main(["explore", "--resume", str(folder)]) == 0
    assert "complete within 296,448 states, 8,068,224 transitions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["kafka", "--pairs"], "--pairs needs --safeguards"),
        (["kafka", "--safeguards", "--table"], "are two tables: give one of them"),
        (["--resume", "DIR"], "holds no search"),
        (["kafka", "--resume", "DIR"], "--resume reads system and bounds"),
        ([], "name what to search"),
    ],
)
def test_a_folder_and_a_system_are_not_mixed_up(words, says, tmp_path, capsys):
    assert main(["explore", *(str(tmp_path) if w == "DIR" else w for w in words)]) == 2
    assert says in capsys.readouterr().err


def test_a_disk_without_room_for_the_first_level_is_told(tmp_path, monkeypatch, capsys):
    def write(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mqlab.explore.shelf.write_list", write)
    folder = tmp_path / "search"
    assert main(["explore", *ONE, "--disk", str(folder)]) == 2
    assert f"{folder}: No space left on device" in capsys.readouterr().err


def test_a_swarm_tells_what_its_seeds_find(capsys):
    words = ["explore", "kafka", "partitions=1", ONE[2], "--swarm", "30"]
    assert main(words) == 0
    assert "30 random schedules, " in capsys.readouterr().out
    assert main([*words, "--off", "lso"]) == 1
    said = capsys.readouterr().out
    assert "a counterexample to “clean read”" in said
    token = re.search(r"mqlab open (\S+)", said)[1]
    lights = {g.name: g.ok for g in open_run(token).trace.snapshot(-1).lights}
    assert lights["clean read"] is False
    assert main([*words, "--disk", "anywhere"]) == 2


def test_without_numpy_a_search_on_disk_says_what_is_missing(tmp_path, monkeypatch, capsys):
    for name in ("shelf", "shelved", "levels", "rows"):
        monkeypatch.delitem(sys.modules, f"mqlab.explore.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert main(["explore", "two_phase_set", "--kills", "0", "--disk", str(tmp_path / "d")]) == 2
    assert "a search on disk needs the package numpy: run `make setup`" in capsys.readouterr().err
