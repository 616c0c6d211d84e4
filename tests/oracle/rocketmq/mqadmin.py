"""mqadmin as it comes in its jar, against any broker.

    with Mqadmin(lab) as run:
        run("topicStatus -t @orders")

A command is written as an operator writes it; `@name` is a name of the program's own, BROKER the
broker's address. All that a command prints is one observation, so that a refusal is listed by its
command. What depends on the moment is taken out here: see `tidy`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

from mqlab.real.stories import JAVA_FLAGS

from ..beside import Beside
from .client import Lab
from .example import VERSION, find_class_path
from .stories import SOURCE

#: what the start of a log prints, and the places of an exception
NOISE = re.compile(r"at |See |For more |\.\.\. |[\w.]+Exception: |\d\d:\d\d:\d\d,\d+ \|-|-+$|=+$")
QUIET = ("-Drmq.logback.configurationFile=/dev/null", "-Drocketmq.client.logUseSlf4j=true")
CHANGES: tuple[tuple[str, Any], ...] = (
    (r"\b[0-9A-F]{32,}\b", "ID"),  # made of an address or a process, a time, a counter
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?", "TIME"),
    (r"(Timestamp)=\d+", r"\1=TIME"),
    (r"\b1\d{12}\b", "TIME"),
    (r"/tmp/\S+", "PATH"),
    (r"storeSize=\d+", "storeSize=#"),  # an id is as long as the address in it
    (r"commitLogOffset=\d+|CommitLog Offset: \d+", "commitLogOffset=#"),  # bytes, or records
    (r"\btimestamp\(string\)\[\w+\] ?,? ?", ""),
    (r"\btrue \d+$|Avg RT: [\d.NaN]+", "true RT"),
    (r"(TPS:) [\d.]+", r"\1 #"),
    (r"(clientAddr=|ClientAddr: |remoteIP=|\b)127\.0\.0\.1:\d+", r"\1ADDRESS"),
    (r"properties=\{([^{}]*)\}|Properties: \{([^{}]*)\}", lambda m: _order(m[1] or m[2])),
)
REMARK = re.compile(r"CODE: \d+ DESC: .*?(?= BROKER:|$)")


def _order(text: str) -> str:
    """A map's entries come as a hash table has them."""
    return "properties={" + ", ".join(sorted(text.split(", "))) + "}"


class Mqadmin:
    """One Java process that runs one command after the other (see Admin.java).

    Raises RealBrokerError where the jars cannot be had, or the process ends."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        lab.clients["rocketmq-client"] = VERSION
        source = SOURCE.with_name("Admin.java")
        command = ["java", *JAVA_FLAGS, *QUIET, "-cp", find_class_path(), str(source)]
        self._app = Beside("mqadmin", command)
        # The first command waits for Java; a broker registers again where it could not at once.
        lab.wait_until(lambda: any("broker-a" in line for line in self.run("clusterList")), 60)

    def __enter__(self) -> Mqadmin:
        return self

    def __exit__(self, *error: object) -> None:
        self._app.close()

    def __call__(self, *commands: str, keep: Callable[[str], bool] | None = None) -> None:
        """Run these commands and note what each prints. `keep`: which lines are noted, by default
        all."""
        for command in commands:
            lines = self.look(command)
            if keep is not None:  # of a list, whose order is a hash table's
                lines = sorted(filter(keep, lines))
            said = " | ".join(lines) or "nothing"
            self._lab.note("mqadmin", "broker", command.replace("@", ""), said)

    def look(self, command: str) -> list[str]:
        """What it prints, tidied and not noted."""
        return self.tidy(self.run(command))

    def run(self, command: str) -> list[str]:
        """What it printed, as it is."""
        target = self._lab.target
        text = re.sub(r"@(?=\w)", self._lab.wire(""), command)
        words = shlex.split(text.replace("BROKER", target.address))
        self._app.write_line("\t".join([*words, "-n", target.name_server]))
        printed = []
        while (line := self._app.hear()) != ".":
            printed.append(line)
        return printed

    def tidy(self, printed: list[str]) -> list[str]:
        """Lines as they are compared: without what belongs to one run (addresses, ids, times, the
        prefix of names) and without the width of columns. Of an exception there is what the broker
        said."""
        target, out = self._lab.target, list[str]()
        for line in printed:
            plain = " ".join(line.replace(self._lab.wire(""), "").split())
            for address in (target.name_server, target.address):
                plain = plain.replace(address, "BROKER")
            if remark := REMARK.search(plain):
                return [*out, remark[0]]
            for pattern, better in CHANGES:
                plain = re.sub(pattern, better, plain)
            if plain and not NOISE.match(plain):
                out.append(plain)
        return out
