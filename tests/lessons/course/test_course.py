"""A course folder: what may be deleted, what is released, how a submission is run and counted."""

from __future__ import annotations

import csv
import hashlib
import importlib
import inspect
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
import zipfile
from copy import deepcopy
from io import BytesIO
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from nbgrader.apps import ZipCollectApp

from mqlab.cli import main
from mqlab.lessons.choice import RUNS
from mqlab.lessons.course import arriving, beliefs, classroom, grading, judging, package, repairing
from mqlab.lessons.course import classroom as course
from mqlab.lessons.course import package as copies
from mqlab.lessons.course.classroom import (
    REAL,
    SAMPLE,
    STUDENTS,
    ClassError,
    Course,
    clear_sample,
    create,
    fill_in,
)
from mqlab.lessons.course.judging import Task
from mqlab.lessons.course.notebooks import (
    Lab,
    build,
    labs_in,
    read,
    read_source,
    student_copy,
    text_of,
)
from mqlab.lessons.lost import ELSEWHERE, RUN
from tests.project.sources import ROOT

from .sample_lab import SAMPLE as LAB

WRONG = "def lso(first_offsets, high_watermark):\n    return high_watermark\n"
RIGHT = (
    "def lso(first_offsets, high_watermark):\n    return min([*first_offsets, high_watermark])\n"
)
CURIOUS = WRONG + "print(len(open('../../../gradebook.db', 'rb').read()))\n"
HELD = "the high watermark decides"


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


def keep_in(said: list[str]) -> classroom.Say:
    """All that is said but the note on a machine that walls no program in."""
    return lambda line: None if line.startswith("note: this machine") else said.append(line)


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
    said = r"contains more .*(anna|notes\.txt).* Nothing was deleted"
    with pytest.raises(ClassError, match=said):
        clear_sample(there.folder, STUDENTS)
    assert (there.folder / trace).exists()


def test_a_student_who_stands_in_the_gradebook_only_keeps_it(tmp_path: Path) -> None:
    there = create(tmp_path / "sample", SAMPLE)
    with course.tools(), there.book() as book:
        book.add_student("anna")
    with pytest.raises(ClassError, match=r"contains more .*anna"):
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
    with zipfile.ZipFile(package.write_package(there)) as zipped:
        names = set(zipped.namelist())
        zipped.extractall(tmp_path / "unpacked")
        setup = zipped.getinfo("mqlab/.ci/setup").external_attr >> 16
    assert {"mqlab/Makefile", "mqlab/mqlab/__init__.py", "mqlab/requirements.lock"} <= names
    assert [name for name in names if name.endswith(".ipynb")] == ["mqlab/labs/07-sample.ipynb"]
    assert not any("/source/" in n or "/solutions/" in n or "/instructor/" in n for n in names)
    assert not any(name.startswith("mqlab/tests") or ".pyc" in name for name in names)
    played = {*(run.story for run in RUNS.values()), RUN, *ELSEWHERE}
    told = {f"mqlab/datasets/scenarios/{story}.scn" for story in played}
    stories = {name for name in names if "/scenarios/" in name}
    assert told < stories and len(stories) < 18, "another story may answer an exercise"
    assert setup & 0o100, "`make lab` runs it"
    readme = (tmp_path / "unpacked" / "mqlab" / "README.md").read_text("utf-8")
    assert "make lab" in readme and "solutions" not in readme
    labs = tmp_path / "unpacked" / "mqlab" / "labs"
    assert "BEGIN SOLUTION" not in (labs / "07-sample.ipynb").read_text("utf-8")
    copies.lay_out(labs, tmp_path / "mine", print)
    assert [path.name for path in (tmp_path / "mine").glob("*.ipynb")] == ["07-sample.ipynb"]


# --- how a submission is run --------------------------------------------------------------


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
    cells = [*map(new_code_cell, before), new_code_cell("answer = x")]
    assert grading.find_needed_cells(cells, "answer") == [*wanted, len(before)]


def ran(source: str, command: tuple[str, ...] = (), timeout_s: float = 60) -> str:
    """What the cell printed, or what its error said."""
    task = Task("lso", "lso", (source,))
    ((printed, error),) = judging.judge(task, command, timeout_s).ran
    return error[1] if error else printed


def test_a_submission_is_run_without_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_SECRET", "42")
    said = ran(
        "import os\n"
        "names = set(os.listdir()) - {'profile_default'}\n"
        "print(os.path.basename(os.getcwd())[:14], names, os.environ.get('COURSE_SECRET'))"
    )
    assert said == "mqlab-grading- set() None\n"


@pytest.mark.skipif(not judging.find_sandbox(), reason="this machine lets nobody cut the network")
def test_a_submission_reaches_no_network_while_it_is_graded() -> None:
    """A server of this machine that a test reaches, and a submission does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        look = (
            f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)\nprint('through')"
        )
        plain = (sys.executable, "-I", "-m", "mqlab.lessons.course.apart")
        assert ran(look, plain) == "through\n"
        assert "through" not in ran(look)


def test_a_cell_that_prints_without_end_is_capped() -> None:
    said = ran("print('x' * 60_000_000)")
    assert len(said) < 21_000 and said.endswith(
        "59,980,001 more characters were printed and are left out"
    )


def test_what_a_cell_writes_past_python_is_no_answer() -> None:
    forged = "import os\nfor fd in range(1, 20):\n    try: os.write(fd, b'[[]]')\n"
    result = judging.judge(Task("lso", "lso", (f"{forged}    except OSError: pass",)))
    assert not result.ok


def test_what_a_submission_leaves_running_is_ended() -> None:
    mark = f"{time.time_ns()}"
    ran(
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}'])"
    )
    for _ in range(100):
        told = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        if mark not in told.stdout:
            return
        time.sleep(0.1)
    pytest.fail("it still runs")


@pytest.mark.parametrize(
    "program", ["print('no outputs')", "import sys; sys.exit('no such image: x')"]
)
def test_a_grader_that_does_not_answer_is_named(program: str) -> None:
    last = "no such image: x" if "image" in program else "it did not say why"
    with pytest.raises(judging.GradingError, match=f"could not be run: {last}"):
        ran("1", (sys.executable, "-c", program))


def test_cells_that_do_not_come_to_an_end_are_stopped() -> None:
    result = judging.judge(Task("lso", "lso", ("while True: pass",)), timeout_s=1)
    assert not result.ok and "it has not answered in time" in result.says


def test_a_grader_that_is_not_there_is_named() -> None:
    with pytest.raises(judging.GradingError, match=r"cannot be started: .*'no-such-docker'"):
        ran("1", ("no-such-docker", "run"))


# --- grading a class and counting its beliefs ---------------------------------------------


def test_an_answer_without_a_named_belief_is_counted_by_what_went_wrong() -> None:
    said = "the producer was told ok before its batch was in the log: the leader dies in between"
    assert beliefs._belief(said) == "the producer was told ok before its batch was in the log"
    assert beliefs._belief("it fails. (The belief behind it: a: b.)") == "a: b"
    assert beliefs._belief("(NameError: name 'x')") == "(NameError: name 'x')"


def test_a_class_is_graded_once_and_its_beliefs_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = write_lab(tmp_path)
    said: list[str] = []
    there = classroom.teach([lab], tmp_path / "term", print)
    given = {"anna": RIGHT, "ben": WRONG, "carl": "", "dora": CURIOUS, "eve": RIGHT}
    for student, code in given.items():
        hand_in(there, student, code)
    there.submitted("eve", lab.name).write_text("{", "utf-8")
    lost = there.folder / "submitted" / "fred" / "07-sample (1).ipynb"
    lost.parent.mkdir()
    lost.write_bytes(there.submitted("anna", lab.name).read_bytes())
    classroom.grade(there, keep_in(said))
    assert said[:4] == [f"07-sample: graded {who}" for who in list(given)[:4]]
    assert said[4].startswith("07-sample: eve could not be graded: ")
    assert said[5:] == [
        "not graded: submitted/fred/07-sample (1).ipynb "
        "(a notebook goes to submitted/STUDENT/LAB/LAB.ipynb)"
    ]
    lost.unlink()
    shutil.rmtree(there.submitted("eve", lab.name).parents[1])
    capsys.readouterr()
    assert main(["class", str(there.folder), "--report"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "07-sample  lso-test: 1 of 4 right",
        f"     2 × {HELD} [17 claims-check]",
        f"     1 × {beliefs.NOTHING}",
    ]
    with (there.folder / "beliefs.csv").open(encoding="utf-8") as file:
        table = {row["student"]: row for row in csv.DictReader(file)}
    rows = {student: (row["points"], row["belief"]) for student, row in table.items()}
    assert table["ben"]["said"].startswith("everything below the high watermark is replicated")
    assert rows == {
        "anna": ("2.0", ""), "ben": ("0", HELD), "carl": ("0", beliefs.NOTHING), "dora": ("0", HELD)
    }  # fmt: skip
    curious = there.autograded("dora", lab.name).read_text("utf-8")
    assert "No such file or directory: '../../../gradebook.db'" in curious
    last = read(there.autograded("anna", lab.name)).cells[-1]
    assert last.source == 'print("read up to", deep)' and not last.outputs, "no grade depends on it"
    hand_in(there, "ben", RIGHT)
    classroom.grade(there, keep_in(said))
    assert said[6:] == ["07-sample: graded ben"]
    with there.gradebook.open(encoding="utf-8") as file:
        marks = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert marks == {"anna": 2, "ben": 2, "carl": 0, "dora": 0, "eve": 0}


def test_a_copied_and_a_deleted_cell_are_named_and_the_others_graded(tmp_path: Path) -> None:
    there = classroom.teach([write_lab(tmp_path)], tmp_path / "term", print)
    released = read(there.released("07-sample"))
    whole = fill_in(released, {"lso": RIGHT})
    copied, deleted = deepcopy(whole), deepcopy(whole)
    names = [repairing.name_of(cell) for cell in whole.cells]
    copied.cells.insert(names.index("lso") + 1, deepcopy(whole.cells[names.index("lso")]))
    del deleted.cells[names.index("lso-test")]
    assert repairing.repair(deepcopy(whole), released) == []
    assert list(map(str, repairing.repair(copied, released))) == [
        "the cell “lso” is there twice: the second is taken as an ordinary one"
    ]
    assert list(map(str, repairing.repair(deleted, released))) == [
        "the cell “lso-test” was deleted: it is put back as it was released"
    ]
    for repaired in (copied, deleted):
        found = [name for cell in repaired.cells if (name := repairing.name_of(cell))]
        assert found == ["lso", "lso-test"]


NOW = "2026-01-01 10:00:00.000000 UTC"


def fill_inbox(there: Course, lab: str) -> None:
    """Somebody honest, and five who have a teacher's files handed in, or stop the whole grading."""
    notebook = text_of(fill_in(read(there.released(lab)), {"lso": WRONG}))
    inbox = {who: there.inbound / f"{who}+{lab}+{NOW}" for who in ("ann", "bea", "cy", "di", "ed")}
    for who in ("ann", "bea", "cy", "ed"):
        inbox[who].mkdir()
        (inbox[who] / f"{lab}.ipynb").write_text(notebook, "utf-8")
    solution = there.folder / "source" / lab / f"{lab}.ipynb"
    (inbox["bea"] / f"{lab}.ipynb").unlink()
    (inbox["bea"] / f"{lab}.ipynb").symlink_to(solution)
    os.mkfifo(inbox["cy"] / "pipe")
    inbox["di"].symlink_to(solution.parent)
    os.truncate(inbox["ed"] / f"{lab}.ipynb", arriving.MOST_BYTES + 1)
    (there.inbound / f"flo+{lab}+soon").mkdir()


def fill_archive(there: Course, lab: str) -> None:
    """Zips of a learning platform: a path that leads out, a bomb, an archive in an archive, a link,
    and no zip at all."""
    notebook = text_of(fill_in(read(there.released(lab)), {"lso": RIGHT}))
    archive = there.folder / "downloaded" / lab / "archive"
    nested = BytesIO()
    with zipfile.ZipFile(nested, "w") as inner:
        inner.writestr(f"{lab}.ipynb", notebook)
    link = zipfile.ZipInfo(f"{lab}.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    (archive / "gina" / "my-labs").mkdir(parents=True)
    (archive / "gina" / "my-labs" / f"{lab}.ipynb").write_text(notebook, "utf-8")
    (archive / "hans.zip").write_bytes(b"PK, but no zip")
    for who, member, data in (
        ("anna", f"my-labs/{lab}.ipynb", notebook),
        ("ben", f"../../../../submitted/anna/{lab}/{lab}.ipynb", notebook),
        ("carl", f"{lab}.ipynb", " " * (arriving.MOST_BYTES + 1)),
        ("dora", "more.zip", nested.getvalue()),
        ("eve", link, str(there.folder / "source" / lab / f"{lab}.ipynb")),
    ):
        with zipfile.ZipFile(archive / f"{who}.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr(member, data)
            if who == "anna":
                zipped.writestr(f"copy/{lab}.ipynb", "{}")


@pytest.mark.spread("mqlab/lessons/course")
def test_of_what_strangers_hand_in_notebooks_are_taken_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = write_lab(tmp_path).name
    said: list[str] = []
    there = classroom.teach([write_lab(tmp_path)], tmp_path / "term", print)
    fill_inbox(there, lab)
    fill_archive(there, lab)
    monkeypatch.chdir(there.folder)
    collect = ZipCollectApp()
    collect.initialize([lab])
    collect.start()
    taken = {f"{who}/{lab}/{lab}.ipynb" for who in ("anna", "ben", "eve", "gina")}
    assert contents(there.folder / "submitted").keys() == taken
    assert there.submitted("anna", lab).read_text("utf-8") != "{}", "the first is taken"
    there.submitted("ben", lab).unlink()  # what an `unzip` by hand would have left
    there.submitted("ben", lab).symlink_to(there.folder / "source" / lab / f"{lab}.ipynb")
    classroom.grade(there, keep_in(said))
    assert contents(there.folder / "submitted").keys() == taken | {f"ann/{lab}/{lab}.ipynb"}
    assert sorted(line for line in said if "not collected" in line) == [
        f"{lab}: not collected: bea+{lab}+{NOW}: {lab}.ipynb is a link",
        f"{lab}: not collected: cy+{lab}+{NOW}: pipe is no file",
        f"{lab}: not collected: di+{lab}+{NOW}: di+{lab}+{NOW} is a link",
        f"{lab}: not collected: ed+{lab}+{NOW}: {lab}.ipynb is larger than 20 MB",
        f"{lab}: not collected: flo+{lab}+soon is no name that nbgrader gives",
    ]
    graded = [line for line in said if " graded" in line]
    assert graded[3].startswith(f"{lab}: eve could not be graded: ")
    assert graded[:3] + graded[4:] == [
        f"{lab}: graded ann",
        f"{lab}: graded anna",
        f"{lab}: ben could not be graded: {lab}.ipynb is a link: ask for the notebook again",
        f"{lab}: graded gina",
    ]
    assert any("claims to be submitted by ann but is owned by" in line for line in said)
