"""A real Kafka, read: a running cluster, a data folder, or what its tools have printed.

scan.py      a partition's batches, wherever they come from: what is open, aborted, readable
segments.py  a partition's files; folder.py: a data folder of them
internal.py  the coordinator's and the groups' records
printed.py   the lines of a text in which tools have printed
tools.py     what kafka-dump-log, kafka-transactions and kafka-consumer-groups print
live.py      a running cluster
judge.py     what is wrong with it
play.py      what happens next: its records on the engine's disks
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..reading import Ask, Reading, Unreadable
from .judge import judge

__all__ = ["TARGETS", "judge", "read"]
TARGETS = (
    "Reads a running cluster (HOST:PORT; --config takes your client's settings), a "
    "broker's data folder (even while the broker is down), or a file (- for the "
    "standard input) with the output of kafka-dump-log.sh, kafka-transactions.sh or "
    "kafka-consumer-groups.sh --describe, or with several of these outputs together."
)


def read(ask: Ask) -> Reading:
    """Read a Kafka broker by what `ask.target` names: a data folder or a segment, a file (or "-",
    the standard input) with what Kafka's tools have printed, or a running broker, HOST:PORT. Raises
    Unreadable."""
    path = Path(ask.target)
    if ask.target != "-" and (path.is_dir() or _is_segment(path)):
        from .folder import read_folder

        return read_folder(ask)
    if ask.target == "-" or path.is_file() or path.is_fifo():
        from .tools import read_tools

        if ask.target == "-":
            return read_tools(ask, sys.stdin.buffer, "stdin", ask.now_ms)
        try:
            with path.open("rb") as file:
                # as old as the file, where its lines do not say when they were printed
                return read_tools(ask, file, ask.target, round(path.stat().st_mtime * 1000))
        except OSError as error:
            raise Unreadable("cannot read {}: {}", path, error.strerror) from error
    host, colon, port = ask.target.rpartition(":")
    if not colon or not host or not port.isdecimal():
        raise Unreadable(
            "{} is neither a folder, nor a file, nor HOST:PORT: name one of these", ask.target
        )
    from .live import read_cluster

    return read_cluster(ask)


def _is_segment(path: Path) -> bool:
    """Whether it begins as a segment does, with an offset of eight bytes; text may be called .log
    too."""
    try:
        with path.open("rb") as file:
            return path.suffix == ".log" and file.read(1) in (b"", b"\0")
    except OSError:
        return False
