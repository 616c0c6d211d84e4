"""Submissions whose graded cells are not all there, or are there twice.

A copied cell has its original's name, and nbgrader then refuses the notebook; a deleted test cell
costs its points without a word. Both happen by a slip of the hand. `repair` makes the notebook what
nbgrader can grade and says in a sentence each what it had to do: of two cells with one name the
first keeps it, and the other is an ordinary cell; a deleted cell comes back where it was.
"""

from __future__ import annotations

from copy import deepcopy

from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from ...kernel import Text, Words
from .formgrader import find_released
from .notebooks import Notebook, read


class Repair(NbGraderPreprocessor):
    """`repair` as a step of grading, before nbgrader's own; what it did is in nbgrader's log."""

    releases = Unicode(help="the folder of the released assignments").tag(config=True)

    def preprocess(self, nb: Notebook, resources: ResourcesDict) -> tuple[Notebook, ResourcesDict]:
        path = find_released(self.releases, resources)
        if path is not None:
            for note in repair(nb, read(path)):
                self.log.warning(note.en)
        return nb, resources


TWICE = Words("the cell “{}” is there twice: the second is taken as an ordinary one")
DELETED = Words("the cell “{}” was deleted: it is put back as it was released")


def repair(submitted: Notebook, released: Notebook) -> list[Text]:
    """Change a submission so that each named cell of the released lab is there once, and return
    sentences on what was done. A cell's name is its nbgrader id; a second cell of a name, and one
    whose name was not released, lose theirs."""
    released_cells = {name: cell for cell in released.cells if (name := name_of(cell))}
    notes: list[Text] = []
    seen: set[str] = set()
    for cell in submitted.cells:
        name = name_of(cell)
        if name in seen and name in released_cells:
            notes.append(TWICE(name))
        if name not in released_cells or name in seen:
            cell.metadata.pop("nbgrader", None)
        seen.add(name)
    name_before = ""
    for name, cell in released_cells.items():
        if name not in seen:
            notes.append(DELETED(name))
            submitted.cells.insert(_place_after(submitted, name_before), deepcopy(cell))
        name_before = name
    return notes


def name_of(cell: Notebook) -> str:
    """The name that a graded or locked cell has; empty for any other."""
    given = cell.metadata.get("nbgrader")
    return str(given.get("grade_id") or "") if isinstance(given, dict) else ""


def _place_after(notebook: Notebook, name: str) -> int:
    """After the cell of that name; at the beginning where there is none."""
    places = [place for place, cell in enumerate(notebook.cells, 1) if name_of(cell) == name]
    return places[0] if name and places else 0
