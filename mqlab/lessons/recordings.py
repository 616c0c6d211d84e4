"""What real brokers answered, for a lesson that shows it beside its model."""

from __future__ import annotations

import json

from ..places import RECORDINGS
from ..registry.tables import table


def read_recording(folder: str, name: str, *words: str) -> str:
    """A recording's lines that hold one of `words`, or all of them where there are none. `folder`:
    a broker's version and a profile, as "kafka-4.3.1/tv2" or "rocketmq-5.5.0/5.5"."""
    path = RECORDINGS / folder / f"{name}.json"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in path.parent.glob("*.json")))
        raise ValueError(f"no recording {folder}/{name}; there are: {there}")
    seen = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        (who, question, answer)
        for who, _, question, answer in seen["observations"]
        if not words or any(word in f"{who} {question} {answer}" for word in words)
    ]
    return table(f"{seen['broker']}, {seen['profile']} | asked | answered", rows)
