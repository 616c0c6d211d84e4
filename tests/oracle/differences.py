"""Reads `differences.txt` of a broker: sections, and in each what differs, with why below it.

A row of the section "differences" names a scenario and a question, then the fields of `Listed`.
"""

from __future__ import annotations

import re
from pathlib import Path

from mqlab.real.differences import Listed

Pairs = list[tuple[str, str]]


def read_sections(folder: Path) -> dict[str, Pairs]:
    """Name of a section → what its rows are about, and the text below, in one line."""
    text = (folder / "differences.txt").read_text("utf-8")
    sections = re.findall(r"(?ms)^## (.+?)\n(.+?)(?=^## |\Z)", text)
    return {
        name: [
            (what, " ".join(below.split()))
            for what, below in re.findall(r"(?m)^(\S.*)\n((?:    .+\n)+)", rows)
        ]
        for name, rows in sections
    }


def read_table(rows: Pairs) -> tuple[Listed, ...]:
    found = []
    for what, below in rows:
        scenario, _, asked = what.partition(": ")
        fields = re.split(r"(?:^| )(real|ours|answered|reason): ", below)[1:]
        found.append(Listed(scenario, asked, **dict(zip(fields[::2], fields[1::2], strict=True))))
    return tuple(found)
