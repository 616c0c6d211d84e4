"""What people get wrong, as one table: `misconceptions.toml`, which says what each entry holds.

The instructor's page, the class report and a line at the end of each lab (`met`) come from it.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..kernel import Text, Words, tr
from ..registry.tables import wrap
from .experiments import Experiment, read_experiment

if TYPE_CHECKING:
    from .atlas.pictures import Fold

FILE = Path(__file__).with_suffix(".toml")
#: the instructor's page, in the folder of the labs
PAGE = "instructor/misconceptions.md"
WIDTH = 96  # of a line at the end of a lab
MET = Words("What people get wrong here: {count}")
#: what a misconception has, or says why not
WANTED = ("question", "experiment", "points")
HEAD = """\
# What people get wrong

One table of the course, in which each belief has a question, an experiment that refutes it, and
graded cells that nobody passes who holds it. Where one of the three is missing, the reason is given
there. `mqlab class DIR --report` calls a belief by its number and its name. The page is made from
`mqlab/lessons/misconceptions.toml`: change that, then `mqlab labs build`.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """A question of a lab, and the place of the option that holds the belief."""

    question: str
    place: int


@dataclass(frozen=True, slots=True)
class Misconception:
    """`truth`: the correction; `cells`: "07/lso-test", the lab and its test cell; `names`:
    what checks call the belief; `why_not`: the reason for each of `WANTED` that is missing."""

    number: int
    name: str
    broker: str
    belief: Text
    truth: Text
    options: tuple[Option, ...]
    experiment: Experiment | None
    cells: tuple[str, ...]
    names: tuple[str, ...]
    why_not: Mapping[str, Text]
    source: str

    @property
    def label(self) -> str:
        """As reports name it: "3 returned-is-visible"."""
        return f"{self.number} {self.name}"

    def has(self, wanted: str) -> bool:
        """Whether it has one of `WANTED`."""
        parts = {"question": self.options, "experiment": self.experiment, "points": self.cells}
        return bool(parts[wanted])

    @property
    def labs(self) -> set[str]:
        """The numbers of the labs that ask about it or grade it."""
        return {one.question[:2] for one in self.options} | {cell[:2] for cell in self.cells}


def read_misconceptions(text: str) -> dict[str, Misconception]:
    """The table in a file's text, by names; KeyError where an entry lacks a key."""
    entries = tomllib.loads(text).items()
    return {name: _read(number, name, given) for number, (name, given) in enumerate(entries, 1)}


def _read(number: int, name: str, given: Mapping[str, Any]) -> Misconception:
    run = given.get("run")
    return Misconception(
        number, name, given["broker"], tr(given["belief"]), tr(given["truth"]),
        tuple(Option(name, int(place)) for name, _, place in
              (one.partition(":") for one in given["options"])),
        run and read_experiment({**given, "run": textwrap.dedent(run)}),
        tuple(given.get("cells", ())), tuple(given.get("names", ())),
        {wanted: tr(words) for wanted, words in given.get("why_not", {}).items()},
        given["source"],
    )  # fmt: skip


MISCONCEPTIONS = read_misconceptions(FILE.read_text("utf-8"))


@cache
def _by_name() -> dict[str, Misconception]:
    return {name: one for one in MISCONCEPTIONS.values() for name in one.names}


@cache
def _by_option() -> dict[Option, Misconception]:
    return {option: one for one in MISCONCEPTIONS.values() for option in one.options}


def label_named(belief: str) -> str:
    """The label of the misconception that a check calls by this name, or by the belief itself
    in either language; empty where it is none of the table."""
    misconception = _by_name().get(belief) or next(
        (one for one in MISCONCEPTIONS.values() if belief in (one.belief.en, one.belief.zh)), None
    )
    return misconception.label if misconception else ""


def label_chosen(question: str, place: int) -> str:
    """The label of the misconception behind an option of a question; empty where it has none."""
    misconception = _by_option().get(Option(question, place))
    return misconception.label if misconception else ""


def met(lab: str) -> Fold:
    """What a lab has refuted, folded, in the language that is spoken: for its end. ValueError
    where the table has nothing of it."""
    from .atlas.pictures import Fold

    refuted = [one for one in MISCONCEPTIONS.values() if lab in one.labs]
    if not refuted:
        raise ValueError(f"no misconception of the table is of lab {lab}")
    lines = []
    for one in refuted:
        lines.append(f"{one.number:>2}  {one.belief}")
        lines += wrap(f"→ {one.truth}", WIDTH, "    ", "      ")
    return Fold(str(MET(count=len(refuted))), "\n".join(lines))


def write_page(path: Path) -> None:
    """The instructor's page."""
    path.write_text(draw_page(), "utf-8")


def draw_page() -> str:
    """The instructor's page as text: a table for each broker, both languages of each belief."""
    titles = {"kafka": "Kafka", "rocketmq": "RocketMQ", "pulsar": "Pulsar", "all": "All three"}
    parts = [HEAD]
    for broker, title in titles.items():
        rows = [_row(one) for one in MISCONCEPTIONS.values() if one.broker == broker]
        head = "| | belief | what is true | question | experiment | points | source |"
        parts.append("\n".join([f"## {title}\n", head, "|---" * 7 + "|", *rows, ""]))
    return "\n".join(parts)


def _row(one: Misconception) -> str:
    questions = ", ".join(dict.fromkeys(f"`{each.question}`" for each in one.options))
    run = one.experiment and one.experiment.run
    shown = "a scenario of its own" if run and run.startswith("system ") else f"`{run}`"
    cells = {
        "question": questions,
        "experiment": shown,
        "points": ", ".join(f"`{cell}`" for cell in one.cells),
    }
    wanted = [cells[name] if one.has(name) else f"none: {one.why_not[name]}" for name in WANTED]
    belief = f"**{one.name}**: {one.belief} ({one.belief.zh})"
    columns = (str(one.number), belief, str(one.truth), *wanted, one.source)
    return "| " + " | ".join(" ".join(cell.split()) for cell in columns) + " |"
