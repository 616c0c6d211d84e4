"""Each safeguard is necessary, and what a real broker does not promise is shown.

The files in datasets/scenarios/<broker>/counterexamples are what the searches found: renew them
with `python -m tests.registry.renew <broker>`.
"""

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.registry import SYSTEMS, system
from mqlab.registry.searches import (
    exhaust,
    list_pairs,
    pairs,
    search,
    searches_of,
    with_everything_on,
)
from mqlab.scenario import load
from tests.registry.renew import BROKERS, counts, folder_of, path_of, small_of, write_case

SEARCHES = {broker: searches_of(broker) for broker in BROKERS}


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
    assert told.endswith("3 pairs, of which 1 break a claim that neither breaks alone")
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
        (["shop", "--claim", "torn-read"], "expected `kafka --claim`"),
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
