"""One order, four ways: the stories have one clock, and a kill in a stage comes out right."""

from __future__ import annotations

import pytest

from mqlab.cli import main
from mqlab.places import SCENARIOS
from mqlab.registry import SYSTEMS, run_scenario
from mqlab.registry.cases.prices import BULK, ORDER
from mqlab.registry.matrix import WAYS
from mqlab.registry.prices import Formula, Price, count_bulk, count_prices
from mqlab.registry.ways import MOMENTS, ROLES, STAGES, UNSENT, kill_each
from mqlab.scenario import load

#: the record that decides, as the narration has it
DECIDED = {
    "kafka": "PrepareCommit {",
    "rocketmq": "orders[T1] = paid",
    "pulsar": "COMMITTING (0,0)",
    "outbox": "ordered T1",
}


def test_the_ways_are_those_of_the_matrix():
    assert tuple(ORDER) == WAYS


@pytest.mark.parametrize("name", WAYS)
def test_a_story_has_a_block_for_each_stage_and_nothing_waits_in_vain(name):
    golden = load(SCENARIOS / f"{ORDER[name].story}.scn", SYSTEMS)
    _first, *blocks = golden.blocks
    assert [b.source.split(":")[0].lstrip("# ").lower() for b in blocks] == list(STAGES)
    assert golden.done.idle == ()
    silent = [stage for stage, told in zip(STAGES, golden.narrations[1:], strict=True) if not told]
    assert silent == (["write"] if name == "outbox" else []), "both rows are one local commit"
    assert ORDER[name].count_got(golden.run.trace, len(golden.run.trace)) == 1


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", WAYS)
def test_a_kill_between_decision_and_publication_loses_and_doubles_nothing(name, role):
    way = ORDER[name]
    killed = run_scenario(way.kill_in(3, role)).trace
    facts = [one for one in killed if one.kind == "kill"]
    assert [one.node for one in facts] == [getattr(way, role).node]
    assert way.count_got(killed, len(killed)) == 1


def test_an_undecided_order_is_written_again_and_a_decided_one_is_not():
    way = ORDER["kafka"]
    labels = []
    for stage in (2, 3):
        trace = run_scenario(way.kill_in(stage)).trace
        (log,) = (one for one in trace.snapshot(len(trace)).logs if one.name == "orders-0")
        labels.append([one.label for one in log.cells])
        assert way.count_got(trace, len(trace)) == 1
    assert labels == [["T1", "A", "T1", "C"], ["T1", "C"]]


@pytest.mark.parametrize(
    ("role", "waits"), [("coordinator", WAYS), ("sender", ("rocketmq", "outbox"))]
)
def test_decided_and_unsent_waits_until_somebody_takes_over(role, waits):
    """The decision is in a log, nothing of it is on its way, and the order comes all the same."""
    for name, way in ORDER.items():
        told = {one.moment: one for one in kill_each(way, role)}
        assert (told[UNSENT].dead, told[UNSENT].end) == (0 if name in waits else 1, 1), name
        facts = list(run_scenario(way.kill_at(UNSENT, role)).trace)
        killed = next(one for one in facts if one.kind == "kill")
        before = [str(one.text.en) for one in facts[: killed.index]]
        assert any(DECIDED[name] in line for line in before), "the decision is in a log"
        if role == "coordinator" and name in ("kafka", "pulsar"):
            assert "0 of 3" in killed.text.en


def test_pulsars_caller_hears_an_error_although_the_order_is_there():
    told = {one.moment: str(one) for one in kill_each(ORDER["pulsar"], "coordinator")}
    assert told["write"] == "0 → 1, ok"
    assert told["publish the decision"] == "1 → 1, failed TransactionNotFoundException"


@pytest.mark.parametrize(("stage", "role"), [(0, "sender"), (7, "sender"), (1, "reader")])
def test_another_stage_or_role_is_refused(stage, role):
    with pytest.raises(ValueError, match="expected sender or coordinator, stage 1 to 6"):
        ORDER["kafka"].kill_in(stage, role)


def test_the_command_prints_stage_by_way(capsys, monkeypatch):
    monkeypatch.setattr("mqlab.cli.matrix.ORDER", {"outbox": ORDER["outbox"]})
    assert main(["matrix", "--kills", "coordinator"]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "outbox" and len(rows) == len(MOMENTS) == 7
    assert rows[3].split() == ["decide", "0", "→", "1,", "ok"]


def test_a_price_is_counted_until_the_client_is_told_and_until_all_is_forgotten():
    """An order by way of an outbox: order, ok and the row on its way; one write, flushed."""
    prices = count_prices(ORDER["outbox"])
    assert prices["the client is told"] == Price(messages=3, writes=1, flushes=1)
    assert prices["forgotten"] > prices["consumers have it"] > prices["the client is told"]
    kafka = count_prices(ORDER["kafka"])
    # per partition a write and its reservation, answered; EndTxn, its answer, a self-send
    assert kafka["the client is told"].messages == 3 * 4 + 2 + 1
    assert kafka["the client is told"].writes == 3 + 3 + 1
    assert kafka["forgotten"].writes == 3 + 3 + 1 + 3 + 1


@pytest.mark.parametrize("name", WAYS)
def test_a_formula_gives_what_is_counted(name):
    """Each partition gets an order at least, so m is not less than n."""
    bulk = BULK[name]
    for n, m in ((1, 1), (1, 4), (2, 2), (2, 5), (3, 3), (3, 7)):
        counted = count_bulk(bulk, n, m)
        assert set(counted) == {"told", "seen", "forgotten"}
        for moment, price in counted.items():
            formulas = getattr(bulk, moment)
            assert price == Price(*(one.at(n, m) for one in formulas)), (n, m, moment)


def test_a_formula_is_written_as_one_reads_it():
    told = [str(Formula(*one)) for one in ((3, 2, 1), (-9, 0, 12), (0, 1, 1), (0, 0, 0))]
    assert told == ["m + 2n + 3", "12m − 9", "m + n", "0"]


def test_the_command_prints_counts_and_formulas(capsys):
    assert main(["matrix", "--prices"]) == 0
    one, _, bulk = capsys.readouterr().out.partition("\n\n")
    assert "kafka" in one.split() and len(one.splitlines()) == 2 + len(WAYS)
    told = next(line for line in bulk.splitlines() if line.startswith("told       kafka"))
    assert " ".join(told.split()) == "told kafka 2m + 2n + 3 m + n + 1 0 13 / 6 / 0"
