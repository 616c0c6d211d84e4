"""The workload: two writers, a reader, and faults among them; then a reader who drains.

Faults come in turn, at times that the seed decides:

    pause    a writer is stopped, another one is started with its transactional id, and when that
             has taken over the first goes on as a zombie (not on Windows, which cannot stop a
             process)
    kill     a writer is killed (-9) and started again with the same transactional id
    reader   the reader is killed and a new one starts from the first offset

Besides, writers cut their own connections (`writer.py`).

It writes to topics that it makes itself. Nothing else of the cluster is touched.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ...kernel.text import BadValue, Text, WordedError, Words, tr
from ..checker import tell_tried
from ..history import merge
from . import reader, writer

# ---- A user's own client settings: lines `name=value`, as librdkafka names them ------
#
# security.protocol=SASL_SSL          both kinds of client, and the one that creates topics
# producer.linger.ms=20               the writers only
# consumer.isolation.level=read_uncommitted    the readers only

#: what the workload itself decides
SET_BY_WORKLOAD = ("bootstrap.servers", "transactional.id", "group.id", "enable.auto.commit")


class SettingsError(BadValue):
    """A file of settings that cannot be used; the message names the line."""


@dataclass(frozen=True)
class Settings:
    """`producer` and `consumer` hold what is said for one kind of client. `common`: for every
    client."""

    common: dict[str, str] = field(default_factory=dict)
    producer: dict[str, str] = field(default_factory=dict)
    consumer: dict[str, str] = field(default_factory=dict)


def read_settings(path: Path) -> Settings:
    """Read a user's client settings from a file of lines `name=value`; "producer." and "consumer."
    before a name give it to that client only. Raises SettingsError where the file cannot be read, a
    line is no setting, or names what the workload itself sets."""
    settings = Settings()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError("cannot read {}: {}", path, error) from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        name = name.strip()
        kind, _, rest = name.partition(".")
        group, key = (kind, rest) if kind in ("producer", "consumer") else ("common", name)
        if not equals or not key:
            raise SettingsError("{}: line {}: expected name=value", path, number)
        if key in SET_BY_WORKLOAD:
            raise SettingsError(
                "{}: line {}: {} is set by the workload: leave it out", path, number, key
            )
        getattr(settings, group)[key] = value.strip()
    return settings


PREFIX = "mqlab-check"
ERRORS = "errors.txt"
TOPICS, PARTITIONS, WRITERS = 2, 2, 2
ANSWER_S = 10.0
GRACE_S = 15.0
DRAIN_S = 60.0
TIMEOUT_MS = 10_000  # of a transaction that is never ended
FAULT_S = (1.0, 3.0)  # between two faults, from … to …
ZOMBIE, CUTS = "zombie", "cut"
TOLD = {
    ZOMBIE: tr("a writer continued after its successor had started"),
    "kill": tr("a writer was killed"),
    "reader": tr("a reader was killed"),
    CUTS: tr("a connection was cut under a writer, so that answers are lost"),
}
FAULTS = {
    "pause": tr("pause", "fault"), "kill": tr("kill", "fault"), "reader": tr("reader", "fault"),
}  # fmt: skip
NEVER = Words(
    "restarts and failovers of brokers, power cuts, consumer groups and their positions, "
    "transactions longer than {} s, more than {} writers"
)(TIMEOUT_MS // 1000, WRITERS)
DENIED = Words(
    "the cluster refuses a right, and says {}: allow CREATE, READ and WRITE of topics and WRITE "
    "of transactional ids whose names begin with {}"
)
BACKOFF_MS = 200  # at most, before a writer whose connection was cut connects again
HEIR_RESTS_S = 1.0  # before its first transaction, so that a zombie meets nothing but the fence
PAUSE_S = 0.02  # between two transactions of a writer


class ClusterError(WordedError):
    """The cluster does not answer or refuses; the message says what, and what to do next."""


@dataclass(frozen=True)
class Names:
    """What this test run calls its topics and transactional ids."""

    run: str

    @property
    def topics(self) -> list[str]:
        return [f"{PREFIX}-{self.run}-{number}" for number in range(TOPICS)]

    def transactional_id(self, number: int) -> str:
        return f"{PREFIX}-{self.run}-writer-{number}"


@dataclass
class Workload:
    """A test run against the cluster at `address`. `folder`: where each process keeps its history.
    `settings`: the user's; `seconds`: how long; `seed`: of the faults; `say`: where progress goes;
    `names`: of topics and ids; `tried`: how often each fault was inflicted."""

    address: str
    settings: Settings
    folder: Path
    seconds: float
    seed: int = 0
    say: Callable[[Text], None] = print
    names: Names = field(default_factory=lambda: Names(uuid.uuid4().hex[:8]))
    tried: Counter[str] = field(default_factory=Counter)
    _incarnations: Iterator[int] = field(default_factory=count)
    _readers: Iterator[int] = field(default_factory=count)
    _newest: dict[int, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Check the settings with a client of each kind, connect to the cluster and create the
        workload's topics. Raises ClusterError, with what is missing, where that cannot be done."""
        admin = self._try_settings()
        try:
            admin.list_topics(timeout=ANSWER_S)
        except KafkaException as error:
            raise ClusterError(
                "no Kafka broker answers at {}: {}; name a broker that runs, as HOST:PORT",
                self.address,
                _say(error),
            ) from error
        creations = admin.create_topics([NewTopic(name, PARTITIONS) for name in self.names.topics])
        for name, creation in creations.items():
            try:
                creation.result(ANSWER_S)
            except Exception as error:
                if denial := find_denied(str(error)):  # a right that is refused, and what to do
                    raise ClusterError(denial) from error
                why = _say(error)
                raise ClusterError("the cluster does not create {}: {}", name, why) from error

    def _try_settings(self) -> AdminClient:
        """ClusterError where a kind of client does not take its settings."""
        try:
            Producer(self._writer_config(0))
            Consumer(self._reader_config())
            return AdminClient(self._common())
        except (KafkaException, ValueError, TypeError) as error:
            raise ClusterError(
                "confluent-kafka refuses these settings: {}; correct the file of --config",
                _say(error),
            ) from error

    def read_errors(self) -> str:
        """What processes said before they ended, or nothing."""
        path = self.folder / ERRORS
        return path.read_text(errors="replace") if path.exists() else ""

    def run(self) -> None:
        """Run writers, a reader and faults for `seconds`, or until the cluster refuses a right. All
        processes have ended afterwards."""
        chance = random.Random(self.seed)
        faults = self._list_faults()
        deadline = time.monotonic() + self.seconds
        writers = {number: self._start_writer(number) for number in range(WRITERS)}
        others = [self._start_reader()]
        try:
            for number in count():  # the faults in turn
                next_fault_at = min(deadline, time.monotonic() + chance.uniform(*FAULT_S))
                self._keep_alive(writers, next_fault_at)  # waits until then
                if time.monotonic() >= deadline or find_denied(self.read_errors()):
                    break
                fault = faults[number % len(faults)]
                left = f"{max(0, deadline - time.monotonic()):5.0f}"
                self.say(Words("{} s left: {}")(left, FAULTS[fault]))
                self._inflict(fault, chance.randrange(WRITERS), writers, others)
        finally:
            _end_all([*writers.values(), *others])

    def drain(self) -> bool:
        """End what killed writers have left open, then read everything, as far as the cluster lets
        it; whether that was to the end of every partition."""
        if find_denied(self.read_errors()):
            return False
        for number in range(WRITERS):
            closing = Producer(self._writer_config(number))
            try:
                closing.init_transactions(ANSWER_S)
            except KafkaException as error:
                refused = Words("the cluster does not end what a writer left open: {}")
                self.say(refused(_say(error)))
                if not self._answers():
                    return False
        last = self._reader_job("last reader", DRAIN_S)
        return self._start("reader", last.to_json()).wait(DRAIN_S + GRACE_S) == 0

    def _answers(self) -> bool:
        try:
            AdminClient(self._common()).list_topics(timeout=ANSWER_S)
        except KafkaException:
            return False
        return True

    def keep(self, path: Path) -> None:
        """One history of all processes."""
        merge(sorted(self.folder.glob("*.jsonl")), path, writer.TOOL)

    # ---- processes ---------------------------------------------------------------------

    def _list_faults(self) -> list[str]:
        return (
            ["pause", "kill", "pause", "reader"]
            if hasattr(signal, "SIGSTOP")
            else ["kill", "reader"]
        )

    def _inflict(
        self,
        fault: str,
        number: int,
        writers: dict[int, subprocess.Popen[str]],
        others: list[subprocess.Popen[str]],
    ) -> None:
        """Inflict one fault: kill a writer and start its successor; pause one (SIGSTOP) between two
        transactions, let a successor take its id over and wake it as a zombie; or kill the reader
        and start another. `number`: of the writer; `others`: the reader first, then zombies."""
        self.tried[fault] += 1
        match fault:
            case "kill":
                writers[number].kill()
                writers[number].wait()
                writers[number] = self._start_writer(number)
            case "pause":
                zombie = writers[number]
                # "init": the history's line which says that a writer has taken the id over
                had_begun = self._wait_for(number, '"init"')
                self._stop_between(number, zombie)
                others.append(zombie)
                # (it rests before its first transaction: the zombie meets nothing but the fence)
                writers[number] = self._start_writer(number, HEIR_RESTS_S)
                # only if both have had the id, the one that wakes is a zombie
                if self._wait_for(number, '"init"') and had_begun:
                    self.tried[ZOMBIE] += 1
                zombie.send_signal(signal.SIGCONT)
            case "reader":
                others[0].kill()
                others[0].wait()
                others[0] = self._start_reader()

    def _stop_between(self, number: int, process: subprocess.Popen[str]) -> None:
        """Stop the newest writer of this number between two transactions: a successor would end
        one that is open, and leave nothing to commit. A writer that has begun the next one
        before the signal reached it goes on, and is stopped later."""
        until = time.monotonic() + ANSWER_S
        while process.poll() is None:
            self._wait_for(number, '"ended"', last=True)
            process.send_signal(signal.SIGSTOP)
            with suppress(ChildProcessError):  # it has ended by itself
                os.waitpid(process.pid, os.WUNTRACED)  # now it notes nothing more
            if self._has_noted(number, '"ended"', last=True) or time.monotonic() > until:
                return
            process.send_signal(signal.SIGCONT)

    def _wait_for(self, number: int, event: str, last: bool = False) -> bool:
        """Whether `_has_noted` becomes true in time."""
        until = time.monotonic() + ANSWER_S
        while time.monotonic() < until:
            if self._has_noted(number, event, last):
                return True
            time.sleep(0.002)
        return False

    def _has_noted(self, number: int, event: str, last: bool = False) -> bool:
        """Whether the newest writer of this number has noted such an event; `last`: and nothing
        after it."""
        path = self.folder / f"{self._newest[number]}.jsonl"
        noted = path.read_text("utf-8").splitlines() if path.exists() else []
        return any(event in line for line in (noted[-1:] if last else noted))

    def tell_tried(self) -> Iterator[Text]:
        """What was done to the cluster's clients, and what no test run of this workload does."""
        files = self.folder.glob(f"*{writer.CUT}")
        cuts = sum(len(one.read_text("utf-8").split()) for one in files)
        done = {name: self.tried[name] for name in (ZOMBIE, "kill", "reader")} | {CUTS: cuts}
        return tell_tried({TOLD[name]: n for name, n in done.items()}, NEVER)

    def _keep_alive(self, writers: dict[int, subprocess.Popen[str]], until: float) -> None:
        """Wait, and start a writer again that has ended by itself, but where a right is missing."""
        while time.monotonic() < until and not find_denied(self.read_errors()):
            for number, process in writers.items():
                if process.poll() is not None:
                    time.sleep(0.5)  # a cluster that refuses everybody is not asked in a busy loop
                    writers[number] = self._start_writer(number)
            time.sleep(0.05)

    def _start_writer(self, number: int, rest_s: float = 0.0) -> subprocess.Popen[str]:
        process = self._newest[number] = f"w{number}.{next(self._incarnations)}"
        job = writer.Job(
            process,
            str(self.folder / f"{process}.jsonl"),
            self._writer_config(number),
            self.names.topics,
            PARTITIONS,
            self.seed,
            PAUSE_S,
            rest_s,
        )
        return self._start("writer", job.to_json(), ends_with_input=True)

    def _start_reader(self) -> subprocess.Popen[str]:
        job = self._reader_job(f"reader {next(self._readers)}", 0)
        return self._start("reader", job.to_json(), ends_with_input=True)

    def _reader_job(self, process: str, drains_s: float) -> reader.Job:
        path = self.folder / f"{process.replace(' ', '-')}.jsonl"
        config, topics = self._reader_config(), self.names.topics
        return reader.Job(process, str(path), config, topics, PARTITIONS, drains_s)

    def _start(self, what: str, job: str, ends_with_input: bool = True) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"mqlab.check.kafka.{what}"],
            stdin=subprocess.PIPE,
            stderr=(self.folder / ERRORS).open("a"),
            text=True,
        )
        assert process.stdin is not None, "asked for"
        process.stdin.write(job + "\n")
        process.stdin.flush()
        return process

    # ---- settings ----------------------------------------------------------------------

    def _common(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.address, "log_level": 0, **self.settings.common}

    def _writer_config(self, number: int) -> dict[str, Any]:
        own = {
            "transactional.id": self.names.transactional_id(number),
            "transaction.timeout.ms": TIMEOUT_MS,
            "reconnect.backoff.max.ms": BACKOFF_MS,
        }
        return {**own, **self._common(), **self.settings.producer}

    def _reader_config(self) -> dict[str, Any]:
        own = {"group.id": f"{PREFIX}-{self.names.run}", "enable.auto.commit": False}
        return self._common() | self.settings.consumer | own


def _end_all(processes: list[subprocess.Popen[str]]) -> None:
    """In an orderly way; after GRACE_S, or where one is in our way, by force."""
    for process in processes:
        if process.stdin is not None:
            process.stdin.close()
    deadline = time.monotonic() + GRACE_S
    for process in processes:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()


def find_denied(words: str) -> Text | None:
    """A sentence about the first right that is refused in these words of clients, or None."""
    right = re.search(rf"\w+{writer.DENIED}", words)
    return DENIED(right[0], PREFIX) if right else None


def _say(error: BaseException) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if hasattr(cause, "str") else str(cause)
