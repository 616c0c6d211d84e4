"""The instructor's page of a lab, read as data.

`labs/instructor/NN.md` is written for people; its tables and its wrong answers are also what
`mqlab class` grades a sample class with. The form is in `labs/instructor/README.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .notebooks import Lab, LabError

PARTS = ("Timing", "Questions", "Graded cells", "Trouble")
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """What somebody with a certain belief writes into the cell `grade_id`."""

    grade_id: str
    belief: str
    code: str


@dataclass(frozen=True, slots=True)
class Page:
    """`timing`, `questions`, `cells`, `trouble`: the rows of the tables, without heads."""

    minutes: int
    points: float
    timing: tuple[Row, ...]
    questions: tuple[Row, ...]
    cells: tuple[Row, ...]
    trouble: tuple[Row, ...]
    wrong: tuple[WrongAnswer, ...]


def page_of(lab: Lab) -> Path:
    return lab.source.parents[1] / "instructor" / f"{lab.name[:2]}.md"


def read_page(lab: Lab) -> Page:
    """The page of a lab; LabError where there is none or a part is missing."""
    path = page_of(lab)
    if not path.exists():
        raise LabError(f"no instructor's page for {lab.name}: write {path.name} as README.md says")
    text = path.read_text(encoding="utf-8")
    head = re.search(r"(?m)^\*(\d+) minutes, ([\d.]+) points\.\*", text)
    if head is None:
        raise LabError(f"{path.name}: below the title goes “*60 minutes, 10 points.*”")
    parts = dict(_parts(text))
    missing = [part for part in PARTS if part not in parts]
    if missing:
        raise LabError(f"{path.name}: no part “## {missing[0]}”")
    return Page(
        minutes=int(head[1]),
        points=float(head[2]),
        timing=tuple(_rows(parts["Timing"])),
        questions=tuple(_rows(parts["Questions"])),
        cells=tuple(_rows(parts["Graded cells"])),
        trouble=tuple(_rows(parts["Trouble"])),
        wrong=tuple(_wrong(parts["Graded cells"])),
    )


def _parts(text: str) -> Iterator[tuple[str, str]]:
    pieces = re.split(r"(?m)^## (.+)$", text)
    yield from zip(map(str.strip, pieces[1::2]), pieces[2::2], strict=True)


def _rows(part: str) -> Iterator[Row]:
    """The cells of a table's rows; "\\|" is a bar inside a cell."""
    lines = [line for line in part.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        yield tuple(cell.strip().replace("\\|", "|") for cell in cells)


def _wrong(part: str) -> Iterator[WrongAnswer]:
    for code in re.findall(r"(?ms)^```python\n(.*?)^```", part):
        first, _, body = code.partition("\n")
        named = re.fullmatch(r"# ([\w-]+) · (.+)", first)
        if named is None:
            raise LabError(f"a wrong answer begins with “# cell · belief”, not with {first!r}")
        yield WrongAnswer(named[1], named[2], body)
