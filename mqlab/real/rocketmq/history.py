"""A history of RocketMQ's own Java client, for `mqlab check history` (History.java)."""

from __future__ import annotations

from pathlib import Path

from ..stories import JAVA_FLAGS
from ..stories import write_history as run
from .jars import JARS

SOURCE = Path(__file__).with_name("History.java")
VERSION = "5.5.0"


def write_history(address: str, prefix: str, path: Path, transactions: int) -> None:
    """Transactional messages in a topic that begins with `prefix`; `address`: of a name server.
    Raises RealBrokerError where the client cannot be had, or ends early."""
    flags = (*JAVA_FLAGS, "-Drocketmq.client.logUseSlf4j=true")
    command = ["java", *flags, "-cp", JARS.class_path(VERSION), str(SOURCE)]
    run(command, address, prefix, str(path), str(transactions))
