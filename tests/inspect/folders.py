"""Folders that real brokers have left (`damage.py`), unpacked for a test; and an ask about them."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from mqlab.inspect import Ask, Report, inspect

DATA = Path(__file__).parent / "data"
VERSIONS = ("3.9.1", "4.3.1")
NOW_MS = 1_795_900_000_000  # two hours after the damage


def unpack(version: str, to: Path, name: str = "data") -> Path:
    shutil.unpack_archive(DATA / f"kafka-{version}" / f"{name}.tar.xz", to)
    return to


def read_output(version: str, name: str) -> str:
    """What a tool of Kafka printed."""
    with tarfile.open(DATA / f"kafka-{version}" / "outputs.tar.xz") as archive:
        member = next(one for one in archive if Path(one.name).name == f"{name}.txt")
        file = archive.extractfile(member)
        assert file is not None
        return file.read().decode()


def look(target: object, **asked: object) -> Report:
    return inspect("kafka", Ask(str(target), now_ms=NOW_MS, **asked))  # type: ignore[arg-type]


def list_found(report: Report) -> list[tuple[str, str]]:
    return [(one.kind.name, one.where) for one in report.findings]
