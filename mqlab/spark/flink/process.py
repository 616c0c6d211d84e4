"""One run of the job in processes of its own: Flink's Python, and the JVM that it starts.

They are a process group, so that kill -9 gets both at once. What they say goes to a file in the
job's folder.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from ..errors import IncomeError
from .home import Flink
from .statements import Job, settings, statements

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
                f"the Flink job has not ended within {PATIENCE_S:.0f} s: is the broker still there?"
            ) from None
        if code not in (0, -signal.SIGKILL):
            raise IncomeError(f"the Flink job failed: {last_words(self._log.read_text('utf-8'))}")

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
    return (causes or lines or ["it said nothing"])[-1]


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint below the folder: Flink writes `_metadata` last of all."""
    complete = [path.parent for path in folder.glob("*/chk-*/_metadata")]
    return max(complete, key=number_of, default=None)


def number_of(checkpoint: Path | None) -> int:
    """They count from 1, and on when a job is started again; 0 where there is none."""
    digits = re.search(r"\d+$", checkpoint.name) if checkpoint is not None else None
    return int(digits[0]) if digits else 0
