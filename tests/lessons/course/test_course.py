"""A course folder: what may be deleted, what is released, how a submission is run and counted."""

from __future__ import annotations

import csv
import hashlib
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell

from mqlab.cli import main
from mqlab.lessons.course import beliefs, classroom, copies, grading, package
from mqlab.lessons.course import folder as course
from mqlab.lessons.course.classroom import STUDENTS, fill_in
from mqlab.lessons.course.folder import REAL, SAMPLE, ClassError, Course, clear_sample, create
from mqlab.lessons.course.notebooks import (
    Lab,
    build,
    labs_in,
    read,
    read_source,
    student_copy,
    text_of,
)
from tests.project.sources import ROOT

from .sample_lab import SAMPLE as LAB

WRONG = "def lso(first_offsets, high_watermark):\n    return high_watermark\n"
RIGHT = (
    "def lso(first_offsets, high_watermark):\n    return min([*first_offsets, high_watermark])\n"
)
CURIOUS = WRONG + "print(len(open('../../../gradebook.db', 'rb').read()))\n"
HELD = "the high watermark decides"
TOLD = f"f'not yet: case {{time.time_ns()}} fails. (The belief behind it: {HELD}.)' + chr(10) + '…'"


def write_lab(folder: Path, text: str = LAB) -> Lab:
    source = folder / "labs" / "source" / "07-sample.py"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text, "utf-8")
    (lab,) = labs_in(folder / "labs")
    return lab


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*")) if path.is_file()
    }  # fmt: skip


def hand_in(there: Course, student: str, code: str) -> None:
    path = there.submitted(student, "07-sample")
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = fill_in(read(there.released("07-sample")), {"lso": code} if code else {})
    path.write_text(text_of(notebook), "utf-8")


# --- what may be deleted ------------------------------------------------------------------


@pytest.mark.parametrize("option", [[], ["--sample"], ["--grade"], ["--report"], ["--open"]])
def test_a_course_that_somebody_else_made_is_left_alone(
    tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    (tmp_path / "submitted" / "anna" / "07").mkdir(parents=True)
    (tmp_path / "submitted" / "anna" / "07" / "07.ipynb").write_text("a term's work")
    (tmp_path / "gradebook.db").write_bytes(b"a term's grades")
    before = contents(tmp_path)
    assert main(["class", str(tmp_path), "--lab", "07", *option]) == 2
    assert contents(tmp_path) == before
    said = capsys.readouterr().err
    assert "name a new folder" in said or "is no course: make one with `mqlab class" in said


def test_a_second_time_adds_what_is_missing_and_changes_nothing(tmp_path: Path) -> None:
    lab, said = write_lab(tmp_path), []
    there = classroom.teach([lab], tmp_path / "term", said.append)
    hand_in(there, "anna", RIGHT)
    (there.folder / "notes.txt").write_text("my own")
    config = there.folder / "nbgrader_config.py"
    config.write_text(config.read_text() + "c.Exchange.timezone = 'CET'\n")
    before = contents(there.folder)
    classroom.teach([lab], there.folder, said.append)
    write_lab(tmp_path, LAB.replace("done", "well done"))
    classroom.teach([lab], there.folder, said.append)
    assert contents(there.folder) == before
    assert said == [
        "07-sample: released",
        "07-sample: released before",
        "07-sample: released before; the lab has changed since, your students keep what they have",
    ]


@pytest.mark.parametrize(
    "trace",
    ["submitted/anna", "autograded/anna", "exchange/mqlab/inbound/anna+07+now", "notes.txt"],
)
def test_a_sample_class_in_which_somebody_works_is_not_made_anew(
    tmp_path: Path, trace: str
) -> None:
    there = create(tmp_path / "sample", SAMPLE)
    (there.folder / "submitted" / "solved").mkdir(parents=True)
    clear_sample(there.folder, STUDENTS)
    assert not there.folder.exists(), "nobody but the sample students: it may go"
    create(there.folder, SAMPLE)
    (there.folder / trace).mkdir(parents=True)
    with pytest.raises(ClassError, match=r"holds more .*(anna|notes\.txt).* Nothing was deleted"):
        clear_sample(there.folder, STUDENTS)
    assert (there.folder / trace).exists()


def test_a_student_who_stands_in_the_gradebook_only_keeps_it(tmp_path: Path) -> None:
    there = create(tmp_path / "sample", SAMPLE)
    with course.tools(), there.book() as book:
        book.add_student("anna")
    with pytest.raises(ClassError, match="work of anna"):
        clear_sample(there.folder, STUDENTS)


def test_the_two_kinds_of_course_are_not_mixed(tmp_path: Path) -> None:
    real = create(tmp_path / "real", REAL)
    before = contents(real.folder)
    with pytest.raises(ClassError, match="holds a real course: nothing was changed"):
        classroom.hold_sample([], real.folder, print)
    sample = create(tmp_path / "sample", SAMPLE)
    with pytest.raises(ClassError, match="holds the sample class: nothing was changed"):
        classroom.teach([], sample.folder, print)
    assert contents(real.folder) == before


def test_courses_and_copies_are_out_of_gits_view_and_of_make_cleans(tmp_path: Path) -> None:
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    folders = {"course", "course-sample", "my-labs"}
    assert {f"/{folder}/" for folder in folders} <= set(ignored)
    shutil.copy(ROOT / "Makefile", tmp_path)
    for folder in (*folders, ".cache"):
        (tmp_path / folder / "submitted").mkdir(parents=True)
    subprocess.run(["make", "-s", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == {*folders, "Makefile"}
    for command in ("course", "course-sample"):
        assert f'"{command}"' in inspect.getsource(importlib.import_module("mqlab.cli.class"))


# --- what is released ---------------------------------------------------------------------


def test_the_release_comes_from_the_source_not_from_a_copy_worked_in(tmp_path: Path) -> None:
    lab = write_lab(tmp_path)
    build(lab, print, student_only=True, force=False)
    lab.student.write_text(lab.student.read_text("utf-8").replace("One page", "My notes"))
    there = classroom.teach([lab], tmp_path / "term", print)
    wanted = [cell.source for cell in student_copy(read_source(lab)).cells]
    for path in (there.released(lab.name), there.outbound / lab.name / f"{lab.name}.ipynb"):
        assert [cell.source for cell in read(path).cells] == wanted
    assert "My notes" in lab.student.read_text("utf-8")


def test_the_students_package_holds_the_labs_and_no_answers(tmp_path: Path) -> None:
    there = classroom.teach([write_lab(tmp_path)], tmp_path / "term", print)
    with zipfile.ZipFile(package.write_package(there, ROOT)) as zipped:
        names = set(zipped.namelist())
        zipped.extractall(tmp_path / "unpacked")
        setup = zipped.getinfo("mqlab/.ci/setup").external_attr >> 16
    assert {"mqlab/Makefile", "mqlab/mqlab/__init__.py", "mqlab/requirements.lock"} <= names
    assert [name for name in names if name.endswith(".ipynb")] == ["mqlab/labs/07-sample.ipynb"]
    assert not any("/source/" in n or "/solutions/" in n or "/instructor/" in n for n in names)
    assert not any(name.startswith("mqlab/tests") or ".pyc" in name for name in names)
    assert not any("/scenarios/" in name for name in names), "a story may answer an exercise"
    assert setup & 0o100, "`make lab` runs it"
    readme = (tmp_path / "unpacked" / "mqlab" / "README.md").read_text("utf-8")
    assert "make lab" in readme and "solutions" not in readme
    labs = tmp_path / "unpacked" / "mqlab" / "labs"
    assert "BEGIN SOLUTION" not in (labs / "07-sample.ipynb").read_text("utf-8")
    copies.lay_out(labs, tmp_path / "mine", print)
    assert [path.name for path in (tmp_path / "mine").glob("*.ipynb")] == ["07-sample.ipynb"]


# --- how a submission is run --------------------------------------------------------------


def answer(source: str) -> object:
    cell = new_code_cell(source)
    cell.metadata["nbgrader"] = {"solution": True, "grade": False, "locked": False}
    return cell


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        (["x = 1", "y = 2"], [0]),
        (["x = 1", "x.append(3)", "print(x)"], [0, 1]),
        (["n = 1", "x = n", "n = 2"], [0, 1]),
        (["a = 1", "b = a", "x = b", "z = x"], [0, 1, 2]),
        (["def x():\n    return limit", "limit = 3", "other = 3"], [0, 1]),
        (["def f():\n    x = 1\n    return x", "y = f()"], []),
        (["table = {}", "table['x'] = 1", "x = table"], [0, 1, 2]),
        (["from math import *", "%matplotlib inline", "print(", "1"], [0, 1, 2]),
        (["import os.path as x", "import os.path"], [0]),
        (["for x in range(3):\n    print(x)"], [0]),
    ],
)
def test_only_what_a_grade_depends_on_is_run(before: list[str], wanted: list[int]) -> None:
    cells = [*map(new_code_cell, before), answer("answer = x"), new_code_cell("x = 3")]
    assert grading.find_needed_cells(cells) == [*wanted, len(before)]


def ran(source: str, command: tuple[str, ...] = grading.APART, timeout_s: int = 60) -> str:
    """What the cell printed, which may come in several messages, or the name of its error."""
    (outputs,) = grading.run_apart([new_code_cell(source)], command, timeout_s)
    return "".join(str(output.get("text") or output.ename) for output in outputs)


def test_a_submission_is_run_without_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_SECRET", "42")
    said = ran(
        "import os\n"
        "names = [n for n in os.listdir() if not n.startswith(('tmp', '.', 'kernel'))]\n"
        "print(os.path.basename(os.getcwd())[:14], names, os.environ.get('COURSE_SECRET'))"
    )
    assert said == "mqlab-grading- [] None\n"


def test_no_submission_waits_for_a_grammar_that_no_notebook_needs() -> None:
    """Every submission is a process, and parsing it took half of a short one's time."""
    look = (
        "import sys, mqlab.lessons.course.apart as _;"
        "print(*map(sys.modules.get, sys.argv[1:]), sep='|')"
    )
    command = [sys.executable, "-c", look, "jsonschema", "rfc3987_syntax"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    schemas, grammar = done.stdout.strip().split("|")
    assert schemas.startswith("<module 'jsonschema'") and grammar == "None"


def test_what_a_cell_writes_past_jupyter_is_no_answer() -> None:
    forged = "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'[[]]')\n"
    assert ran(f"{forged}    except OSError: pass\nprint('honest')") == "honest\n"


def test_what_a_submission_leaves_running_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    ran(
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"print(open({str(note)!r}, 'w').write(str(p.pid)))"
    )
    for _ in range(100):
        try:
            os.kill(int(note.read_text()), 0)
        except ProcessLookupError:
            return
        status = Path(f"/proc/{note.read_text()}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("it still runs")


@pytest.mark.parametrize(
    ("program", "says", "timeout_s"),
    [
        ("print('no outputs')", "did not answer with outputs", 60),
        ("print('[]')", "answered for 0 of 1 cells", 60),
        ("import sys; sys.exit('no such image: x')", "could not be run: no such image: x", 60),
        ("import time; time.sleep(600)", "does not come to an end", 1),
    ],
)
def test_a_grader_that_does_not_answer_is_named(program: str, says: str, timeout_s: int) -> None:
    with pytest.raises(grading.GradingError, match=says):
        ran("1", (sys.executable, "-c", program), timeout_s)


def test_a_grader_that_is_not_there_is_named() -> None:
    with pytest.raises(grading.GradingError, match=r"cannot be started: .*'no-such-docker'"):
        ran("1", ("no-such-docker", "run"))


# --- grading a class and counting its beliefs ---------------------------------------------


def test_a_class_is_graded_once_and_its_beliefs_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = write_lab(
        tmp_path,
        LAB.replace("assert lso([3, 5], 7) == 3", f"assert lso([3, 5], 7) == 3, {TOLD}"),
    )
    there, said = classroom.teach([lab], tmp_path / "term", print), []
    given = {"anna": RIGHT, "ben": WRONG, "carl": "", "dora": CURIOUS, "eve": RIGHT}
    for student, code in given.items():
        hand_in(there, student, code)
    there.submitted("eve", lab.name).write_text("{", "utf-8")
    lost = there.folder / "submitted" / "fred" / "07-sample (1).ipynb"
    lost.parent.mkdir()
    lost.write_bytes(there.submitted("anna", lab.name).read_bytes())
    classroom.grade(there, said.append)
    assert said[:5] == [f"07-sample: grading {who}" for who in given]
    assert said[5].startswith("07-sample: eve could not be graded: ")
    assert said[6:] == [
        "not graded: submitted/fred/07-sample (1).ipynb "
        "(a notebook goes to submitted/STUDENT/LAB/LAB.ipynb)"
    ]
    lost.unlink()
    shutil.rmtree(there.submitted("eve", lab.name).parents[1])
    capsys.readouterr()
    assert main(["class", str(there.folder), "--report"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "07-sample  lso-test: 1 of 4 right",
        f"     2 × {HELD}",
        f"     1 × {beliefs.NOTHING}",
    ]
    with (there.folder / "beliefs.csv").open(encoding="utf-8") as file:
        table = {row["student"]: row for row in csv.DictReader(file)}
    rows = {student: (row["points"], row["belief"]) for student, row in table.items()}
    assert re.fullmatch(r"case \d+ fails\. \(The belief behind .*\)", table["ben"]["said"])
    assert rows == {
        "anna": ("2.0", ""), "ben": ("0", HELD), "carl": ("0", beliefs.NOTHING), "dora": ("0", HELD)
    }  # fmt: skip
    curious = there.autograded("dora", lab.name).read_text("utf-8")
    assert "No such file or directory: '../../../gradebook.db'" in curious
    last = read(there.autograded("anna", lab.name)).cells[-1]
    assert last.source == 'print("done")' and not last.outputs, "no grade depends on it"
    hand_in(there, "ben", RIGHT)
    classroom.grade(there, said.append)
    assert said[7:] == ["07-sample: grading ben"]
    with there.gradebook.open(encoding="utf-8") as file:
        marks = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert marks == {"anna": 2, "ben": 2, "carl": 0, "dora": 0, "eve": 0}
