"""A narration is for people: what judges, explains or draws a run asks its facts' kind and body."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mqlab.kernel import Text, Trace
from mqlab.registry import run_scenario, with_evidence
from tests.project.sources import ROOT, modules, relative

#: a fact's words, in one language or as its line
WORDS = re.compile(r"\.text\.(en|zh|of)\b|\bfact\.line\(|\bf\.line\(")
#: whether a word stands there decides something
DECIDES = re.compile(
    r"\.text\.(en|zh)\.(startswith|endswith|find|index|count)\("
    r"|\bin \w+\.(text\.(en|zh)|line\(\))|\.(search|match|fullmatch|findall)\([^)]*\.text\b"
)
#: who writes a lab or a page names a step by words of its line; a server's row is known only so
BY_WORDS = ("mqlab.lessons.steps", "mqlab.registry.tables", "mqlab_widgets.held_requests")
PACKAGES = re.compile(
    r"^mqlab\.lessons\.\w+\.exercises\b|^mqlab\.lessons\.(against_runs|check|parsons|stories)$"
    r"|^mqlab\.\w+\.(picture|claims)\b|^mqlab\.patterns\.\w+\.(picture|claims)$"
    r"|^mqlab\.real\.(\w+\.)?evidence$|^mqlab\.serve\.(\w+\.)?trace\b"
    r"|^mqlab\.kernel\.(?!trace$)"  # which print a line, and hash it
)
JUDGES = {name: path for name, path in modules().items() if PACKAGES.search(name)}
STORIES = (
    "kafka/basic-abort.scn",
    "kafka/fenced-zombie.scn",
    "rocketmq/commit.scn",
    "rocketmq/never-resolved.scn",
    "pulsar/abort.scn",
    "pulsar/consume-process-produce.scn",
)


def test_no_judge_reads_a_narration() -> None:
    assert len(JUDGES) > 50
    wrong = [
        f"{relative(path)}:{number}: {line.strip()}: ask the fact's kind and body"
        for path in JUDGES.values()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if WORDS.search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_decided_by_a_narration() -> None:
    wrong = [
        f"{relative(path)}:{number}: {line.strip()}: ask the fact's kind and body"
        for name, path in modules().items()
        if name not in BY_WORDS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if DECIDES.search(line)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        'if "owes" in fact.text.en:',
        "words in fact.line()",
        'fact.text.en.startswith("HW=")',
        "GOT.search(f.text.en)",
        "re.search(what, fact.text.zh)",
    ],
)
def test_the_rules_themselves(line: str) -> None:
    assert WORDS.search(line) and DECIDES.search(line)


def evidence(trace: Trace, name: str) -> list[tuple[str, str]]:
    return [(fact.evidence.en, fact.why.en) for fact in with_evidence(trace, name)]


@pytest.mark.parametrize("story", STORIES)
def test_evidence_does_not_depend_on_a_word(story: str) -> None:
    path = Path(ROOT / "datasets" / "scenarios" / story)
    trace = run_scenario(path.read_text("utf-8")).trace
    facts = tuple(replace(fact, text=Text("blah", "嘛")) for fact in trace)
    usual = evidence(trace, path.stem)
    assert {said for said, _ in usual} > {"model"}, "there is evidence to lose"
    assert evidence(replace(trace, facts=facts), path.stem) == usual
