"""What holds for every classical model: texts in two languages, a sentence for every step,
known states, refusals in words.
"""

import re
from pathlib import Path

import pytest

from mqlab.brokers import find_broker
from mqlab.cli import main
from mqlab.explore import Budget, explore
from mqlab.kernel import Config, FactKind, Fired, Map, MemoryDisk, translate
from mqlab.patterns.saga.roles import Orchestrator, Saga
from mqlab.patterns.tcc import roles as tcc
from mqlab.patterns.two_phase import roles as two_phase
from mqlab.registry import SYSTEMS, scenario, system
from mqlab.registry.cases.patterns import SEARCHES
from tests.registry.renew import counts

NAMES = tuple(find_broker("patterns").systems)
FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios" / "patterns"
FILES = sorted(FOLDER.rglob("*.scn"))


@pytest.mark.parametrize(
    "line",
    ["two_phase 'app=commit T1; commit T1'", "three_phase 'app=commit T1; commit T1'",
     "tcc 'app=order T1; order T1'", "saga refuses=stock 'app=start T1; start T1'"],
)  # fmt: skip
def test_an_id_that_is_used_again_contradicts_nothing(line):
    """Not even where its client is killed and calls once more."""
    assert not [*explore(system(line), Budget(kills=1, killable=("app",))).counterexamples]


def test_every_model_has_a_lesson_and_a_story():
    assert set(SEARCHES.models) == set(NAMES)
    told = {path.read_text("utf-8").split("\nsystem ")[1].split()[0] for path in FILES}
    assert set(NAMES) - told <= {"two_phase_set"}, "the oracle is searched, not told"


def test_a_step_that_changes_nothing_has_no_sentence_of_one_that_does():
    """A barrier that waits for another says so; a record that nobody waits for does not."""
    facts = scenario("system barriers rows=1\nat 0\nfire jm checkpoint").facts
    waits = [fact for fact in facts if fact.why.en.startswith("Its records wait")]
    assert [str(fact.text) for fact in waits] == ["s1 waits for the other barrier"]
    assert any(fact.kind == FactKind.IDLE and not fact.why.en for fact in facts)


@pytest.mark.parametrize("name", NAMES)
def test_a_safeguard_or_claim_that_there_is_not_is_refused_with_the_known_ones(name):
    kind = SYSTEMS[name]
    with pytest.raises(ValueError, match=r"no safeguard 'gravity'; there (are: |is none)"):
        kind(off=("gravity",))
    with pytest.raises(ValueError, match=r"no claim 'peace'; there (are: |is none)"):
        kind(claims=("peace",))
    assert kind().title.zh
    assert all(text.zh for text in kind().safeguards().values())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "two_phase_set"])
def test_a_call_that_there_is_not_is_refused_with_what_to_write(name):
    with pytest.raises(
        ValueError, match=r"no call 'fly'; there are: |'fly away' is not a call; expected none"
    ):
        SYSTEMS[name]().call(("fly", "away"))


def test_a_model_is_searched_by_its_own_name_with_its_own_bounds(capsys):
    assert main(["explore", "tcc", "--off", "empty_cancel"]) == 1
    said = capsys.readouterr().out
    assert "system tcc off=empty_cancel 'app=order T1'" in said
    assert "violated: balanced, in 5 choices" in said
    assert main(["explore", "patterns", "--claim", "partition"]) == 1
    assert "violated: survives a partition, in 9 choices" in capsys.readouterr().out
    assert main(["explore", "two_phase_set"]) == 0
    assert "complete within 288 states" in capsys.readouterr().out


def test_the_oracle_has_exactly_the_known_numbers_of_states():
    """Three and five are searched in every test run (`tests/explore`), seven by `make bench`."""
    known = counts("patterns")
    assert [known[f"two_phase_set, {n}"] for n in (3, 5, 7)] == [288, 8_832, 296_448]


def test_every_case_is_about_a_system_of_these_models():
    for case in SEARCHES.cases:
        assert system(case.line).name in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_safeguard_says_what_is_true_without_it(name):
    model = SYSTEMS[name]()
    assert model.unguarded().keys() == model.safeguards().keys()
    for off, rows in model.unguarded().items():
        assert rows, off
        for usual, without in rows.items():
            assert usual in model.sentences.whys.values(), usual
            assert re.match(r"[^ A-Z].*\.$", without.en), without
            assert re.match(".*[一-鿿].*。$", translate(without.en)), without


def list_unguarded():
    """The runs of the models that lack a safeguard."""
    for path in FILES:
        run = scenario(path.read_text("utf-8"))
        lacking = system(run.system)
        if lacking.off:
            yield pytest.param(run, lacking, id=path.stem)


def test_every_safeguard_of_every_model_lacks_in_one_of_these_runs():
    runs = [param.values[1] for param in UNGUARDED]
    lacking = {(model.name, off) for model in runs for off in model.off}
    assert lacking == {(name, off) for name in NAMES for off in SYSTEMS[name]().safeguards()}


UNGUARDED = list(list_unguarded())


@pytest.mark.parametrize(("run", "lacking"), UNGUARDED)
def test_a_run_without_a_safeguard_claims_nothing_that_rests_on_it(run, lacking):
    said = [fact.why for fact in run if not fact.fold]
    for off in lacking.off:
        assert any(f"{off} is off" in why.en and f"{off} 已关闭" in why.zh for why in said)
        for usual in lacking.unguarded()[off]:
            assert not [why.en for why in said if usual.has_made(why)]


def test_an_order_without_its_message_is_not_said_to_have_one():
    assert "row-with-message" in [one.id for one in UNGUARDED]
    run = scenario((FOLDER / "counterexamples" / "row-with-message.scn").read_text("utf-8"))
    assert not any("together" in fact.why.en or "messages;" in fact.why.en for fact in run)


# ---- A coordinator whose memory is broken trips over it at its next step -------------

TWO = ("orders", "stock")


@pytest.mark.parametrize(
    ("role", "sound", "broken"),
    [
        (Orchestrator(Config(), TWO), Saga(at=1), Saga(at=2)),
        (Orchestrator(Config(), TWO), Saga(at=0, back=True), Saga(at=-1, back=True)),
        (tcc.Coordinator(Config(), TWO), tcc.Txn(("stock",)), tcc.Txn(())),
        (
            two_phase.Coordinator(Config(), TWO),
            two_phase.Txn(yes=("stock",)),
            two_phase.Txn(yes=TWO),
        ),
    ],
    ids=["beyond the last step", "before the first", "no answer is missing", "all have voted"],
)
def test_a_fault_in_its_memory_trips_a_coordinator(role, sound, broken):
    field = "sagas" if isinstance(role, Orchestrator) else "txns"
    tick = Fired("retry T9")
    type(role)(role.config, TWO, **{field: Map([("T1", sound)])}).step(tick, MemoryDisk())
    with pytest.raises(AssertionError, match="T1"):
        type(role)(role.config, TWO, **{field: Map([("T1", broken)])}).step(tick, MemoryDisk())
