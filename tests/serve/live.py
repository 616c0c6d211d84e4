"""The live trace of a running server, as a follower gets it."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from mqlab.kernel.trace import FORMAT, Trace
from mqlab.serve import RunningBroker


def asked(broker: RunningBroker, after: int = 0, last: int = 0) -> list[Any]:
    url = f"{broker.trace_url}/trace?after={after}&last={last}"
    with urllib.request.urlopen(url, timeout=600) as answer:
        return [json.loads(line) for line in answer]


def played(lines: list[Any]) -> Trace:
    """The lines as a trace; raises where they are none."""
    head, facts = lines[0], lines[1:]
    return Trace.from_json(
        {
            "format": FORMAT,
            "system": head["system"],
            "title": head["title"],
            "choices": [],
            "facts": [line["fact"] for line in facts],
            "start": head["snapshot"],
            "changes": [line["change"] for line in facts],
        }
    )


def list_texts(value: Any) -> list[str]:
    """All texts in a JSON value, however deep; `str(value)` would write out what is unseen."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in list_texts(one)]
