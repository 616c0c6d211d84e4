"""Two routes through a lab: the quick route of 25 minutes at most, and the whole.

The quick route is a case, one experiment and one graded cell. It is open; each other part begins
with a heading that is folded in JupyterLab, and a click unfolds it. A source marks such a part at
its heading:

    # %% [markdown] tags=["deeper"]
    # ## Does a commit move the high watermark?

The heading is alone in its cell, since its cell stays in sight. The part ends at the next heading
of the same level. The quick route runs without the parts between: `notebook_checks` runs it alone.

Minutes are an estimate for one reader alone: 240 words of text per minute; a question, a picture, a
playground and a cell to write as in `MINUTES`. A lab's first cell names those of its quick route.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nbformat import NotebookNode as Notebook
from nbgrader import utils

from mqlab.lessons.questions import CALL, find_question

DEEPER = "deeper"
#: JupyterLab's own mark of a folded heading, in the metadata of its cell
FOLDED = "jp-MarkdownHeadingCollapsed"

SHORT_MINUTES = 25
WORDS_PER_MINUTE = 240
#: for each of them, beside the words that are read
MINUTES = {"question": 1.5, "picture": 3.0, "playground": 6.0, "to write": 7.0}
PICTURES = re.compile(
    r"\b(Player|Compare|Explorer|Follow|Trials|vary|put_beside|open_marks|try_remedies)\("
)
PLAYGROUNDS = re.compile(r"\b(Playground|play_on)\(")
#: what a lab's first cell says of its quick route
SAID = re.compile(r"\*\d+ minutes, or a quick route of (\d+)\*")
HEADING = re.compile(r"(#{1,6}) +\S")


def fold_deeper_parts(notebook: Notebook) -> None:
    """JupyterLab's mark for each heading that a source has tagged as deeper."""
    for cell in notebook.cells:
        if DEEPER in cell.metadata.get("tags", []):
            cell.metadata[FOLDED] = True


def short_way(cells: Iterable[Notebook]) -> list[Notebook]:
    """The cells that no folded part contains; a folded heading itself is left out too."""
    shown: list[Notebook] = []
    folded_at = 0
    for cell in cells:
        level = heading_level(cell)
        if level and (not folded_at or level <= folded_at):
            folded_at = level if DEEPER in cell.metadata.get("tags", []) else 0
        if not folded_at:
            shown.append(cell)
    return shown


def heading_level(cell: Notebook) -> int:
    """The level of the heading with which a cell of text begins; 0 without one."""
    match = HEADING.match(cell.source) if cell.cell_type == "markdown" else None
    return len(match[1]) if match else 0


@dataclass(frozen=True, slots=True)
class Extent:
    """What some cells ask of a reader. `minutes` is rounded up."""

    words: int
    questions: int
    to_write: int
    minutes: int


def measure(cells: Iterable[Notebook]) -> Extent:
    """Measure some cells: their words (those of their questions and options too), questions,
    answers to write, and the minutes that all of this takes, by MINUTES and WORDS_PER_MINUTE."""
    words = questions = to_write = 0
    minutes = 0.0
    for cell in cells:
        if cell.cell_type == "markdown":
            words += len(cell.source.split())
            continue
        for call in CALL.finditer(cell.source):  # each call that asks a question, with its name
            question = find_question(call["name"], "en")
            words += sum(len(text.split()) for text in (question.text, *question.options))
            questions += 1
        minutes += MINUTES["picture"] * len(PICTURES.findall(cell.source))
        minutes += MINUTES["playground"] * len(PLAYGROUNDS.findall(cell.source))
        to_write += utils.is_solution(cell)
    minutes += words / WORDS_PER_MINUTE
    minutes += MINUTES["question"] * questions + MINUTES["to write"] * to_write
    # -int(-minutes // 1): rounded up
    return Extent(words, questions, to_write, -int(-minutes // 1))
