"""A history of Pulsar's own Java client, which `mqlab check history` judges (History.java)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...kernel.text import Text, tr
from ..stories import JAVA_FLAGS
from ..stories import write_history as run
from .jars import JARS

SOURCE = Path(__file__).with_name("History.java")
VERSION = "4.2.4"
#: what the client itself asks of Java, as its own start script gives it
FLAGS = (*JAVA_FLAGS, "-Dio.netty.tryReflectionSetAccessible=true", "-Dlog4j2.level=OFF")
NEVER = tr(
    "stops of clients and brokers, lost answers, a second producer, acknowledgements in a "
    "transaction, batches, topics that move to another broker"
)


def count_tried(sent: set[str], how: Mapping[str, str]) -> dict[Text, int]:
    """What History.java has done, and how often, by the names of transactions and their ends."""
    left = tr("a transaction was left open for the coordinator to abort")
    aborted = tr("a transaction was aborted")
    return {aborted: [*how.values()].count("abort"), left: len(sent - {*how})}


def write_history(address: str, prefix: str, path: Path, transactions: int) -> None:
    """Transactions in two topics that begin with `prefix`, at the broker at `address`. Raises
    RealBrokerError where the client cannot be had, or ends early."""
    command = ["java", *FLAGS, "-cp", JARS.class_path(VERSION), str(SOURCE)]
    topics = f"persistent://public/default/{prefix}"
    run(command, f"pulsar://{address}", topics, str(path), str(transactions))
