"""Every step that a learner sees has one sentence why, in both languages: in each run that a lab
writes down, and in a long run of each lab's systems; of committed scenarios, see `test_goldens`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import mqlab.kernel.run
from mqlab.brokers import list_brokers
from mqlab.kernel import Fact, FactKind, Outcome, System, Text, Trace, simulate, translate
from mqlab.lessons.choice import RUNS
from mqlab.registry import SYSTEMS, run_scenario
from mqlab.registry.cases.prices import ORDER
from mqlab.registry.ways import MOMENTS, ROLES
from mqlab.scenario import load, parse_script, perform, system_of
from mqlab.scenario.language import Script

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "datasets" / "scenarios").rglob("*.scn"))
LABS = sorted((ROOT / "labs" / "source").glob("*.py"))
#: those that hold stories; 12, 14 and 15 play files, 13 what a learner's coordinator does
TELLING = [lab for lab in LABS if lab.stem[:2] not in ("12", "13", "14", "15", "16")]


def without_why(trace: Trace) -> list[str]:
    """The steps that are seen and do not say why in English and in Chinese, or say no more than
    that something was refused."""
    return [fact.line() for fact in trace if not (fact.fold or says_why(fact))]


def says_why(fact: Fact) -> bool:
    both = fact.why.en.endswith((".", "?")) and re.search("[一-鿿]", fact.why.zh)
    return bool(both) and not fact.why.en.startswith("Refused")


@cache
def scripts(lab: Path) -> list[Script]:
    """The scenarios that a lab's source writes down."""
    return list(_scripts(lab))


def _scripts(lab: Path) -> Iterator[Script]:
    tree = ast.parse(lab.read_text("utf-8"))
    parts = {id(part) for f in ast.walk(tree) if isinstance(f, ast.JoinedStr) for part in f.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            # not a template that the lab fills in
            if re.match(r"\s*(#.*\n)*system \w+", node.value) and "{" not in node.value:
                yield parse_script(node.value)


def test_every_visible_step_of_lab_12s_runs_says_why() -> None:
    """They are made of the committed stories, with a kill at each moment, and of the exercise's."""
    runs = [shown.play().trace for shown in RUNS.values()]
    for way in ORDER.values():
        for role in ROLES:
            runs += [run_scenario(way.kill_at(moment, role)).trace for moment in MOMENTS]
    assert [line for trace in runs for line in without_why(trace)] == []


@pytest.mark.parametrize("lab", TELLING, ids=[lab.stem for lab in TELLING])
def test_every_visible_step_of_a_labs_runs_says_why(lab: Path) -> None:
    written = scripts(lab)
    assert written, "a lab without a run"
    for script in written:
        run = perform(script, system_of(script.system, SYSTEMS))
        assert without_why(run.trace) == [], script.system


def systems() -> dict[str, System]:
    """A system of each name in the labs' runs, that with the longest line; `simulate` does not
    speak of copies ("orders-0@1")."""
    lines = {script.system for lab in LABS for script in scripts(lab)}
    lines = {line for line in lines if "replicas=" not in line}
    longest = {line.split()[0]: line for line in sorted(lines, key=lambda line: (len(line), line))}
    return {line: system_of(line, SYSTEMS) for line in longest.values()}


def stop_each(system: System) -> Trace:
    """Each node is killed and started again, and time goes on until timers have run out."""
    names = [spec.name for spec in system.nodes()]
    stops = [(50 + 20 * i, f"kill {name}") for i, name in enumerate(names)]
    starts = [(60 + 20 * i, f"restart {name}") for i, name in enumerate(names)]
    return simulate(system, 1, faults=stops + starts)


def test_kills_recoveries_and_timers_say_why_in_every_system_of_the_labs() -> None:
    kinds = set()
    for line, system in systems().items():
        trace = stop_each(system)
        kinds |= {str(fact.kind) for fact in trace if not fact.fold}
        assert without_why(trace) == [], line
    assert {"kill", "recovery"} <= kinds


# ---- whatever the narration says --------------------------------------------------------


def say_otherwise(patch: pytest.MonkeyPatch) -> None:
    """Every line says something else, and so does what a call has returned; what a fact is, its
    kind and body, stays."""
    tell = mqlab.kernel.run.new_fact

    def mute(kind: FactKind, node: str, text: Text, *given: Any, **named: Any) -> Fact:
        fact = tell(kind, node, Text("blah", "嘛"), *given, **named)
        body = fact.body
        return replace(fact, body=replace(body, detail="blah")) if type(body) is Outcome else fact

    patch.setattr(mqlab.kernel.run, "new_fact", mute)


def compare_whys(play: Callable[[], Trace]) -> int:
    """How many steps say why, and the same whatever their lines say."""
    usual = [(fact.kind, fact.why) for fact in play()]
    with pytest.MonkeyPatch.context() as patch:
        say_otherwise(patch)
        trace = play()
    assert {fact.text.en for fact in trace} <= {"blah"}
    assert [(fact.kind, fact.why) for fact in trace] == usual
    return sum(bool(why.en) for _, why in usual)


@pytest.mark.spread("mqlab/kernel", "mqlab/kafka", "mqlab/pulsar", "mqlab/rocketmq")
@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_no_why_of_a_scenario_depends_on_a_word(path: Path) -> None:
    assert compare_whys(lambda: run_scenario(path.read_text("utf-8")).trace)


def test_no_why_of_a_labs_systems_depends_on_a_word() -> None:
    for system in systems().values():
        assert compare_whys(partial(stop_each, system))


# ---- while a safeguard is off ----------------------------------------------------------

BROKERS = tuple(list_brokers("serve"))
UNGUARDED = [
    path
    for path in SCENARIOS
    if set(BROKERS) & set(path.parts) and re.search(r"^off ", path.read_text("utf-8"), re.M)
]


@pytest.mark.parametrize("broker", BROKERS)
def test_every_safeguard_says_what_is_true_without_it(broker: str) -> None:
    system = SYSTEMS[broker]()
    assert system.unguarded().keys() == system.safeguards().keys()
    for rows in system.unguarded().values():
        for without in rows.values():
            assert re.match(r"[a-zU].*\.$", without.en), without
            assert re.match(".*[一-鿿].*。$", translate(without.en)), without


@pytest.mark.parametrize("path", UNGUARDED, ids=[path.stem for path in UNGUARDED])
def test_a_run_without_a_safeguard_says_so_and_claims_nothing_that_rests_on_it(path: Path) -> None:
    run = load(path, SYSTEMS).run
    said = [fact.why for fact in run.trace if not fact.fold]
    for off in run.system.off:
        assert any(f"{off} is off" in why.en and f"{off} 已关闭" in why.zh for why in said)
        for usual in run.system.unguarded()[off]:
            assert not [why.en for why in said if usual.has_made(why)]
