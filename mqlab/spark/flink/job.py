"""Order → income per minute with Flink, from a file of orders to a checked result; its setup."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import venv
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...kernel.text import NO_REASON, Words, tr
from ...places import CACHE
from .. import feeder, topics
from ..errors import IncomeError
from ..files import DAY, Orders, need_same, read, version_of
from ..job import FEEDING, INCOME_PARTITIONS, Row, error_of, read_rows, write_minutes
from ..orders import pounds
from ..truth import (
    EQUAL,
    TOTAL,
    UNEQUAL,
    WRONG,
    Account,
    Truth,
    judge_lines,
    take_account,
    truth_of,
)
from .statements import SINKS, Job, settings, statements

# ---- Where Flink's own Python is, and how it is made ---------------------------------
#
# It cannot share Spark's environment: PyFlink 2.2 asks for a pyarrow and a protobuf that Spark's
# Python data sources do not run on. So it has one of its own below `.cache`, from a list of
# packages
# with their SHA-256; deleting it costs a minute and nothing else.

FOLDER = CACHE / "flink" / "venv"
LOCK = Path(__file__).with_name("requirements.lock")
PYTHONS = ((3, 11), (3, 12))  # those that PyFlink 2.2 and the list of packages are for


@dataclass(frozen=True, slots=True)
class Flink:
    """`python`: the interpreter that has PyFlink; `jar`: Flink's Kafka connector."""

    python: Path
    jar: Path


def find_python(folder: Path = FOLDER) -> Path:
    """The interpreter that has PyFlink. Raises IncomeError that says how to get it."""
    if not _is_complete(folder):
        raise IncomeError(
            "PyFlink is not installed: run `mqlab income flink --setup` (a minute or "
            "two, 830 MB, in its own environment)"
        )
    return folder / "bin" / "python"


MAKING = Words("making {}: PyFlink 2.2 and what it needs, 830 MB")
TOOK = Words("{:.1f} s, {:.1f} s of them the job")
RAN = Words("Flink ran for {}")


def make_python(say: Callable[[str], None], folder: Path = FOLDER) -> Path:
    """The Python interpreter of a virtual environment with PyFlink, which is made unless it is
    there with the present list of packages (an older one is removed). Raises IncomeError where this
    Python is not one of PYTHONS, or pip fails."""
    if _is_complete(folder):
        return find_python(folder)
    version = sys.version_info[:2]
    if version not in PYTHONS:
        raise IncomeError(
            "PyFlink 2.2 runs on Python 3.11 and 3.12, and this is {}.{}: run `make "
            "clean`, then `make setup PYTHON=python3.12`",
            version[0],
            version[1],
        )
    say(str(MAKING(folder)))
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    result = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet",
         "--disable-pip-version-check", "--require-hashes", "--requirement", LOCK],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR")]
        raise IncomeError(
            "pip could not install PyFlink: {}; run the same command again",
            errors[0] if errors else NO_REASON,
        )
    _stamp(folder).write_text(_digest())
    return find_python(folder)


def _is_complete(folder: Path) -> bool:
    stamp = _stamp(folder)
    return stamp.is_file() and stamp.read_text() == _digest()


def _stamp(folder: Path) -> Path:
    """Written when all packages are in: a digest of the list they came from."""
    return folder / "mqlab.stamp"


def _digest() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


# ---- One run of the job in processes of its own: Flink's Python, and the JVM that it starts
#
# They are a process group, so that kill -9 gets both at once. What they say goes to a file in the
# job's folder.

PROGRAM = Path(__file__).with_name("program.py")
PATIENCE_S = 600.0  # a year of orders takes half a minute
# As for Spark (session.py): the simple compiler and the serial collector suit short runs.
JAVA_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


class Process:
    """A started job; `with` ends it, if it has not ended by itself. Raises IncomeError."""

    def __init__(self, flink: Flink, job: Job) -> None:
        job.folder.mkdir(parents=True, exist_ok=True)
        self._log = job.folder / "flink.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [flink.python, "-P", PROGRAM],
                env=os.environ | {"JVM_ARGS": JAVA_FLAGS, "FLINK_LOG_DIR": str(job.folder)},
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, text=True,
                start_new_session=True,
            )  # fmt: skip
        task = {"settings": settings(job), "statements": statements(job)}
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it could not even start; wait() says why
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """kill -9 of Python and JVM."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def job_s(self) -> float:
        """Seconds from when Flink was up until the job was done, its planning included."""
        lines = re.findall(r'^\{"up".*', self._log.read_text("utf-8"), re.MULTILINE)
        times = json.loads(lines[-1])
        return float(times["done"] - times["up"])

    def wait(self) -> None:
        """Until the job has finished; a killed one raises nothing.

        Raises IncomeError with the job's own last words.
        """
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise IncomeError(
                "the Flink job did not end within {:.0f} s: check whether the broker is running",
                PATIENCE_S,
            ) from None
        if code not in (0, -signal.SIGKILL):
            raise IncomeError("the Flink job failed: {}", last_words(self._log.read_text("utf-8")))

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()


def last_words(log: str) -> str:
    """The innermost cause in a Java or Python traceback, else the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or [str(tr("its log is empty"))])[-1]


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint below the folder: Flink writes `_metadata` last of all."""
    complete = [path.parent for path in folder.glob("*/chk-*/_metadata")]
    return max(complete, key=number_of, default=None)


def number_of(checkpoint: Path | None) -> int:
    """They count from 1, and on when a job is started again; 0 where there is none."""
    digits = re.search(r"\d+$", checkpoint.name) if checkpoint is not None else None
    return int(digits[0]) if digits else 0


Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Seconds:
    """`whole`: from the start of Flink's processes to their end; `job`: of the job in them."""

    whole: float
    job: float

    def __str__(self) -> str:
        return str(TOOK(self.whole, self.job))


@dataclass(frozen=True, slots=True)
class Result:
    """What a job has computed, read back from topic Income, and what it should have. `rows`: of
    Income; `truth`, `account`: what they must be and how the lines add up; `seconds`: how long it
    took."""

    rows: list[Row]
    truth: Truth
    account: Account
    seconds: Seconds

    @property
    def right(self) -> bool:
        """Whether each minute is there once, with its sum and its number of lines, and each line of
        the file is in one place."""
        exact = not error_of(self.rows, self.truth) and bool(self.rows) and self.account.balanced
        return exact and {row.minute: row.lines for row in self.rows} == self.truth.lines

    def __str__(self) -> str:
        total, due = sum(row.tenths for row in self.rows), self.truth.total_tenths
        verdict = EQUAL if self.right else UNEQUAL if total != due else WRONG
        return "\n".join(
            [
                write_minutes(self.rows),
                "",
                str(self.account),
                str(TOTAL(pounds(total), "Flink", pounds(due), verdict)),
                str(RAN(self.seconds)),
            ]
        )


def income(
    flink: Flink,
    address: str,
    orders: Orders = DAY,
    *,
    sink: str = "exactly-once",
    say: Say = lambda line: None,
) -> Result:
    """Feed the orders to the broker at `address`, let Flink compute their income per minute, and
    compare it with the truth. Topics and job have a new name each time. `sink`: Flink's guarantee,
    one of SINKS.

    Raises IncomeError, whose text says what to do next.
    """
    if sink not in SINKS:
        raise IncomeError(
            "Flink's Kafka sink is one of {}; {!r} belongs to Spark", ", ".join(SINKS), sink
        )
    version = version_of(orders)
    reading = read(orders)
    if reading.note:
        say(f"{reading.name}: {reading.note}")
    with (
        topics.broker_errors(address),
        tempfile.TemporaryDirectory(prefix="mqlab-flink-") as folder,
    ):
        where = Path(folder)
        if not topics.answers(address):
            raise topics.unreachable(address)
        span = topics.read_span(address)  # the times that the broker takes
        records = feeder.records_of(reading, span)
        if not records:
            raise IncomeError("the file has no order lines: give one that has some")
        run = uuid.uuid4().hex[:8]
        job = Job(
            address, f"Order-{run}", f"Income-{run}", ends_of(records), sink, where, flink.jar
        )
        say(str(FEEDING(n=len(records), topic=job.source)))
        feeder.feed(address, job.source, records)
        topics.create(address, job.topic, INCOME_PARTITIONS)
        say(str(tr("starting Flink")))
        seconds = run_to_end(flink, job)
        say(str(tr("reading the result back, and computing it again without Flink")))
        need_same(orders, version)
        rows, true = read_rows(address, job.topic), truth_of(orders, span)
        rejected = judge_lines(reading, records)
        account = take_account(reading, true, sum(row.lines for row in rows), rejected, where)
        return Result(rows, true, account, seconds)


def ends_of(records: list[feeder.Record]) -> tuple[int, ...]:
    """Where each partition of topic Order ends when all of them are fed."""
    return tuple(len(part) for part in feeder.split(records, INCOME_PARTITIONS))


def run_to_end(flink: Flink, job: Job) -> Seconds:
    """The job until it has finished. Raises IncomeError."""
    started = time.monotonic()
    with Process(flink, job) as process:
        process.wait()
        return Seconds(time.monotonic() - started, process.job_s)
