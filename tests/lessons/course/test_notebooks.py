"""The builder of labs, on a sample: what it derives, that it is the same twice, what it refuses."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from nbclient import NotebookClient

from mqlab import cli
from mqlab.lessons.course import notebook_checks as checks
from mqlab.lessons.course import notebooks, ways
from mqlab.lessons.course.notebooks import Lab, LabError
from tests.lessons.course.sample_lab import SAMPLE


def write(folder: Path, text: str = SAMPLE) -> Lab:
    for name in ("source", "images"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "images" / "strip.png").touch()
    source = folder / "source" / "07-markers.py"
    source.write_text(text, encoding="utf-8")
    return Lab(source)


def build(lab: Lab, student_only: bool = False, force: bool = False) -> list[str]:
    said: list[str] = []
    notebooks.build(lab, said.append, student_only=student_only, force=force)
    return said


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    lab = write(tmp_path_factory.mktemp("a folder"))
    assert build(lab) == ["wrote a folder0/07-markers.ipynb", "wrote solutions/07-markers.ipynb"]
    return lab


@pytest.fixture
def unbuilt(tmp_path: Path) -> Callable[[str], Lab]:
    return lambda text: write(tmp_path, text)


def sources(path: Path) -> str:
    return "\n".join(cell.source for cell in notebooks.read(path).cells)


def test_student_copy_has_neither_solution_nor_hidden_test_nor_output(built: Lab) -> None:
    text = sources(built.student)
    assert notebooks.STUB in text and "return min" not in text
    assert "check(LSO, lso)" in text and 'grade("lso", lso)' not in text
    student = notebooks.read(built.student)
    assert not any(cell.get("outputs") for cell in student.cells)
    assert student.metadata.kernelspec.name == "python3"
    test_cell = next(cell for cell in student.cells if cell["id"] == "lso-test")
    assert test_cell.metadata.editable is False
    assert test_cell.metadata.nbgrader.points == 2


def test_solution_is_whole_and_executed(built: Lab) -> None:
    text = sources(built.solution)
    assert "### BEGIN SOLUTION" in text and "### BEGIN HIDDEN TESTS" in text
    assert "(../images/strip.png)" in text
    assert all(
        cell.execution_count is not None
        for cell in notebooks.read(built.solution).cells
        if cell.cell_type == "code"
    )


def test_only_outputs_that_somebody_reads_are_committed(built: Lab, tmp_path: Path) -> None:
    solution = notebooks.read(built.solution)
    shown = [cell.source for cell in solution.cells if cell.get("outputs")]
    assert [source.split("\n")[0] for source in shown] == [
        'for offset, record in enumerate("a b C".split()):',  # nbval compares
        "import time",  # differs each time, so the next build keeps it
        "from mqlab.lab import Predict",
        "### BEGIN HIDDEN TESTS",  # a grade depends on it
    ]
    lab = write(tmp_path)
    next(cell for cell in solution.cells if cell.source == 'print("done")').outputs = [
        notebooks.nbformat.v4.new_output("stream", name="stdout", text="done\n")
    ]
    lab.solution.parent.mkdir()
    lab.solution.write_text(notebooks.text_of(solution), encoding="utf-8")
    lab.student.write_bytes(built.student.read_bytes())
    (found,) = checks.freshness(lab)
    assert "the solution holds outputs that nobody reads" in found


def test_outputs_that_the_site_shows_or_a_grade_needs_are_kept() -> None:
    cells = {
        name: notebooks.nbformat.v4.new_code_cell(source, metadata=metadata)
        for name, source, metadata in (
            ("client", "import confluent_kafka", {}),
            ("server", "with serve() as broker:\n    0", {}),
            ("plain", "print(1)", {}),
            ("graded", "check(1)", {"nbgrader": {"grade": True}}),
        )
    }
    kept = [name for name, cell in cells.items() if notebooks.is_kept("07-markers", cell)]
    assert kept == ["client", "server", "graded"]
    assert all(notebooks.is_kept(notebooks.RECORDED, cell) for cell in cells.values())


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ('print("\\n" * 15)', "prints 16 lines in sight: 15 at most"),
        ('# %% jupyter={"outputs_hidden": true}\nprint("\\n" * 280)', "lines: 240 at most"),
    ],
)
def test_a_solution_that_prints_more_than_anybody_reads_is_not_built(
    unbuilt: Callable[[str], Lab], cell: str, says: str
) -> None:
    lab = unbuilt(f"# %% [markdown]\n# # Markers\n\n# %%\n{cell}\n")
    with pytest.raises(notebooks.LabError, match=says):
        build(lab)
    assert not lab.solution.exists()


@pytest.mark.spread("mqlab/lessons/course")
def test_the_tag_makes_nbval_compare_an_output(built: Lab, tmp_path: Path) -> None:
    other = tmp_path / "other.ipynb"
    text = built.solution.read_text(encoding="utf-8")
    other.write_text(text.replace("2 C\\n", "3 C\\n"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "-p", "no:cacheprovider", "-q"]
    for path, fails in ((built.solution, 0), (other, 1)):
        run = subprocess.run([*command, path.name], cwd=path.parent, capture_output=True, text=True)
        assert run.returncode == fails, run.stdout
    assert "3 C" in run.stdout


def test_building_again_changes_nothing(built: Lab) -> None:
    before = built.solution.read_bytes()
    assert build(built) == []
    assert built.solution.read_bytes() == before


def test_nothing_to_complain_about(built: Lab) -> None:
    assert checks.complaints(built) == []


def test_what_a_cell_shows_late_is_waited_for(built: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernel has answered, and a busy machine brings the output five seconds later. Without
    its error, a test cell of an untouched copy would have all points."""
    poll = NotebookClient._async_poll_output_msg

    async def late(client: NotebookClient, parent: str, cell: object, at: int) -> None:
        if "check(LSO" in notebooks.read(built.student).cells[at].source:
            await asyncio.sleep(5)
        await poll(client, parent, cell, at)

    monkeypatch.setattr(NotebookClient, "_async_poll_output_msg", late)
    assert list(checks.stub_is_wrong(built)) == []


def test_a_stale_copy_is_noticed(tmp_path: Path, built: Lab) -> None:
    lab = write(tmp_path, SAMPLE.replace("done", "well done"))
    lab.solution.parent.mkdir()
    lab.solution.write_bytes(built.solution.read_bytes())
    lab.student.write_bytes(built.student.read_bytes())
    found = "\n".join(checks.freshness(lab))
    assert "the student copy is not what the source gives: run `mqlab labs build 07`" in found
    assert "the solution is not what the source gives" in found


def test_a_copy_somebody_worked_in_is_kept(tmp_path: Path) -> None:
    lab = write(tmp_path)
    build(lab, student_only=True)
    worked = notebooks.read(lab.student)
    worked.cells[5].source = "def lso(first_offsets, high_watermark): return 0"
    lab.student.write_text(notebooks.text_of(worked), encoding="utf-8")
    write(tmp_path, SAMPLE.replace("done", "well done"))
    assert build(lab, student_only=True) == [
        "kept 07-markers.ipynb: you have worked in it (--force sets it aside and makes it again)"
    ]
    assert "return 0" in sources(lab.student)
    assert build(lab, student_only=True, force=True) == [
        "07-markers.ipynb is now 07-markers.kept-1.ipynb",
        f"wrote {tmp_path.name}/07-markers.ipynb",
    ]


def test_a_copy_that_was_only_run_is_renewed(tmp_path: Path) -> None:
    lab = write(tmp_path)
    build(lab, student_only=True)
    run = json.loads(lab.student.read_text(encoding="utf-8"))
    run["cells"][1]["execution_count"] = 1
    run["metadata"]["language_info"]["version"] = "3.12.1"
    lab.student.write_text(json.dumps(run), encoding="utf-8")
    write(tmp_path, SAMPLE.replace("done", "well done"))
    assert build(lab, student_only=True) == [f"wrote {tmp_path.name}/07-markers.ipynb"]


def test_a_stub_that_passes_or_breaks_elsewhere_is_noticed(unbuilt: Callable[[str], Lab]) -> None:
    weak = SAMPLE.replace('grade("lso", lso)\n', "").replace("check(LSO, lso)", "lso([], 1)")
    lab = unbuilt(weak.replace('print("done")', "print(1 + lso([], 1))"))
    found = "\n".join(checks.stub_is_wrong(lab))
    assert "lso-test gives the untouched stub 2 of 2 points" in found
    assert "“print(1 + lso([], 1))” fails: TypeError" in found
    long = lab.source.read_text().replace("# %%\nprint(1", '# %% tags=["long"]\nprint(1')
    lab.source.write_text(long)
    assert "“print(1" not in "".join(checks.stub_is_wrong(lab)), "the solution runs it"


def test_a_wrong_solution_is_noticed(built: Lab, tmp_path: Path) -> None:
    lab = write(tmp_path)
    wrong = notebooks.read(built.solution)
    cell = next(cell for cell in wrong.cells if cell["id"] == "lso-test")
    cell.outputs = [notebooks.nbformat.v4.new_output("stream", name="stderr", text="a warning")]
    lab.solution.parent.mkdir()
    lab.solution.write_text(notebooks.text_of(wrong), encoding="utf-8")
    assert "the solution gets 0 of 2 points in lso-test" in next(checks.solution_is_right(lab))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('print("done")', "# NBVAL_CHECK_OUTPUT\n0", 'tags=["nbval-check-output"]'),
        ("# ## Write", "# #### Write", "skips a level (from 1 to 4)"),
        ("# ## Write", "# # Write", "2 first-level headings"),
        ("![three cells, a flag at the second]", "![]", "has no alt text"),
        ("(images/strip.png)", "(https://example.org/a.png)", "is fetched from outside"),
        ("(images/strip.png)", "(images/none.png)", "leads nowhere"),
        ("One page.", "See [the next](08-offsets.ipynb).", "08-offsets.ipynb leads nowhere"),
        ("One page.", '<img src="images/strip.png">', "has no alt text"),
        ('print("done")', "0\n\n" + "# %%\n1\n\n" * 90, "90 at most"),
        ('print("done")', "0\n\n" + "# %%\n1\n\n" * 30, "the quick route has 4"),
        ('Predict("07-who-writes")', "None", "the quick route asks nothing"),
        (
            "# %% [markdown]\n# ## Write",
            '# %% [markdown] tags=["deeper"]\n# ## Write',
            "no graded cell, and checks no file",
        ),
        ('# %% [markdown] tags=["deeper"]', "# %% [markdown]", "no part is folded"),
        ("# ## Deeper: who", "# Who", "it holds one `##` heading only"),
        ("# One page.", "# One page.\n#\n# ## Hook", "a heading inside the cell"),
        ("# One page.", "# One page. " + "word " * 4000, "the quick route takes"),
        ("# One page.", "# *90 minutes, or a quick route of 5*", "route of 5”: write 10"),
    ],
)
def test_structure(unbuilt: Callable[[str], Lab], old: str, new: str, complaint: str) -> None:
    assert complaint in "\n".join(checks.structure(unbuilt(SAMPLE.replace(old, new))))


def test_deeper_parts_are_folded_and_the_short_way_leaves_them_out(built: Lab) -> None:
    student = notebooks.read(built.student)
    folded = [cell.source for cell in student.cells if cell.metadata.get(ways.FOLDED)]
    assert [text.partition("\n")[0] for text in folded] == [
        "## Deeper: who counts the offsets?",
        "## Deeper: and who reads them?",
    ]
    short = ways.short_way(notebooks.read_source(built).cells)
    assert short[-1].source == 'print("done")'
    assert not any(cell.source.startswith(("deep =", "## Deeper")) for cell in short)


@pytest.mark.spread("mqlab/lessons/course")
def test_a_short_way_that_needs_a_folded_part_is_noticed(unbuilt: Callable[[str], Lab]) -> None:
    lab = unbuilt(SAMPLE.replace('print("done")', "print(deep)"))
    (line,) = checks.short_way_runs(lab)
    assert "without its folded parts the cell “print(deep)” fails: NameError" in line
    assert list(checks.short_way_runs(unbuilt(SAMPLE))) == []


def test_minutes_count_words_questions_pictures_and_cells_to_write(built: Lab) -> None:
    cells = notebooks.read_source(built).cells
    assert ways.measure(cells).questions == ways.measure(cells).to_write == 1
    text = notebooks.nbformat.v4.new_markdown_cell("word " * 400)
    assert ways.measure([text]) == ways.Extent(words=400, questions=0, to_write=0, minutes=2)
    shown = [
        notebooks.nbformat.v4.new_code_cell(code) for code in ("Player(run)", "Playground(play)")
    ]
    assert ways.measure(shown).minutes == 9


def test_a_source_nbgrader_refuses_is_an_error_in_words(unbuilt: Callable[[str], Lab]) -> None:
    lab = unbuilt(SAMPLE.replace("    ### END SOLUTION\n", ""))
    with pytest.raises(LabError, match="no end solution statement"):
        build(lab, student_only=True)


def test_a_failing_solution_says_where(
    unbuilt: Callable[[str], Lab], capsys: pytest.CaptureFixture[str]
) -> None:
    lab = unbuilt(SAMPLE.replace("return min(", "return max("))
    assert cli.main(["labs", "--folder", str(lab.student.parent), "build", "07"]) == 2
    said = capsys.readouterr().err
    wrong = lab.source.read_text("utf-8").splitlines().index("### BEGIN HIDDEN TESTS") + 1
    assert f"07-markers: its solution fails\nsource/07-markers.py:{wrong}: NotYet: not yet" in said
    assert 'grade("lso", lso)' in said
    assert "\x1b[" not in said


def test_an_unknown_lab_says_which_there_are(
    unbuilt: Callable[[str], Lab], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = unbuilt(SAMPLE).student.parent
    assert cli.main(["labs", "--folder", str(folder), "build", "99"]) == 2
    assert "no lab begins with 99; there are: 07-markers" in capsys.readouterr().err


def test_a_committed_output_is_text_unless_it_is_compared() -> None:
    """A picture would change here with every line of its style."""
    drawn = {"text/plain": "3 steps", "text/html": "<style>…</style>"}
    plain, compared, widget = (
        notebooks.nbformat.v4.new_code_cell(
            outputs=[notebooks.nbformat.v4.new_output("display_data", data=data)]
        )
        for data in (drawn, drawn, {notebooks.WIDGET: {"model_id": "7"}, "text/plain": "Player()"})
    )
    compared.metadata["tags"] = [notebooks.COMPARED]
    plain.metadata["tags"] = widget.metadata["tags"] = [notebooks.VOLATILE]
    notebooks._normalise(
        notebooks.nbformat.v4.new_notebook(
            cells=[plain, compared, widget], metadata={"mqlab": {"lab": "07-markers"}}
        )
    )
    assert [out.data for out in plain.outputs] == [{"text/plain": "3 steps"}]
    assert [out.data for out in compared.outputs] == [drawn]
    assert widget.outputs == []
