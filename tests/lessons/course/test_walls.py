"""What an answer reaches while it is graded: neither a file of the course or of this machine's
people, nor another process, nor more time and room than a notebook is given."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell

from mqlab.lessons.course import arriving, classroom, judging
from mqlab.lessons.course.classroom import Course
from mqlab.lessons.course.judging import APART, SANDBOXES, WALLED, Judge, Task
from mqlab.lessons.course.notebooks import read, text_of
from mqlab.places import LABS, PACKAGE

from .test_course import RIGHT, WRONG, hand_in, write_lab

WALLS_UP = [sandbox for sandbox in WALLED if judging.can_run_in(sandbox)]
pytestmark = [
    pytest.mark.skipif(not WALLS_UP, reason="this machine walls no program in"),
    pytest.mark.spread("mqlab/lessons/course"),
]
#: in a chroot no user namespace is given to anybody
CHROOT = (
    "unshare", "--mount", "sh", "-c", 'mount --rbind / "$0" && exec chroot "$0" env -C "$PWD" "$@"',
)  # fmt: skip


def can_chroot() -> bool:
    return os.geteuid() == 0 and judging.can_run_in(WALLED[1])


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Course]:
    """With a gradebook that holds a score, and a home folder with something in it."""
    there = classroom.teach([write_lab(tmp_path)], tmp_path / "term", print)
    hand_in(there, "anna", RIGHT)
    secret = Path.home() / f"mqlab-test-{os.getpid()}.txt"
    secret.write_text("a key", "utf-8")
    yield there
    secret.unlink()


def says(source: str, *before: str, sandbox: tuple[str, ...] = ()) -> str:
    """What a cell has printed in this sandbox, the best where none is named."""
    task = Task("lso", "lso", (source,))
    command = (*before, *(sandbox or WALLS_UP[0]), *APART)
    ((printed, error),) = judging.judge(task, command).ran
    assert error is None, error
    return printed


def sandboxes() -> list[object]:
    """Each with walls that this machine allows, and the one that is left in a chroot."""
    rows = [pytest.param((), one, id="user" if one is WALLED[0] else "root") for one in WALLS_UP]
    no = pytest.mark.skipif(not can_chroot(), reason="only root enters a chroot")
    return [*rows, pytest.param(CHROOT, WALLED[1], id="chroot", marks=no)]


@pytest.mark.parametrize(("before", "sandbox"), sandboxes())
def test_no_file_of_the_course_is_there(
    before: tuple[str, ...], sandbox: tuple[str, ...], course: Course, tmp_path: Path
) -> None:
    """Nor a home folder's, nor the labs' sources and solutions, nor the judge's process."""
    if before:
        (tmp_path / "root").mkdir()
        before = (*before, str(tmp_path / "root"))
    (secret,) = Path.home().glob(f"mqlab-test-{os.getpid()}.txt")
    looked_for = [
        str(path)
        for path in (
            course.folder / "gradebook.db",
            course.submitted("anna", "07-sample"),
            course.folder / "source",
            course.folder / "release",
            tmp_path,
            secret,
            LABS / "source",
            LABS / "solutions",
            LABS / "instructor",
        )
    ]
    assert all(Path(path).exists() for path in looked_for[:-3])
    said = says(
        "import os\n"
        f"print([one for one in {looked_for} if os.path.exists(one)])\n"
        "wanted = ('gradebook.db', 'submitted', 'solutions', 'instructor', 'nbgrader_config.py')\n"
        "print([os.path.join(top, one) for top, folders, files in os.walk('/')\n"
        "    if not top.startswith('/proc') and '/lib/' not in top\n"
        "    for one in (*folders, *files) if one in wanted])\n"
        "parents = []\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    parents += [pid] * (b'pytest' in open(f'/proc/{pid}/cmdline', 'rb').read())\n"
        "print(parents, os.getppid())",
        *before,
        sandbox=sandbox,
    )
    assert said == "[]\n[]\n[] 1\n"


@pytest.mark.parametrize("sandbox", WALLS_UP)
def test_nothing_outside_can_be_written_and_no_wall_taken_down(sandbox: tuple[str, ...]) -> None:
    said = says(
        "import ctypes, os, subprocess, sys\n"
        f"for path in ({str(PACKAGE / 'lab.py')!r}, sys.executable, '/proc/sys/kernel/hostname'):\n"
        "    try: open(path, 'ab'); print('wrote', path)\n"
        "    except OSError as error: print(error.strerror)\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.umount2(b'/usr/lib', 2), libc.chroot(b'/usr'), libc.unshare(0x10000000))\n"
        "print(subprocess.run(['unshare', '--user', 'true'], capture_output=True).returncode)\n"
        "for pid in (1, os.getppid()):\n"
        "    try: os.kill(pid, 9)\n"
        "    except OSError as error: print(error.strerror)\n"
        "print([line.split()[1] for line in open('/proc/self/status') if line[:6] == 'CapEff'])",
        sandbox=sandbox,
    )
    read_only = "Read-only file system\n"
    lines = said.replace("Permission denied\n", read_only).replace("Text file busy\n", read_only)
    assert lines == f"{read_only * 3}-1 -1 -1\n1\n['0000000000000000']\n"


def test_a_disk_is_not_filled() -> None:
    said = says(
        "try:\n    for number in range(40): open(f'x{number}', 'wb').write(bytes(40_000_000))\n"
        "except OSError as error: print(error.strerror)"
    )
    assert said == "No space left on device\n"


def test_what_an_answer_writes_into_the_gradebook_is_no_grade(course: Course) -> None:
    """A score that somebody gave by hand counts more than the judge's."""
    book = course.folder / "gradebook.db"
    classroom.grade(course, print)
    hand_in(
        course,
        "ben",
        f"{WRONG}import sqlite3\nwith sqlite3.connect({str(book)!r}) as book:\n"
        "    book.execute('UPDATE grade SET manual_score = 10')\n",
    )
    said: list[str] = []
    classroom.grade(course, said.append)
    assert said == ["07-sample: graded ben"]
    assert scores(book) == {"anna": (2.0, None), "ben": (0.0, None)}
    assert "unable to open database file" in course.autograded("ben", "07-sample").read_text()


def test_a_score_above_the_maximum_is_reported(course: Course) -> None:
    classroom.grade(course, print)
    with sqlite3.connect(course.folder / "gradebook.db") as book:
        book.execute("UPDATE grade SET manual_score = 10")
    said: list[str] = []
    classroom.grade(course, said.append)
    assert said == [
        "07-sample: anna has 10 of 2 points in lso-test: look at this score in the gradebook, no "
        "cell is worth more than its points"
    ]


def scores(book: Path) -> dict[str, tuple[float, float | None]]:
    """Student → what the judge gave, and what somebody gave by hand."""
    with sqlite3.connect(book) as db:
        rows = db.execute(
            "SELECT a.student_id, g.auto_score, g.manual_score FROM grade g"
            " JOIN submitted_notebook n ON g.notebook_id = n.id"
            " JOIN submitted_assignment a ON n.assignment_id = a.id"
        )
        return {student: (auto, manual) for student, auto, manual in rows}


# --- where there are no walls ---------------------------------------------------------------


def test_a_machine_without_walls_says_what_an_answer_can_do(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(classroom, "find_sandbox", lambda: ("unshare", "--net"))
    classroom.grade(course, said.append)
    (note,) = [line for line in said if line.startswith("note: ")]
    assert "can read and write your files" in note and "network" not in note
    config = course.folder / "nbgrader_config.py"
    text = config.read_text("utf-8").replace("c.ExecuteApart.command = []", f"{COMMAND}{APART}")
    config.write_text(text, "utf-8")
    said.clear()
    classroom.grade(course, said.append)
    assert not said, "the course has a container of its own"


COMMAND = "c.ExecuteApart.command = "


@pytest.mark.parametrize("sandbox", [*SANDBOXES, ()])
def test_which_sandbox_is_weak(sandbox: tuple[str, ...]) -> None:
    weak = judging.explain_weakness(sandbox)
    assert (not weak) == (sandbox in WALLED)
    assert ("use the network" in weak) == (not sandbox)


# --- how long, and how much -----------------------------------------------------------------

#: no signal stops it, and it has left others running
STUBBORN = """
import os, signal
for number in range(1, 65):
    try: signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    except (OSError, ValueError): pass
mark = "MARK"
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", mark])
        os._exit(0)
def lso(first_offsets, high_watermark):
    while True:
        pass
"""


def test_an_answer_that_ignores_signals_has_the_time_of_its_notebook() -> None:
    mark = f"{600 + time.time() % 1:.6f}"
    stubborn = Task("lso", "lso", (STUBBORN.replace("MARK", mark),))
    with Judge(notebook_s=4) as judge:
        first, second = judge.judge(stubborn), judge.judge(Task("lso", "lso", (RIGHT,)))
        assert judge.is_spent
    assert not first.ok and "all that a notebook is given" in first.says
    assert not second.ok and second.says.endswith("this answer was not run") and not second.ran
    for _ in range(100):
        told = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        if mark not in told.stdout:
            return
        time.sleep(0.1)
    pytest.fail("what it has left behind still runs")


@pytest.mark.parametrize(
    "cell",
    [
        "import os\nwhile True: print('x' * 1000)",
        "import os\nwhile True: os.write(2, b'x' * 1000)",
        "import os\nwhile True: os.write(1, b'x' * 1000)",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass",
    ],
)
def test_a_cell_without_an_end_has_the_time_of_its_notebook(cell: str) -> None:
    with Judge(notebook_s=3) as judge:
        result = judge.judge(Task("lso", "lso", (cell,)))
        assert not result.ok and judge.is_spent


def test_a_notebook_that_has_used_its_time_is_named(course: Course) -> None:
    config = course.folder / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8") + "c.ExecuteApart.notebook = 3\n", "utf-8")
    hand_in(course, "ben", STUBBORN.replace("MARK", "600"))
    said: list[str] = []
    classroom.grade(course, said.append)
    assert said == [
        "07-sample: graded anna",
        "07-sample: graded ben",
        "07-sample: ben: graded in part: its answers have kept the judge waiting for 3 s, which "
        "is all that a notebook is given",
    ]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["1"] * (arriving.MOST_CELLS + 1), "cells, and more than 2,000 are not graded"),
        (["1" * (arriving.MOST_SOURCE + 1)], "characters, and more than 1,000,000 are not graded"),
    ],
)
def test_a_notebook_that_is_too_long_is_named(cells: list[str], says: str, course: Course) -> None:
    hand_in(course, "ben", RIGHT)
    path = course.submitted("ben", "07-sample")
    notebook = read(path)
    notebook.cells += map(new_code_cell, cells)
    path.write_text(text_of(notebook), "utf-8")
    said: list[str] = []
    classroom.grade(course, said.append)
    assert said[0] == "07-sample: graded anna"
    assert said[1].startswith("07-sample: ben could not be graded: it") and says in said[1]
