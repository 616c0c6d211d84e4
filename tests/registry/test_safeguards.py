"""Each safeguard is necessary, and what a real broker does not promise is shown.

The files in datasets/scenarios/<broker>/counterexamples are what the searches found: renew them
with `python -m tests.registry.renew <broker>`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.explore import Search, explore
from mqlab.explore.shelf import Shelf
from mqlab.explore.symmetry import Unequal, explore_equal
from mqlab.kernel import Play
from mqlab.registry import SYSTEMS, continue_scenario, open_run, system
from mqlab.registry.searches import (
    exhaust,
    list_pairs,
    pairs,
    search,
    searches_of,
    with_everything_on,
)
from mqlab.scenario import load
from tests.models.both import find_same_search
from tests.registry.renew import BROKERS, counts, folder_of, path_of, small_of, write_case

SEARCHES = {broker: searches_of(broker) for broker in BROKERS}
spread = pytest.mark.spread("mqlab/kernel", "mqlab/explore")


def test_a_broker_that_is_searched_has_small_searches_too():
    assert tuple(SEARCHES) == tuple(list_brokers("searches"))
    with pytest.raises(LookupError, match=r"no tests/registry/pigeons/small.py with SMALL"):
        small_of("pigeons")


def every(kind):
    """Each search of a kind, with its broker."""
    found = [(broker, s) for broker, all_of in SEARCHES.items() for s in kind(all_of)]
    names = [f"{broker}: {one.name}" for broker, one in found]
    return pytest.mark.parametrize(("broker", "case"), found, ids=names)


@pytest.mark.parametrize("broker", BROKERS)
def test_every_safeguard_has_its_case(broker):
    searches = SEARCHES[broker]
    lessons = searches.models.values() or (searches.lesson,)
    known = [name for lesson in lessons for name in system(lesson.line).safeguards()]
    assert sorted(searches.safeguards) == sorted(known), "and each belongs to one of them"
    assert all(case.off == name == case.name for name, case in searches.safeguards.items())
    paths = {path_of(broker, case) for case in searches.cases}
    assert paths == set(folder_of(broker).glob("*.scn"))


@every(lambda searches: searches.cases)
def test_the_shortest_run_is_as_committed_and_its_light_is_red(broker, case):
    path = path_of(broker, case)
    assert write_case(path, case) == path.read_text("utf-8")
    run = load(path, SYSTEMS).run
    assert case.broken in [light.name for light in run.snapshots[-1].lights if not light.ok]
    before = run.snapshots[0].lights
    assert all(light.ok for light in before)


@every(lambda searches: searches.safeguards.values())
def test_with_the_safeguard_on_the_same_search_ends_and_finds_nothing(broker, case):
    verdict = with_everything_on(case)
    assert verdict.complete
    assert not verdict.counterexamples, verdict
    assert verdict.states == counts(broker)[f"{case.name} on"]


def test_pairs_tell_what_breaks_only_without_both(monkeypatch):
    """Three safeguards of Kafka; what is found without them is made up here."""
    kafka = SEARCHES["kafka"]
    few = {name: kafka.safeguards[name] for name in ("lso", "aborted_index", "sequence_check")}
    broken = {
        frozenset(["lso"]): {"clean read": 5},
        frozenset(["lso", "aborted_index"]): {"clean read": 4, "whole read": 7},
        frozenset(["lso", "sequence_check"]): {"clean read": 5},
    }

    def found(searched, budget, properties=None, progress=None):
        lengths = broken.get(frozenset(searched.off), {})
        examples = {name: SimpleNamespace(schedule=("x",) * n) for name, n in lengths.items()}
        return SimpleNamespace(counterexamples=examples)

    monkeypatch.setattr("mqlab.registry.searches.explore", found)
    assert list(list_pairs(replace(kafka, safeguards=few))) == [
        ("lso", "aborted_index", "whole read (7)"),
        ("lso", "sequence_check", ""),
        ("aborted_index", "sequence_check", ""),
    ]
    told = pairs(replace(kafka, safeguards=few))
    assert told.endswith("3 pairs searched; in 1 of them a claim breaks only when both are off")
    assert pairs(replace(kafka, safeguards={})).startswith("0 pairs")


def test_pairs_are_of_one_system_and_are_really_searched():
    few = {name: SEARCHES["patterns"].safeguards[name] for name in ("alignment", "offsets_first")}
    assert list(list_pairs(replace(SEARCHES["patterns"], safeguards=few))) == []
    kafka = SEARCHES["kafka"]
    few = {name: kafka.safeguards[name] for name in ("lso", "aborted_index")}
    assert list(list_pairs(replace(kafka, safeguards=few))) == [("lso", "aborted_index", "")]


@every(lambda searches: searches.claims.values())
def test_what_a_broker_does_not_promise_breaks_with_everything_on(broker, case):
    assert not case.off
    named = system(case.line).claims
    assert case.broken.replace(" ", "_") in named, "a light of its own shows it"
    verdict = with_everything_on(case)
    assert verdict.complete
    assert case.broken in verdict.counterexamples


@pytest.mark.parametrize("broker", BROKERS)
def test_the_table_is_printed_and_the_same_under_another_hash_seed(broker):
    done = subprocess.run(
        [sys.executable, "-m", "mqlab", "explore", broker, "--safeguards"],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    head, _, *rows = done.stdout.splitlines()
    assert head.split() == ["missing", "anomaly", "broken", "choices"]
    cases = SEARCHES[broker].cases
    assert len(rows) == len(cases)
    for row, case in zip(rows, cases, strict=True):
        lines = path_of(broker, case).read_text("utf-8").splitlines()
        choices = [s for s in lines if s.startswith("do ") and not s.startswith("do run ")]
        assert case.anomaly.en in row
        assert case.broken in row
        assert int(row.split()[-1]) == len(choices)


@pytest.mark.parametrize(
    ("broker", "searched"),
    [(broker, one) for broker in BROKERS for one in small_of(broker)],
    ids=lambda given: getattr(given, "name", given),
)
def test_with_every_safeguard_on_a_small_search_ends_and_finds_nothing(broker, searched):
    verdict = exhaust(searched)
    assert verdict.complete
    assert verdict.ok, verdict
    assert verdict.states == counts(broker)[searched.name]


@pytest.mark.parametrize("broker", BROKERS)
def test_every_lesson_system_but_the_whole_has_its_count(broker):
    """The whole is what one would like to search in one go, and does not fit."""
    known, systems = counts(broker), SEARCHES[broker].systems
    uncounted = [searched.name for searched in systems if searched.name not in known]
    assert len(uncounted) <= 1
    assert all(known[s.name] <= 1_000_000 for s in systems if s.name in known)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["kafka", "--claim", "peace"], "there are: torn-read, late-end-txn, late-marker"),
        (["rocketmq", "--claim", "peace"], "there are: late-end, op-lost, rollback-then-commit"),
        (["shop", "--table"], "mqlab explore kafka"),
        (["shop", "--claim", "torn-read"], "needs the name of a broker"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_write(words, says, capsys):
    assert main(["explore", *words]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_a_claim_is_shown_by_its_shortest_run(capsys):
    assert main(["explore", "kafka", "--claim", "late-end-txn"]) == 1
    said = capsys.readouterr().out
    assert "violated: decided as asked, in 30 choices" in said
    assert "shortest counterexample to “decided as asked”" in said


def test_a_search_that_finds_nothing_says_so():
    case = SEARCHES["kafka"].safeguards["lso"]
    with pytest.raises(LookupError, match="“clean read” holds within complete within"):
        search(type(case)(case.name, case.title, case.anomaly, case.line, case.broken))


# ---- The registry opens what somebody pastes: scenarios, tokens, system lines --------

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


# ---- Lesson systems that call nodes equal: searched with and without, the same is found

STATES = 20_000


def declared():
    """(line, budget) of each lesson system that says of some nodes that they are equal."""
    for name in list_brokers("searches"):
        found = searches_of(name)
        for one in (found.lesson, *found.systems, *found.models.values()):
            if len(system(one.line).symmetric) > 1:
                yield one.line, one.budget
        for case in found.cases:
            if len(system(case.system).symmetric) > 1:
                yield case.system, case.budget


def told(verdict):
    lengths = {name: len(one.schedule) for name, one in verdict.counterexamples.items()}
    return verdict.complete, lengths, verdict.missing


def test_both_tell_the_same_or_it_is_refused():
    compared = refused = 0
    for line, budget in dict.fromkeys(declared()):
        found, bounds = system(line), replace(budget, states=STATES)
        try:
            few = explore_equal(found, bounds)
        except Unequal as error:
            assert "are not interchangeable within these bounds" in str(
                error
            ) or "at the start" in str(error)
            refused += 1
            continue
        plain = explore(found, bounds)
        if plain.complete:
            assert told(few) == told(plain), line
            assert few.states < plain.states or few.states < 3
            compared += 1
    assert compared >= 4 and refused >= 1, (compared, refused)


def test_both_counts_are_printed(capsys):
    assert main(["explore", "two_phase_set", "managers=3", "--symmetry"]) == 0
    said = capsys.readouterr().out
    assert "rm0, rm1, rm2 equal:\ncomplete within 80 states" in said
    assert "each node by itself:\ncomplete within 288 states" in said
    assert "both tell the same" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["two_phase", "--symmetry"], "not interchangeable within these bounds: what tm does next"),
        (["kafka", "--symmetry"], "declares no interchangeable nodes"),
        (["two_phase_set", "--symmetry", "--spark", "local[2]"], "leave out --disk and --spark"),
    ],
)
def test_where_it_cannot_be_done_one_sentence_says_why(words, says, capsys):
    assert main(["explore", *words]) == 2
    assert says in capsys.readouterr().err


# ---- Every system of the lessons, searched world by world and by arrays: the same worlds

BOTH_SEARCHES_BROKERS = list_brokers("searches")
BOTH_SEARCHES_STATES = 300  # of each: where one search would leave the other, it does so early


def systems_of(name):
    """(line, budget) of everything that is searched of a broker, each once."""
    found = searches_of(name)
    plain = (found.lesson, *found.systems, *found.quick, *found.models.values())
    lines = [(one.line, one.budget) for one in plain]
    lines += [(line, case.budget) for case in found.cases for line in (case.line, case.system)]
    return list(dict.fromkeys(lines))


@spread
@pytest.mark.parametrize("name", BOTH_SEARCHES_BROKERS)
def test_both_searches_agree_on_every_system(name):
    every = systems_of(name)
    assert len(every) > 20
    for line, budget in every:
        find_same_search(system(line), replace(budget, states=BOTH_SEARCHES_STATES))


@pytest.mark.parametrize("name", BOTH_SEARCHES_BROKERS)
def test_both_searches_agree_on_a_large_one(name):
    lesson = searches_of(name).lesson
    find_same_search(system(lesson.line), replace(lesson.budget, states=12_000), many=5_000)


@spread
@pytest.mark.parametrize("name", BOTH_SEARCHES_BROKERS)
def test_on_disk_the_cases_come_out_as_in_memory(name, tmp_path):
    """Stopped after some levels, and gone on with."""
    for number, case in enumerate(searches_of(name).cases[:6]):
        found, folder = system(case.system), tmp_path / str(number)
        begun = Search(found, case.budget, shelf=Shelf(folder, found, case.budget))
        while begun.depth < 4 and begun.advance(0):
            pass
        again = explore(found, case.budget, shelf=Shelf(folder, found, case.budget))
        assert again == explore(found, case.budget)


# ---- What the lessons load at once, and what only when a system line names it --------


def test_a_lab_loads_only_the_systems_that_it_names() -> None:
    code = "import mqlab.lessons, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    elsewhere = {
        place.partition(":")[0]
        for broker in list_brokers().values()
        for name, place in broker.systems.items()
        if name not in ("kafka", "shop")
    }
    assert len(elsewhere) > 4
    assert not elsewhere & {*done.stdout.split()}


def test_every_name_is_that_of_a_system() -> None:
    assert {*list_brokers("serve")} < {*SYSTEMS} and len({*SYSTEMS}) == len(SYSTEMS)
    for name, kind in SYSTEMS.items():
        assert kind.from_options({}).line().partition(" ")[0] == name
