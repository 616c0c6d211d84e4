"""The Java client at the end of a line: `java/Driver.java`, told what to do and answering so.

    with JavaDriver(broker.address, broker.admin, "4.2.4") as driver:
        driver.perform("client app")
        driver.perform("begin t1 app 60000")        → "(0,0)"

It needs a service and an admin address and nothing else, so it drives whatever speaks Pulsar's
protocol there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

from mqlab.real.program import RealBrokerError
from mqlab.real.pulsar.history import FLAGS
from mqlab.real.pulsar.jars import JARS

from ..beside import Beside

SOURCE = Path(__file__).parent / "java" / "Driver.java"


class Thrown(Exception):
    """What the Java client threw, by the name of its class."""


class Driver(Protocol):
    """Whatever answers the lines that `java/Driver.java` is told."""

    def perform(self, line: str) -> Any:
        """What came of a line. Raises Thrown where the client threw."""


class JavaDriver:
    def __init__(self, address: str, admin: str, version: str) -> None:
        """`address`: host and port of the broker; `admin`: the address of its REST interface."""
        self._java = Beside(
            SOURCE.name,
            ["java", *FLAGS, "-cp", JARS.compile(version, SOURCE), SOURCE.stem,
             f"pulsar://{address}", admin],
        )  # fmt: skip

    def __enter__(self) -> JavaDriver:
        return self

    def __exit__(self, *error: object) -> None:
        self._java.close()

    def perform(self, line: str) -> Any:
        self._java.write_line(line)
        heard = self._java.hear()
        while not heard.startswith("{"):  # a library that cannot be kept from printing
            heard = self._java.hear()
        reply = json.loads(heard)
        if reply["line"] != line:
            raise RealBrokerError(f"{SOURCE.name} answers {reply['line']!r}, asked was {line!r}")
        if "error" in reply:
            raise Thrown(reply["error"])
        return reply["answer"]
