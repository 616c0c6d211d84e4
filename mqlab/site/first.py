"""The picture of the first page, cut from runs of the engine: a few steps of each, in few words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..kernel import Snapshot, Trace, pick, spoken, tr
from ..registry import scenario

MOST_WORDS = 6
"""Of a caption in English: it is read while the picture moves."""
DIES = tr("dies")

Step = dict[str, Any]


def cut_first(source: Path) -> dict[str, Any]:
    """The picture as data: {"nodes": [[name, title], …], "kills": [{"name", "chosen", "steps":
    [{"caption", "note", "marks", "visible", "way"}, …]}, …]}. `marks`: what a step adds to the
    drawing; `visible`: the log of each record that a read_committed reader gets; `way`: pence
    that have left one account and not reached the other. In the language that is spoken. Raises
    ValueError for a caption that is too long, and for a step that no run takes."""
    story = pick(tomllib.loads(source.read_text("utf-8")), domain="labs")
    for one in (*story["steps"], *story["kills"]):
        if spoken() == "en" and len(one.get("caption", "").split()) > MOST_WORDS:
            raise ValueError(f"“{one['caption']}” has more than {MOST_WORDS} words")
    taken: set[str] = set()
    kills = []
    for kill in story["kills"]:
        run = kill["run"].format(pay=story["pay"], commit=story["commit"])
        trace = scenario(f"# {kill['name']}\nsystem {story['system']}\n{run}\n")
        steps = _cut(trace, story["steps"], kill, taken)
        kills.append({"name": kill["name"], "chosen": kill.get("chosen", False), "steps": steps})
    if never := [step["fact"] for step in story["steps"] if step["fact"] not in taken]:
        raise ValueError(f"no run has a fact like “{never[0]}”")
    return {"nodes": [[node["at"], node["title"]] for node in story["nodes"]], "kills": kills}


def _cut(
    trace: Trace, signs: list[Mapping[str, Any]], kill: Mapping[str, Any], taken: set[str]
) -> list[Step]:
    """The steps of one run, each the first fact that looks like its sign. A fact whose sign has no
    caption is drawn with the step before."""
    seen: set[str] = set()
    steps: list[Step] = []
    for fact, snapshot in zip(trace.facts, trace.snapshots[1:], strict=True):
        line = fact.line("en")
        if line.startswith("coordinator ✗"):
            mark = {"kind": "dies", "at": "coordinator", "words": str(DIES)}
            steps.append(_step(kill, [mark], snapshot))
            continue
        sign = next((one for one in signs if line.startswith(one["fact"])), None)
        if sign is not None and sign["fact"] not in seen:
            seen.add(sign["fact"])
            kind = "box" if "at" in sign else "answer" if sign.get("answer") else "arrow"
            mark = {key: sign[key] for key in ("at", "from", "to", "words") if key in sign}
            texts = sign if "caption" in sign else steps.pop()
            steps.append(_step(texts, [*texts.get("marks", ()), {"kind": kind, **mark}], snapshot))
    taken |= seen
    return steps


def _step(texts: Mapping[str, Any], marks: list[dict[str, str]], snapshot: Snapshot) -> Step:
    reader = next(one for one in snapshot.readers if one.name == "read_committed")
    money = snapshot.money
    return {
        "caption": texts["caption"],
        "note": texts["note"],
        "marks": marks,
        "visible": sorted({got.log for got in reader.got}),
        "way": money.due - money.seen if money else 0,
    }
