"""Each safeguard is necessary, and what real Kafka does not promise is shown.

The files in datasets/scenarios/kafka/counterexamples are what the searches found: renew them
with `python -m tests.lessons.kafka.renew`.
"""

import os
import subprocess
import sys

import pytest

from mqlab.cli import main
from mqlab.explore import Budget, explore
from mqlab.kafka import SAFEGUARDS
from mqlab.kafka.claims.invariants import CLAIMS
from mqlab.lessons.kafka.cases import CLAIM_CASES, SAFEGUARD_CASES
from mqlab.lessons.registry import SYSTEMS, system
from mqlab.lessons.searches import script, search, with_everything_on
from mqlab.scenario import load
from tests.lessons.kafka.renew import CASES, FOLDER, counts, path_of

every_case = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))


def test_every_safeguard_has_its_case():
    assert set(SAFEGUARD_CASES) == set(SAFEGUARDS)
    assert {path_of(case) for case in CASES.values()} == set(FOLDER.glob("*.scn"))


@every_case
def test_the_shortest_run_is_as_committed_and_its_light_is_red(case):
    assert script(case, search(case)) == path_of(case).read_text("utf-8")
    run = load(path_of(case), SYSTEMS).run
    assert case.broken in [light.name for light in run.snapshots[-1].lights if not light.ok]
    before = run.snapshots[0].lights
    assert all(light.ok for light in before)


@pytest.mark.parametrize("case", SAFEGUARD_CASES.values(), ids=list(SAFEGUARD_CASES))
def test_with_the_safeguard_on_the_same_search_ends_and_finds_nothing(case):
    verdict = with_everything_on(case)
    assert verdict.complete
    assert not verdict.counterexamples, verdict
    assert verdict.states == counts()[f"{case.name} on"]


@pytest.mark.parametrize("case", CLAIM_CASES.values(), ids=list(CLAIM_CASES))
def test_what_kafka_does_not_promise_breaks_with_everything_on(case):
    assert not case.off
    assert case.broken in {claim.name for claim in CLAIMS.values()}
    verdict = with_everything_on(case)
    assert verdict.complete
    assert case.broken in verdict.counterexamples


def test_the_table_is_printed_and_the_same_under_another_hash_seed():
    done = subprocess.run(
        [sys.executable, "-m", "mqlab", "explore", "kafka", "--safeguards"],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    head, _, *rows = done.stdout.splitlines()
    assert head.split() == ["missing", "anomaly", "broken", "choices"]
    assert len(rows) == len(CASES)
    for row, case in zip(rows, CASES.values(), strict=True):
        lines = path_of(case).read_text("utf-8").splitlines()
        choices = [s for s in lines if s.startswith("do ") and not s.startswith("do run ")]
        assert case.anomaly.en in row
        assert case.broken in row
        assert int(row.split()[-1]) == len(choices)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["kafka", "--claim", "peace"], "one of torn-read, late-end-txn, late-marker, power-cut"),
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


@pytest.mark.parametrize("version", [0, 2])
def test_a_late_record_of_a_legacy_client_does_not_land_in_its_next_transaction(version):
    """Its client gave up on it, aborted, and raised its own epoch (KIP-360)."""
    line = SAFEGUARD_CASES["verification"].line.replace("orders-1 b", "orders-0 b")
    line = line.replace("transaction_version=2", f"transaction_version={version}")
    claims = "claims=as_asked,decided_as_asked"
    verdict = explore(system(line.replace("claims=ends", claims)), Budget(timers=2))
    assert verdict.complete
    assert verdict.ok, verdict


def test_a_search_that_finds_nothing_says_so():
    case = SAFEGUARD_CASES["lso"]
    with pytest.raises(LookupError, match="“clean read” holds within complete within"):
        search(type(case)(case.name, case.title, case.anomaly, case.line, case.broken))
