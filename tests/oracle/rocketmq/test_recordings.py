"""What real brokers answered: the files, and the engine beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.kernel import FactKind, Trace
from mqlab.recordings.recording import Recording, load_recordings
from mqlab.rocketmq import RocketMQSystem
from mqlab.rocketmq.evidence import VERSIONS
from mqlab.scenario import load
from tests.oracle.compare import Outcome, judge
from tests.oracle.program import JAVA
from tests.oracle.rocketmq.hosts import OurHost
from tests.oracle.rocketmq.oracle import ROCKETMQ
from tests.oracle.runner import run_all, select_programs

SCENARIOS = Path(__file__).parents[3] / "datasets" / "scenarios" / "rocketmq"
EXAMPLES = Path(__file__).parents[3] / "datasets" / "recordings" / "EXAMPLES-rocketmq.md"
RECORDED = {
    name: recording
    for version in VERSIONS.values()
    for name, recording in load_recordings(f"rocketmq-{version}").items()
}


def told(name: str, profile: str = "5.5") -> Recording:
    return RECORDED[f"{profile}/{name}"]


def held(name: str, place: str, profile: str = "5.5") -> list[str]:
    """The messages of a queue as they were pulled last, without their half."""
    rows = {o.asked: o.answered for o in told(name, profile).observations if o.to == place}
    return [text.partition(" of half")[0] for text in rows.values() if text != "nothing"]


def test_the_page_of_examples_lists_each_class_once_and_those_that_are_recorded_as_such() -> None:
    rows = [row.split("|") for row in EXAMPLES.read_text("utf-8").splitlines() if "|" in row]
    named = {row[2].strip(" `") for row in rows}
    listed = [name for row in rows for name in re.findall(r"`([a-z.]+\.[A-Z]\w+)`", row[1])]
    assert len(listed) == len(set(listed)) == 53
    recorded = {name for name in named if name.startswith("java-example")}
    here = {r.scenario for r in RECORDED.values() if r.scenario.startswith("java-example")}
    assert recorded == here
    speaking = {o.who for name in here for o in told(name).observations if "." in o.who}
    on_page = {c for row in rows for c in re.findall(r"`([\w.]+)`", row[1]) if "java-" in row[2]}
    assert speaking <= on_page


# ---- the engine's server beside them ----------------------------------------------------

EVERY = [
    (program, profile)
    for program, profile in select_programs(ROCKETMQ, without=(JAVA,))
    if not OurHost().cannot(program)
]


@pytest.fixture(scope="module")
def outcomes(asked: set[str]) -> dict[str, Outcome]:
    """The programs that need no Java, each run against our server once, as both releases."""
    chosen = [(one, profile) for one, profile in EVERY if f"{profile}/{one.name}" in asked]
    found = [
        judge(came, RECORDED, OurHost().listed) for came in run_all(ROCKETMQ, chosen, OurHost())
    ]
    return {outcome.name: outcome for outcome in found}


@pytest.mark.spread("mqlab/rocketmq", "mqlab/kernel", "mqlab/real", "mqlab/serve", by="name")
@pytest.mark.parametrize("name", [f"{profile}/{program.name}" for program, profile in EVERY])
def test_the_server_answers_as_the_real_broker_did(name: str, outcomes: dict[str, Outcome]) -> None:
    assert outcomes[name].verdict in ("equal", "listed"), outcomes[name].text()


# ---- the engine's scenarios beside them --------------------------------------------------


def narrated(name: str) -> Trace:
    return load(SCENARIOS / f"{name}.scn", {"rocketmq": RocketMQSystem}).run.trace


def appended(trace: Trace, kind: str) -> list[str]:
    """What the engine has written into the half, op or discard topic, or into real ones, without
    the name of the queue."""
    lines = [fact.text.en for fact in trace.facts if fact.kind is FactKind.APPEND]
    found = [line.partition(" in ")[0] for line in lines if line.startswith(f"{kind} ")]
    return sorted(found, key=lambda line: int(line.rpartition("@")[2]))


#: scenarios that tell the story of the program of their name step by step
ALIKE = (
    "commit", "rollback", "check-commits", "check-rolls-back", "never-resolved",
    "local-transaction-throws", "broker-killed-after-offsets", "broker-killed-before-offsets",
    "slave-timeout", "checker-null-then-throws", "committed-twice", "immunity-commit-in-time",
    "immunity-spends-the-checks",
)  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize(
    ("place", "kind"),
    [("half", "half"), ("op", "op"), ("discard", "discard"), ("orders-0", "message")],
)
def test_the_engine_writes_what_the_real_broker_wrote(name: str, place: str, kind: str) -> None:
    looked = [o for o in told(name).observations if o.to == place and o.asked.startswith("Pull")]
    if looked:
        assert appended(narrated(name), kind) == held(name, place)
