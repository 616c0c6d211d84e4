"""`mqlab real kafka start|record|compare`: a real broker, and the engine beside it."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UserError

HELP = "start a real Kafka, record what it answers, compare the engine with it"


DEFAULT = "4.3.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("broker", choices=("kafka",), help="whose protocol")
    parser.add_argument("task", choices=("start", "record", "compare"), help="what to do")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="only these")
    parser.add_argument("--version", default=DEFAULT, help=f"of Kafka (default: {DEFAULT})")
    parser.add_argument(
        "--transaction-version", type=int, choices=(2, 0), help="of the cluster (default: both)"
    )
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1, help="start: how many")
    parser.add_argument("--real", action="store_true", help="compare: the real broker again")
    parser.add_argument("--page", action="store_true", help="compare: write DIFFERENCES.md too")


def run(args: argparse.Namespace) -> int:
    from mqlab.real.kafka.jars import RealBrokerError

    try:
        return {"start": _start, "record": _record, "compare": _compare}[args.task](args)
    except RealBrokerError as error:
        raise UserError(str(error)) from error
    except ValueError as error:
        raise UserError(str(error)) from error


def _levels(args: argparse.Namespace) -> tuple[int, ...]:
    return (2, 0) if args.transaction_version is None else (args.transaction_version,)


def _start(args: argparse.Namespace) -> int:
    from mqlab.real.kafka.broker import RealKafka

    level = 2 if args.transaction_version is None else args.transaction_version
    with RealKafka(args.version, level, args.brokers) as kafka:
        print(
            f"mqlab real kafka: Kafka {args.version} ready at {kafka.address} "
            f"(transaction.version {level}); Ctrl-C stops it",
            flush=True,
        )
        while all(node.running for node in kafka.nodes):
            time.sleep(0.5)
        raise UserError(f"the broker ended by itself: {kafka.nodes[0].said()}")


def _record(args: argparse.Namespace) -> int:
    """Recordings of the real broker; one that came to no end keeps its old file."""
    from mqlab.real.hosts import RealHost
    from mqlab.real.recording import save, write_checksums
    from mqlab.real.runner import run_all, wanted

    failed = 0
    for program, profile, seen in run_all(
        wanted(args.scenarios, _levels(args)), RealHost(args.version)
    ):
        if isinstance(seen, Exception):
            failed += 1
            print(f"FAILED     {profile}/{program.name}: {type(seen).__name__}: {seen}", flush=True)
        else:
            save(seen)
            print(f"recorded   {profile}/{program.name}", flush=True)
    write_checksums()
    return 1 if failed else 0


def _compare(args: argparse.Namespace) -> int:
    """Exit code 0: nothing unexpected."""
    from mqlab.real.compare import judged, recordings, summary
    from mqlab.real.hosts import RealHost
    from mqlab.real.kafka.differences import PAGE, page
    from mqlab.real.runner import run_all, wanted

    known = recordings(args.version)
    host = RealHost(args.version) if args.real else OurHost()
    outcomes = []
    every = wanted(args.scenarios, _levels(args))
    if args.version != DEFAULT:  # of another version there is only what differs
        every = [(p, profile) for p, profile in every if f"{profile}/{p.name}" in known]
    for came in run_all(every, host):
        outcomes.append(judged(came, known))
        print(outcomes[-1].text(), flush=True)
    print(summary(outcomes))
    if args.page:
        PAGE.write_text(page(), "utf-8")
    return int(any(outcome.verdict == "DIFFERENT" for outcome in outcomes))


# ---- this project's server, hosted for programs -----------------------------------------


@dataclass(frozen=True, slots=True)
class OurControl:
    """Stops and starts our server; it has one node."""

    server: Any

    def kill(self, node: int = 1) -> None:
        self.server.kill()

    def stop(self, node: int = 1) -> None:
        self.server.stop()

    def start(self, node: int = 1) -> None:
        self.server.restart()


@dataclass(frozen=True, slots=True)
class OurHost:
    broker: str = "mqlab"
    at_once: int = 4

    def cannot(self, program: Any) -> str:
        from mqlab.real.kafka.programs import CLUSTER, FAULT

        if FAULT in program.needs:
            return "a fault of the real broker; the engine shows it with the switch of that name"
        if CLUSTER in program.needs:
            return "the server is one broker"
        return "the server has no such settings" if program.settings else ""

    @contextmanager
    def shared(self, profile: str) -> Iterator[Any]:
        from mqlab.real.kafka.client import PROFILES, Target
        from mqlab.serve.kafka import serve

        level = PROFILES[profile].transaction_version
        with tempfile.TemporaryDirectory(prefix="mqlab-compare-") as folder:
            with serve(data_dir=Path(folder) / "data", transaction_version=level) as server:
                yield Target(
                    self.broker, server.address, index_of(Path(folder)), OurControl(server)
                )

    def own(self, program: Any, profile: str) -> Any:
        return self.shared(profile)


def index_of(folder: Path) -> Any:
    """Reads a partition's index of aborted transactions out of a copy of the server's
    journal: the journal itself is the running server's."""
    from mqlab.kafka.log import AbortedTxn
    from mqlab.kafka.log.index import index_of as log_of
    from mqlab.real.hosts import entry
    from mqlab.serve.journal import Journal
    from mqlab.serve.kafka.home import make_home

    def read(partition: str) -> list[str]:
        copy = Path(tempfile.mkdtemp(dir=folder))
        (copy / "journal").write_bytes((folder / "data" / "journal").read_bytes())
        journal = Journal(copy, make_home())
        name = log_of(partition)
        try:
            return [
                entry(found.pid, found.first_offset, found.last_offset, found.lso)
                for effect in journal.replay()
                if isinstance(found := getattr(effect, "entry", None), AbortedTxn)
                and getattr(effect, "log", "") == name
            ]
        finally:
            journal.close()

    return read
