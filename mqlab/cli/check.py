"""`mqlab check`: clients that are killed, their history, and what no correct run can show."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..check.checker import ANOMALIES, Report, check
from ..check.history import HistoryError, read, to_dict
from ..kernel import escape_unseen
from .errors import UserError

HELP = "let clients write to a cluster of yours while they are killed, and check what they saw"
SHOWN = 5  # findings of one kind that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    kafka = names.add_parser("kafka", help="a Kafka cluster, with confluent-kafka")
    kafka.add_argument("address", metavar="HOST:PORT", help="of one broker of the cluster")
    kafka.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    kafka.add_argument("--seed", type=int, default=0, help="of the faults (default: 0)")
    kafka.add_argument(
        "--config", type=Path, metavar="FILE", help="your own client settings, name=value per line"
    )
    kafka.add_argument(
        "--history",
        type=Path,
        metavar="FILE",
        help="where the history is kept (default: mqlab-check-TIME.jsonl, here)",
    )
    one = names.add_parser("history", help="a history that some program has written")
    one.add_argument("file", type=Path, help="JSON lines, as mqlab/check/README.md describes")


def run(args: argparse.Namespace) -> int:
    """0: nothing found; 1: anomalies; 2 (UserError): it could not be done, or not to the end."""
    if args.what == "history":
        return tell(check_file(args.file))
    return run_kafka(args)


def check_file(path: Path) -> Report:
    try:
        return check(read(path))
    except HistoryError as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def run_kafka(args: argparse.Namespace) -> int:
    from ..check.kafka.settings import Settings, SettingsError, read_settings
    from ..check.kafka.workload import ClusterError, Workload

    if not 1 <= args.seconds <= 86_400:
        raise UserError(f"--seconds {args.seconds:g}: name 1 to 86400")
    path = args.history or Path(time.strftime("mqlab-check-%Y%m%d-%H%M%S.jsonl"))
    if path.exists():
        raise UserError(f"{path} is there already: name another --history")
    try:
        settings = read_settings(args.config) if args.config else Settings()
    except SettingsError as error:
        raise UserError(str(error)) from error
    with tempfile.TemporaryDirectory(prefix="mqlab-check-") as folder:
        load = Workload(args.address, settings, Path(folder), args.seconds, args.seed)
        print(f"writes to {' and '.join(load.names.topics)}, which it makes, and to nothing else")
        try:
            load.prepare()
        except ClusterError as error:
            raise UserError(str(error)) from error
        drained = False
        try:
            load.run()
            drained = load.drain()
        finally:
            load.keep(path)
            print(f"the history is in {path}")
        said = load.read_errors()
    report = check_file(path)
    if not report.counts.get("send"):
        raise UserError(f"the writers could not write: {said or 'they were given no time'}")
    status = tell(report)
    if not drained:
        raise UserError(
            "the cluster stopped answering before everything was read: the lines above are what "
            "the history tells so far"
        )
    return status


def tell(report: Report) -> int:
    """Print a report; 1 where it holds a finding."""
    for line in _lines(report):
        print(escape_unseen(line))
    return 1 if report.findings else 0


def _lines(report: Report) -> Iterator[str]:
    counts = report.counts
    yield (
        f"{counts.get('send', 0):,} messages in {_sum(counts):,} transactions "
        f"({counts.get('committed', 0):,} committed, {counts.get('aborted', 0):,} aborted, "
        f"{counts.get('unknown', 0):,} unknown, {counts.get('never', 0):,} never ended), "
        f"{counts.get('read', 0):,} reads"
    )
    found = Counter(finding.anomaly for finding in report.findings)
    for anomaly in ANOMALIES:
        if found[anomaly]:
            yield f"FOUND {anomaly}: {found[anomaly]:,}"
            shown = [one for one in report.findings if one.anomaly == anomaly][:SHOWN]
            for finding in shown:
                yield f"  {finding.sentence}"
                yield from (f"    line {e.line}: {_text(e)}" for e in finding.events)
            if found[anomaly] > SHOWN:
                yield f"  … and {found[anomaly] - SHOWN:,} more"
    if not found:
        yield "found nothing that a correct cluster cannot show"
    yield from (f"not decided: {sentence}" for sentence in report.undecided)


def _sum(counts: dict[str, int]) -> int:
    return sum(counts.get(outcome, 0) for outcome in ("committed", "aborted", "unknown", "never"))


def _text(event: object) -> str:
    values = to_dict(event)  # type: ignore[arg-type]
    del values["time"]
    return " ".join(f"{key}={value}" for key, value in values.items() if value != "")
