"""`mqlab real kafka`: what it can be told, and where programs run. This project's own server is
hosted here, since the top floor alone may start it for the programs of `mqlab.real`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UserError

VERSION = "4.3.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--transaction-version", type=int, choices=(2, 0), help="of the cluster (default: both)"
    )
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1, help="start: how many")


def levels(args: argparse.Namespace) -> tuple[int, ...]:
    return () if args.transaction_version is None else (args.transaction_version,)


def oracle() -> Any:
    from mqlab.real.kafka.oracle import KAFKA

    return KAFKA


def real_host(args: argparse.Namespace) -> Any:
    from mqlab.real.kafka.hosts import RealHost

    return RealHost(args.version)


def our_host(args: argparse.Namespace) -> Any:
    return OurHost()


def open_priced(args: argparse.Namespace) -> Any:
    from mqlab.real.kafka.cost import open_priced

    return open_priced(args.version)


def write_page() -> None:
    from mqlab.real.kafka.differences import PAGE, page

    PAGE.write_text(page(), "utf-8")


def start_broker(args: argparse.Namespace) -> None:
    """Until Ctrl-C; raises UserError where the broker ends by itself."""
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
        raise UserError(f"the broker ended by itself: {kafka.nodes[0].tail_log()}")


# ---- this project's server, hosted for programs -----------------------------------------


@dataclass(frozen=True, slots=True)
class OurHost:
    broker: str = "mqlab"
    at_once: int = 4

    @property
    def listed(self) -> Any:
        from mqlab.real.kafka.differences import TABLE

        return TABLE

    def cannot(self, program: Any) -> str:
        from mqlab.real.kafka.programs import CLUSTER, FAULT
        from mqlab.real.kafka.programs.auto_create import AUTO_CREATE

        if FAULT in program.needs:
            return "a fault of the real broker; the engine shows it with the switch of that name"
        if CLUSTER in program.needs:
            return "the server is one broker"
        others = dict(program.settings).keys() - {AUTO_CREATE}
        return f"the server has no setting {', '.join(sorted(others))}" if others else ""

    def share_broker(self, profile: str) -> AbstractContextManager[Any]:
        return self._serve(profile, auto_create=False)  # as the real broker of the recordings

    @contextmanager
    def _serve(self, profile: str, auto_create: bool) -> Iterator[Any]:
        from mqlab.real.kafka.client import PROFILES, Target
        from mqlab.serve.control import OurControl
        from mqlab.serve.kafka import serve

        level = PROFILES[profile].transaction_version
        with tempfile.TemporaryDirectory(prefix="mqlab-compare-") as folder:
            data = Path(folder) / "data"
            with serve(data_dir=data, transaction_version=level, auto_create=auto_create) as server:
                yield Target(
                    self.broker, server.address, index_of(Path(folder)), OurControl(server)
                )

    def own(self, program: Any, profile: str) -> AbstractContextManager[Any]:
        from mqlab.real.kafka.programs.auto_create import AUTO_CREATE

        return self._serve(profile, dict(program.settings).get(AUTO_CREATE) == "true")


def index_of(folder: Path) -> Any:
    """Reads a partition's index of aborted transactions out of a copy of the server's
    journal: the journal itself is the running server's."""
    from mqlab.kafka.log import AbortedTxn
    from mqlab.kafka.log.index import index_of as log_of
    from mqlab.real.kafka.hosts import entry
    from mqlab.serve.journal import Journal
    from mqlab.serve.kafka.home import make_home

    def read(partition: str) -> list[str]:
        copy = Path(tempfile.mkdtemp(dir=folder))
        (copy / "journal").write_bytes((folder / "data" / "journal").read_bytes())
        journal = Journal(copy, make_home())
        name = log_of(partition)
        try:
            return [
                entry(txn.pid, txn.first_offset, txn.last_offset, txn.lso)
                for effect in journal.replay()
                if isinstance(txn := getattr(effect, "entry", None), AbortedTxn)
                and getattr(effect, "log", "") == name
            ]
        finally:
            journal.close()

    return read
