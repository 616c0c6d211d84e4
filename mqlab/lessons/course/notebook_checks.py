"""What every lab keeps: a structure one can read and hear, fresh copies, an honest exercise.

`complaints(lab)` gives one line for each thing that is wrong, none when all is well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from nbgrader import utils

from .notebooks import (
    LONG,
    CellError,
    Lab,
    Notebook,
    execute,
    grades,
    is_kept,
    read,
    read_source,
    run_for_grading,
    student_copy,
    text_of,
    unexecuted_solution,
)
from .ways import DEEPER, SAID, SHORT_MINUTES, heading_level, measure, short_way

MOST_CELLS = 90  # without those that only hold a heading
FILE_CHECK = "check_mine("  # of a file beside the notebook
MOST_IN_SIGHT = 24  # before a part is unfolded
MOST_BYTES = 4_000_000  # a code host stops showing a notebook somewhere above


def complaints(lab: Lab) -> list[str]:
    """Everything; runs the student copy."""
    still = [*structure(lab), *freshness(lab), *solution_is_right(lab)]
    return [*still, *stub_is_wrong(lab), *short_way_runs(lab)]


# --- structure -------------------------------------------------------------------------


def structure(lab: Lab) -> list[str]:
    """What can be seen without running: headings, cells, pictures, links."""
    notebook = read_source(lab)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    faults = [*_headings(texts), *_pictures(texts), *_links(lab, texts), *_check_route(notebook)]
    count = sum("\n" in cell.source or not heading_level(cell) for cell in notebook.cells)
    if count > MOST_CELLS:
        faults.append(f"{count} cells: {MOST_CELLS} at most")
    if any("NBVAL_" in cell.source for cell in notebook.cells):
        faults.append('a comment for nbval: write the tag, `# %% tags=["nbval-check-output"]`')
    if notebook.cells and notebook.cells[0].cell_type != "markdown":
        faults.append("the first cell is not text: begin with the title, a summary, the contents")
    return [f"{lab.name}: {line}" for line in faults]


def _headings(texts: list[str]) -> Iterator[str]:
    level = 0
    titles = 0
    for text in texts:
        for marks, title in re.findall(r"(?m)^(#{1,6}) +(.+)$", _without_code(text)):
            if len(marks) > level + 1:
                yield f"heading “{title}” skips a level (from {level} to {len(marks)})"
            level = len(marks)
            titles += level == 1
    if titles != 1:
        yield f"{titles} first-level headings: one is the title"


def _check_route(notebook: Notebook) -> Iterator[str]:
    """Yield what is wrong with the quick route of a lab, its cells outside of folded parts: they
    take 25 minutes at most, ask a question, and grade a cell or check a file that takes longer to
    write; the first cell states the minutes. Before that come headings of the whole lab that cannot
    fold, or are tagged wrongly."""
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        if re.search(r"(?m)(?<=\n)##? ", _without_code(cell.source)):
            title = cell.source.partition("\n")[0]
            yield f"a heading inside the cell “{title}”: begin a cell with it, so that it can fold"
        if DEEPER in cell.metadata.get("tags", []) and not re.fullmatch("## .+", cell.source):
            title = cell.source.partition("\n")[0]
            yield f"the cell “{title}” is tagged as deeper: it holds one `##` heading only"
    route = short_way(notebook.cells)
    if len(route) > MOST_IN_SIGHT:
        yield f"the quick route has {len(route)} cells: {MOST_IN_SIGHT} at most"
    if len(route) == len(notebook.cells):
        yield "no part is folded: tag the headings that are not of the quick route, “deeper”"
    if not any(utils.is_grade(cell) or FILE_CHECK in cell.source for cell in route):
        yield "the quick route has no graded cell, and checks no file"
    extent = measure(route)
    if not extent.questions:
        yield "the quick route asks nothing"
    if extent.minutes > SHORT_MINUTES:
        yield f"the quick route takes {extent.minutes} minutes: {SHORT_MINUTES} at most"
    # the minutes, rounded up to fives
    stated, rounded = SAID.search(notebook.cells[0].source), -(-extent.minutes // 5) * 5
    if stated and int(stated[1]) != rounded:
        quote = f"the first cell says “a quick route of {stated[1]}”"
        yield f"{quote}: write {rounded} (`mqlab labs times`)"


def _pictures(texts: list[str]) -> Iterator[str]:
    for text in map(_without_code, texts):
        for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", text):
            if not alt.strip():
                yield f"picture {target} has no alt text"
            if _is_outside(target):
                yield f"picture {target} is fetched from outside: commit it in labs/images"
        for tag in re.findall(r"<img\b[^>]*>", text):
            if not re.search(r'\balt="[^"]+"', tag):
                yield f"{tag} has no alt text"
            source = re.search(r'\bsrc="([^"]*)"', tag)
            if source and _is_outside(source[1]):
                yield f"{tag} is fetched from outside: commit it in labs/images"


def _links(lab: Lab, texts: list[str]) -> Iterator[str]:
    """A link or picture within the project leads to a file that is there."""
    folder = lab.student.parent
    for text in map(_without_code, texts):
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            is_ours = not _is_outside(target) and ":" not in target
            if is_ours and not _exists(folder, target):
                yield f"link to {target} leads nowhere"


def _exists(folder: Path, target: str) -> bool:
    if (folder / target).exists():
        return True
    # a lab whose notebook is about to be built
    return (folder / "source" / target).with_suffix(".py").exists()


def _is_outside(target: str) -> bool:
    return target.startswith(("http:", "https:", "//"))


def _without_code(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", text)


# --- copies ----------------------------------------------------------------------------


def freshness(lab: Lab) -> Iterator[str]:
    """Yield where the committed copies of a lab are not what its source gives, or where the
    solution is not executed or has outputs that it should not have. The outputs' content is
    compared elsewhere, by nbval."""
    source = read_source(lab)
    advice = f"run `mqlab labs build {lab.name[:2]}` and commit"
    for path in (lab.student, lab.solution):
        if not path.exists():
            yield f"{lab.name}: {path.parent.name}/{path.name} is missing: {advice}"
            return
    if lab.student.read_text(encoding="utf-8") != text_of(student_copy(source)):
        yield f"{lab.name}: the student copy is not what the source gives: {advice}"
    expected, solution = _without_outputs(unexecuted_solution(source)), read(lab.solution)
    if _without_outputs(solution) != expected:
        yield f"{lab.name}: the solution is not what the source gives: {advice}"
    code = [cell for cell in solution.cells if cell.cell_type == "code"]
    if any(cell.execution_count is None and cell.source.strip() for cell in code):
        yield f"{lab.name}: the solution is not executed: {advice}"
    if any(cell.outputs and not is_kept(lab.name, cell) for cell in code):
        yield f"{lab.name}: the solution holds outputs that nobody reads: {advice}"
    if (size := lab.solution.stat().st_size) > MOST_BYTES:
        yield f"{lab.name}: the solution has {size / 1e6:.1f} MB of outputs: show less"


def _without_outputs(notebook: Notebook) -> list[tuple[str, str, str, str]]:
    return [
        (cell["id"], cell.cell_type, cell.source, json.dumps(cell.metadata, sort_keys=True))
        for cell in notebook.cells
    ] + [("", "", notebook.metadata["mqlab"]["source"], str(notebook.metadata["kernelspec"]))]


def solution_is_right(lab: Lab) -> Iterator[str]:
    """nbgrader gives the committed solution every point; nbval shows its outputs still hold."""
    if not lab.solution.exists():
        return
    for grade in grades(read(lab.solution)):
        if grade.points != grade.of:
            yield (
                f"{lab.name}: the solution gets {grade.points:g} of {grade.of:g} points "
                f"in {grade.grade_id} (an error, or a warning on stderr)"
            )


def short_way_runs(lab: Lab) -> Iterator[str]:
    """The quick route needs nothing of the parts that are folded."""
    notebook = read_source(lab)
    notebook.cells = short_way(notebook.cells)
    try:
        execute(notebook, lab.student.parent)
    except CellError as error:
        first = notebook.cells[error.place].source.partition("\n")[0]
        yield f"{lab.name}: without its folded parts the cell “{first}” fails: {error.what}"


# --- stubs -----------------------------------------------------------------------------


def stub_is_wrong(lab: Lab) -> Iterator[str]:
    """Yield what is wrong with the student copy as it is handed out: it must run to its end, fail
    only where one must write, and get no point. Cells tagged LONG are left out: they are the same
    in the solution, and run there."""
    source = read_source(lab)
    student = student_copy(source)
    student.cells = [c for c in student.cells if LONG not in c.metadata.get("tags", [])]
    executed = run_for_grading(student, source, lab.student.parent)
    allowed = may_fail(executed)
    for index, cell in enumerate(executed.cells):
        error = _error(cell)
        if error and index not in allowed:
            first_line = cell.source.partition("\n")[0]
            yield f"{lab.name}: student copy, cell {index + 1} “{first_line}” fails: {error}"
    for grade in grades(executed):
        if grade.points > 0:
            yield (
                f"{lab.name}: {grade.grade_id} gives the untouched stub {grade.points:g} of "
                f"{grade.of:g} points: its test must fail until something is written"
            )


def may_fail(notebook: Notebook) -> set[int]:
    """Cells where one must write, and what follows them up to the next heading."""
    allowed: set[int] = set()
    inside = False
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and re.search(r"(?m)^#{1,6} ", _without_code(cell.source)):
            inside = False
        inside = inside or utils.is_solution(cell)
        if inside:
            allowed.add(place)
    return allowed


def _error(cell: Notebook) -> str:
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}"
    return ""
