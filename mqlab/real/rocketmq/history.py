"""A history of RocketMQ's own Java client, for `mqlab check history` (History.java)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...kernel.text import Text, tr
from ..stories import JAVA_FLAGS
from ..stories import write_history as run
from .jars import JARS

SOURCE = Path(__file__).with_name("History.java")
VERSION = "5.5.0"
NEVER = tr(
    "stops of clients and brokers, lost answers, a second producer of the group, unanswered "
    "checks, consumer groups and their positions, several queues"
)


def count_tried(_: set[str], how: Mapping[str, str]) -> dict[Text, int]:
    """What History.java has done, and how often: it says UNKNOW to every fourth."""
    asked = tr("a local transaction was decided only when the broker asked")
    rolled_back = tr("a local transaction rolled back")
    count = sum(int(txn.removeprefix("t")) % 4 == 0 for txn in how)
    return {rolled_back: [*how.values()].count("abort"), asked: count}


def write_history(address: str, prefix: str, path: Path, transactions: int) -> None:
    """Transactional messages in a topic that begins with `prefix`; `address`: of a name server.
    Raises RealBrokerError where the client cannot be had, or ends early."""
    flags = (*JAVA_FLAGS, "-Drocketmq.client.logUseSlf4j=true")
    command = ["java", *flags, "-cp", JARS.class_path(VERSION), str(SOURCE)]
    run(command, address, prefix, str(path), str(transactions))
