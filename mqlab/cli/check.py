"""`mqlab check`: clients that are killed, their history, and what no correct run can show."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ..brokers import list_brokers
from ..check.checker import (
    ANOMALIES,
    OUTCOMES,
    Report,
    check,
    name_anomaly,
    tell_tried,
)  # fmt: skip
from ..check.history import End, Send, read, read_allowed, to_dict
from ..kernel import escape_unseen
from ..kernel.text import Text, Words, say_cause, tr
from .errors import UserError
from .language import tell

HELP = "kill clients while they write to your cluster, and check what they saw"
MOST_TRANSACTIONS = 10_000
ANSWER_S = 5.0
JAVA_ADDRESS = {
    "pulsar": tr("address of its service"), "rocketmq": tr("address of its name server"),
}  # fmt: skip
SHOWN = 5  # findings of one kind that are printed
COUNTS = Words("{:,} messages in {:,} transactions ({:,} committed, {:,} aborted, {:,} unknown, "
               "{:,} never ended), {:,} reads")  # fmt: skip
EVENT = Words("    line {}: {}")
UNREAD = tr("not everything could be read to the end, the cluster did not answer")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare a subcommand for each broker that has a client to crash, and `history`, which checks
    a file that is there."""
    subcommands = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    kafka = subcommands.add_parser("kafka", help="a Kafka cluster, with confluent-kafka")
    kafka.add_argument("address", metavar="HOST:PORT", help="address of one broker of the cluster")
    kafka.add_argument("--seconds", type=float, default=60, help="how long it writes (default: 60)")
    kafka.add_argument("--seed", type=int, default=0, help="seed of the faults (default: 0)")
    kafka.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="your client's settings, one name=value per line",
    )
    _add_history(kafka)
    for name, broker in list_brokers("real").items():
        if name != "kafka":
            java = subcommands.add_parser(
                name, help=str(Words("{}, with its own Java client")(broker.title))
            )
            java.add_argument("address", metavar="HOST:PORT", help=str(JAVA_ADDRESS[name]))
            java.add_argument(
                "--transactions",
                type=int,
                default=30,
                metavar="N",
                help="how many transactions (default: 30)",
            )
            _add_history(java)
    history = subcommands.add_parser("history", help="check a history that a program wrote")
    history.add_argument("file", type=Path, help="JSON lines, as mqlab/check/README.md describes")


def _add_history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--history",
        type=Path,
        metavar="FILE",
        help="where to write the history (default: mqlab-check-TIME.jsonl, here)",
    )


def run(args: argparse.Namespace) -> int:
    """0: nothing found; 1: anomalies; 2 (UserError): it could not be done, or not to the end, and
    nothing was found so far."""
    if args.what == "history":
        report = check_file(args.file)
        if not (report.counts.get("send") or report.counts.get("read")):
            raise UserError(
                "{} holds no message that was sent or read, so there is nothing to check", args.file
            )
        return print_report(report)
    return run_kafka(args) if args.what == "kafka" else run_java(args)


def check_file(path: Path) -> Report:
    try:
        return check(read(path), read_allowed(path))
    except OSError as error:
        raise UserError("cannot read {}: {}", path, say_cause(error)) from error


def run_kafka(args: argparse.Namespace) -> int:
    """Let clients that are killed write transactions to a Kafka cluster, keep their history in a
    file, check it, and print what was found. The history is kept and checked even where the cluster
    stops answering in between. Returns 1 for anomalies, else 0; UserError where nothing could be
    written or, without anomalies, not all could be read."""
    from ..check.kafka.workload import (
        Settings,
        Workload,
        find_denied,
        read_settings,
    )

    if not 1 <= args.seconds <= 86_400:
        raise UserError("--seconds {:g}: expected 1 to 86400", args.seconds)
    path = _choose_path(args)
    settings = read_settings(args.config) if args.config else Settings()
    with tempfile.TemporaryDirectory(prefix="mqlab-check-") as folder:
        workload = Workload(args.address, settings, Path(folder), args.seconds, args.seed)
        tell(
            "writing to {}, which this check creates, and to nothing else",
            Text(" and ".join(workload.names.topics), " 和 ".join(workload.names.topics)),
        )
        workload.prepare()  # ClusterError where the cluster cannot be used
        drained = False  # whether all that was written could be read again
        try:
            workload.run()
            drained = workload.drain()
        finally:
            workload.keep(path)
            tell("wrote {}: the history", path)
        errors, tried = workload.read_errors(), [*workload.tell_tried()]
    report, denied = check_file(path), find_denied(errors)
    if not report.counts.get("send"):
        last = errors.splitlines()[-1] if errors else tr("they were given no time")
        # `denied`: the permission that the cluster refused; it explains more than an exception.
        raise UserError(denied or Words("the writers could not write: {}")(last))
    status = print_report(report)
    print(*tried, sep="\n")
    if not drained:
        _end_early(denied or UNREAD, status)
    return status


def _end_early(why: Text | str, status: int) -> None:
    """UserError, but where something was found all the same: then that decides the exit code."""
    said = Words("{}; the lines above are what the history tells so far")(why)
    if not status:
        raise UserError(said)
    print(f"mqlab: {said}", file=sys.stderr)


def _choose_path(args: argparse.Namespace) -> Path:
    path: Path = args.history or Path(time.strftime("mqlab-check-%Y%m%d-%H%M%S.jsonl"))
    if path.exists():
        raise UserError("{} exists already: name another --history", path)
    if not os.access(path.parent, os.W_OK):  # before anything is written to a broker
        raise UserError("cannot write to {}: name another --history", path.parent)
    return path


def run_java(args: argparse.Namespace) -> int:
    """Let a broker's own Java client write transactions and their history, check the history, and
    print what was found. A client that ends early leaves a history that is checked as far as it
    goes. Returns 1 for anomalies, else 0. Raises UserError for an option that cannot be meant (a
    number out of range, an address without a broker, a history that exists), where no history was
    written and, without anomalies, where the client ended early."""
    from ..real.program import RealBrokerError

    if not 1 <= args.transactions <= MOST_TRANSACTIONS:
        raise UserError("--transactions {}: expected 1 to {}", args.transactions, MOST_TRANSACTIONS)
    history: Any = import_module(f"mqlab.real.{args.what}.history")
    # The prefix is that of the topics.
    path, prefix = _choose_path(args), f"mqlab-check-{uuid.uuid4().hex[:8]}"
    _try_address(args.address)
    tell(
        "writing to topics that begin with {}, which this check creates, and to nothing else",
        prefix,
    )
    failure = ""
    try:
        history.write_history(args.address, prefix, path, args.transactions)
    except RealBrokerError as error:
        failure = str(error)
    if not path.exists():
        raise UserError(failure)
    tell("wrote {}: the history", path)
    status = print_report(check_file(path))
    events = [*read(path)]
    ended = {event.txn: event.how for event in events if isinstance(event, End)}
    sent = {event.txn for event in events if isinstance(event, Send)}
    # NEVER: what this client never tries.
    print(*tell_tried(history.count_tried(sent, ended), history.NEVER), sep="\n")
    if failure:
        _end_early(failure, status)
    return status


def _try_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()):
        raise UserError("{} is no address: name a broker that is running, as HOST:PORT", address)
    try:
        socket.create_connection((host, int(port)), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            "no broker answers at {}: {}; name one that is running, as HOST:PORT",
            address,
            say_cause(error) if isinstance(error, OSError) else error,
        ) from error


def print_report(report: Report) -> int:
    """Print a report; 1 where it holds a finding."""
    for line in _write_lines(report):
        print(escape_unseen(str(line)))
    return 1 if report.findings else 0


def _write_lines(report: Report) -> Iterator[Text | str]:
    """The printed lines of a report: how much was checked, each kind of anomaly with its first
    SHOWN findings and their events, and what could not be decided."""
    counts = report.counts
    outcomes = [counts.get(one, 0) for one in OUTCOMES]
    yield COUNTS(counts.get("send", 0), sum(outcomes), *outcomes, counts.get("read", 0))
    anomalies = Counter(finding.anomaly for finding in report.findings)
    for anomaly in ANOMALIES:
        if anomalies[anomaly]:
            yield Words("FOUND {}: {:,}")(name_anomaly(anomaly), anomalies[anomaly])
            findings = [found for found in report.findings if found.anomaly == anomaly]
            for finding in findings[:SHOWN]:
                yield f"  {finding.sentence}"
                yield from (EVENT(e.line, _write_event(e)) for e in finding.events)
            if anomalies[anomaly] > SHOWN:
                yield Words("  … and {:,} more")(anomalies[anomaly] - SHOWN)
    if not anomalies:
        yield tr("found nothing that a correct cluster would not show")
    yield from (Words("not decided: {}")(sentence) for sentence in report.undecided)


def _write_event(event: object) -> str:
    values = to_dict(event)  # type: ignore[arg-type]
    del values["time"]
    return " ".join(f"{key}={value}" for key, value in values.items() if value != "")
