"""The judge: compares answers with the engine, outside of the process in which they run.

A lab's notebook comes as cells. Those that an answer depends on go, as source, to another process
(`mqlab.lessons.course.apart`), behind walls where the machine has some (`walls`, beside it). The
judge asks that process what the answer says, compares, and finds the verdict itself. So whatever a
cell does, to Python, to IPython, to our modules or to the wire, it can only change what *it*
answers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ...kernel import spoken
from ..check import pause_limit
from .answering import Ask, build_answer
from .graded import find_exercise
from .wire import Message, Wire, WireError, encode

# ---- Answers that were judged before: who answers every question alike gets the same verdict
#
# A search over every schedule takes seconds, and half of a class gives the same answer. What a
# judge asks next depends on nothing but the answers it got before, so the questions about an
# exercise form a tree. An answer is led along it, question by question; where it says something
# new, it is judged in full, and the tree grows.

Verdict = tuple[bool, str]


@dataclass
class _Node:
    """What is asked here and where each answer to it leads, or the verdict."""

    question: Message | None = None
    next: dict[str, _Node] = field(default_factory=dict)
    verdict: Verdict | None = None


class Known:
    """The trees of one process, by the exercise with the language of its verdicts, and what
    the answer is if it is no function."""

    def __init__(self) -> None:
        self._trees: dict[tuple[str, str], _Node] = {}

    def judge(
        self, exercise: str, value: Any, ask: Ask, judge: Callable[[Ask], Verdict]
    ) -> Verdict:
        """The verdict on an answer to this exercise with this input (`value`), from the cache if it
        is there: an answer that gives the same values to the same questions gets the same verdict.
        Otherwise `judge` is called, and its questions are recorded with the values and the
        verdict."""
        root = self._trees.setdefault((exercise, _key(value)), _Node())
        # asks the questions that were recorded, as long as the answers are those of an earlier time
        cached = _walk(root, ask)
        if cached is not None:
            return cached
        node = root  # the questions with their answers are a path from it

        def ask_and_record(*question: Any) -> Message:
            nonlocal node
            answer = ask(*question)
            node.question = question
            node = node.next.setdefault(_key(answer), _Node())
            return answer

        verdict = judge(ask_and_record)
        node.verdict = verdict
        return verdict


def _walk(node: _Node, ask: Ask) -> Verdict | None:
    """Ask what was asked before as long as the answers are known too."""
    while node.verdict is None:
        if node.question is None:
            return None
        following = node.next.get(_key(ask(*node.question)))
        if following is None:
            return None
        node = following
    return node.verdict


def _key(value: Any) -> str:
    """Equal for equal values of the same types, and for no others."""
    return json.dumps(encode(value))


# ---- the judge ------------------------------------------------------------------------

APART = (sys.executable, "-I", "-m", "mqlab.lessons.course.apart")
AS_ROOT = ("unshare", "--user", "--map-root-user")
ALONE = ("--net", "--pid", "--fork", "--kill-child")
WALLS = ("--ipc", "--mount", sys.executable, "-I", "-m", "mqlab.lessons.course.walls")
#: with walls: it sees no file of this machine's people; the second is for root in a chroot
WALLED = ((*AS_ROOT, *ALONE, *WALLS), ("unshare", *ALONE, *WALLS))
#: tried in this order: a machine, or its administrator, may allow less
SANDBOXES = (
    *WALLED, (*AS_ROOT, *ALONE, "--mount-proc"), (*AS_ROOT, "--net"), ("unshare", "--net"),
)  # fmt: skip
#: the warning for a class whose answers are run in less than that
UNWALLED = (
    "this machine lets no program be walled in (Linux with `unshare`, user namespaces or root): an "
    "answer that is graded can read and write your files, this course among them"
)
FAILED = (
    "not yet: the judge itself failed at this answer, and judged the others: {kind}: {error}. "
    "Please report it with the answer"
)
NETWORK = ", and use the network"
IN_A_CONTAINER = "; to prevent it run the answers in a container (labs/instructor/README.md)"
# All that a grading process gets from this one: where programs are and how text is written.
ENVIRONMENT = ("PATH", "JAVA_HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT")
#: what is sent to a function that has made a call and waits
INSIDE = ("result", "raise", "leave")
Ran = tuple[tuple[str, tuple[str, str] | None], ...]
ANSWER_S = 60.0  # until one question is answered; a function is stopped long before
JUDGE_S = 300.0  # for all questions about one answer
NOTEBOOK_S = 120.0  # for all answers of a notebook: so long the process with them is waited for
START_S = 120.0  # a container takes its time
MOST_LOG = 4_000

KNOWN = Known()


class GradingError(Exception):
    """A submission that could not be run to its end; the message says why."""


@dataclass(frozen=True)
class Task:
    """An answer to be judged: the sources of the cells it depends on, and what it is called."""

    exercise: str
    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """`says`: the verdict in words. `ran`: for each cell of the task what it printed, and the name
    and the words of its error or None: the submission's own claims, for a person to read."""

    ok: bool
    says: str
    ran: Ran = ()


def judge(task: Task, command: Sequence[str] = (), timeout_s: float = ANSWER_S) -> Result:
    """What one answer gets; see `Judge`."""
    with Judge(command, timeout_s) as judge:
        return judge.judge(task)


class Judge:
    """Judges the answers of one submission. `command`: what runs `course.apart`; empty: a process
    of this machine, in the best sandbox it allows. `timeout_s`: for the cells of one answer;
    `notebook_s`: for all cells and all that answers are asked. `is_spent`: this was not enough."""

    def __init__(
        self,
        command: Sequence[str] = (),
        timeout_s: float = ANSWER_S,
        notebook_s: float = NOTEBOOK_S,
    ) -> None:
        self._command = tuple(command) or (*find_sandbox(), *APART)
        self._timeout_s = timeout_s
        self._notebook_s = self._left_s = notebook_s
        self._process: Process | None = None

    @property
    def is_spent(self) -> bool:
        return self._left_s <= 0

    @property
    def spent(self) -> str:
        """What is said of a notebook that has used all its time."""
        return (
            f"its answers have kept the judge waiting for {self._notebook_s:.0f} s, which is all "
            "that a notebook is given"
        )

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *given: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def judge(self, task: Task) -> Result:
        """Run a task's cells (those that an answer depends on) in the process for answers, and
        judge the answer that they define. Where it cannot be asked, or the time of the notebook is
        spent, the result says so. Raises GradingError where the process cannot be started."""
        if self.is_spent:
            return Result(False, f"not yet: {self.spent}: this answer was not run")
        if self._process is None:
            self._process = Process(self._command)
            self._process.wait_until_ready()
        ran: Ran = ()
        try:
            wire = self._process.wire
            wire.say("run", task.cells, task.name)
            ran = _read_ran(self._hear(wire, self._timeout_s), len(task.cells))
            result = self._judge(task, wire, ran)
            wire.say("done")  # the answer's own process may end
            if self._hear(wire) != ("ended",):  # what is said when that one has
                self._end()
            return result
        except WireError as error:
            self._end()
            why = self.spent if self.is_spent else error
            sentence = f"not yet: the program with this answer cannot be asked: {why}"
            return Result(False, sentence, ran)
        except BaseException:  # what it still sends would be taken for the next answer's
            self._end()
            raise

    def _hear(self, wire: Wire, most_s: float = ANSWER_S) -> Message:
        """What the process says next; WireError where it has not, in that time or in all its time
        for the notebook."""
        began = time.monotonic()
        try:
            return wire.hear(min(most_s, max(self._left_s, 0)))
        finally:
            self._left_s -= time.monotonic() - began

    def _judge(self, task: Task, wire: Wire, ran: Ran) -> Result:
        """Judge the answer to a task, of which the process has just run the cells (`ran`): a value,
        or functions that stay there and are called question by question. Verdicts come from KNOWN
        where the same was answered before. Raises WireError where the process sends something
        else."""
        # kind: "value", or of what kind the answer's functions are (`build_answer`)
        exercise, kind = find_exercise(task.exercise)
        match self._hear(wire):
            case ("value", value):
                pass
            case ("nothing",):
                return Result(False, _explain_missing(task.name, ran), ran)
            case _:
                raise WireError("it did not say what its answer is")
        conversation = _Talk(wire, self._hear)

        def search(ask: Ask) -> tuple[bool, str]:
            try:
                verdict = exercise.check(build_answer(kind, value, ask), graded=True)
            except GradingError:
                raise
            except Exception as error:  # it costs this answer, and no other one of the notebook
                return False, FAILED.format(kind=type(error).__name__, error=error)
            return verdict.ok, str(verdict)

        # Only values are keys of the cache: the text of a function has its address in it.
        constant = value if kind == "value" else None
        try:
            # a verdict is words, so each language has its own
            exercise_key = f"{task.exercise} in {spoken()}"
            result = Result(*KNOWN.judge(exercise_key, constant, conversation.ask, search), ran)
            conversation.leave()  # a function that still waits for an answer ends
        except Lost as lost:
            raise WireError(str(lost)) from lost
        return result


class _Talk:
    """Question after question about one answer. A function that waits for what its own call comes
    to is left before anything else is asked."""

    def __init__(self, wire: Wire, hear: Callable[[Wire], Message]) -> None:
        self._wire, self._hear = wire, hear
        self._until = time.monotonic() + JUDGE_S
        self._is_inside = False

    def ask(self, *message: Any) -> Message:
        if message[0] not in INSIDE:
            self.leave()
        answer = self._swap(*message)
        self._is_inside = answer[:1] == ("ask",)
        return answer

    def leave(self) -> None:
        if self._is_inside:
            self._is_inside = False
            self._swap("leave")

    def _swap(self, *message: Any) -> Message:
        if time.monotonic() > self._until:
            raise Lost(f"its answers took more than {JUDGE_S:.0f} s")
        try:
            with pause_limit():
                self._wire.say(*message)
                return self._hear(self._wire)
        except WireError as error:
            raise Lost(str(error)) from error


class Lost(BaseException):
    """The answer cannot be asked any more. No `Exception`: an exercise would take it for one that
    the student's function raised."""


def _read_ran(reply: Message, count: int) -> Ran:
    """What became of the cells; WireError where that is not reported."""
    match reply:
        case ("ran", tuple(cells)) if len(cells) == count:
            return tuple(map(_read_cell, cells))
        case ("ended",):
            raise WireError("it has ended")
    raise WireError("it did not say what became of its cells")


def _read_cell(cell: Any) -> tuple[str, tuple[str, str] | None]:
    match cell:
        case (None, str(printed)):
            return printed, None
        case ((str(name), str(words)), str(printed)):
            return printed, (name, words)
    raise WireError("it did not say what became of its cells")


def _explain_missing(name: str, ran: Ran) -> str:
    errors = [error for _, error in ran if error is not None]
    why = (
        f"the cell that makes it ended with {': '.join(errors[-1])}"
        if errors
        else ("no cell before this one makes it")
    )
    return f"not yet: there is no `{name}`: {why}"


# --- the process with the answers --------------------------------------------------------------


@cache
def find_sandbox() -> tuple[str, ...]:
    """What to put before a command so that it reaches neither files of people nor the network nor
    other processes, or as little of that as this machine allows; empty where it allows nothing."""
    return next(filter(can_run_in, SANDBOXES), ())


def can_run_in(sandbox: Sequence[str]) -> bool:
    """Whether this machine allows it, and this package is found in there."""
    try:
        with tempfile.TemporaryDirectory(prefix="mqlab-grading-") as folder:
            command = [*sandbox, sys.executable, "-I", "-c", "import mqlab"]
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=START_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def explain_weakness(sandbox: Sequence[str]) -> str:
    """What an answer can do in a sandbox that it should not; nothing where it cannot."""
    if sandbox in WALLED:
        return ""
    return f"{UNWALLED}{'' if '--net' in sandbox else NETWORK}{IN_A_CONTAINER}"


class Process:
    """`command`, in an empty folder and with an environment that says nothing of the course."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the process in which the cells of students' answers run, in an empty folder of its
        own. Raises GradingError where the command cannot be started."""
        self._folder = tempfile.TemporaryDirectory(prefix="mqlab-grading-")
        own_folders = {
            "HOME": self._folder.name, "TMPDIR": self._folder.name, "PYTHONDONTWRITEBYTECODE": "1",
            "IPYTHONDIR": self._folder.name,
        }  # fmt: skip
        # of this process's variables only those that a Python program needs to start
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        try:
            self._process = subprocess.Popen(
                list(command), cwd=self._folder.name, env={**environment, **own_folders},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            self._folder.cleanup()
            raise GradingError(f"the command for grading cannot be started: {error}") from error
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        self.wire = Wire(stdout.fileno(), stdin.fileno())
        # what the process prints as errors is read beside, or a full pipe would stop it
        self._log = b""
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        while more := self._process.stderr.read(65_536):
            self._log = (self._log + more)[-MOST_LOG:]

    def wait_until_ready(self) -> None:
        """GradingError with the command's own last word where it cannot run answers."""
        try:
            ready = self.wire.hear(START_S) == ("ready",)
        except WireError:
            ready = False
        if not ready:
            self.end()
            log = self._log.decode("utf-8", "replace").splitlines()
            last = next((line for line in reversed(log) if line.strip()), "it did not say why")
            raise GradingError(f"the submission could not be run: {last}")

    def end(self) -> None:
        """Also what a submission has left behind."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except OSError:
            self._process.kill()
        self._process.wait()
        self._reader.join(5)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._folder.cleanup()
