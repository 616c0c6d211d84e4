"""Kafka's own command-line tools, as they come in its jars, against any broker.

    with Tools(lab) as tools:
        tools("kafka-topics", "--create --topic @orders --partitions 2")

A command is written as one types it at a terminal, without --bootstrap-server;
`@name` is a name of the program's own. Each line that the tool prints becomes an observation, and
its exit code where it is not 0. What depends on the moment is taken out here: see `tidy`.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.jars import JARS
from mqlab.real.stories import JAVA_FLAGS

from ..beside import Beside
from .stories import CLIENT, SOURCES

QUIET = "-Dlog4j2.level=OFF"  # how often a client warns depends on the moment
KAFKA = "org.apache.kafka.tools"
#: script in Kafka's bin folder → the class that it runs
CLASSES = {
    "kafka-broker-api-versions": f"{KAFKA}.BrokerApiVersionsCommand",
    "kafka-cluster": f"{KAFKA}.ClusterTool",
    "kafka-console-consumer": f"{KAFKA}.consumer.ConsoleConsumer",
    "kafka-console-producer": f"{KAFKA}.ConsoleProducer",
    "kafka-consumer-groups": f"{KAFKA}.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records": f"{KAFKA}.DeleteRecordsCommand",
    "kafka-features": f"{KAFKA}.FeatureCommand",
    "kafka-get-offsets": f"{KAFKA}.GetOffsetShell",
    "kafka-groups": f"{KAFKA}.GroupsCommand",
    "kafka-log-dirs": f"{KAFKA}.LogDirsCommand",
    "kafka-topics": f"{KAFKA}.TopicCommand",
    "kafka-transactions": f"{KAFKA}.TransactionsCommand",
}
#: columns of tables, and keys, whose values belong to one run
HIDDEN = frozenset(
    {
        "ProducerId", "StartTimestamp", "LastTimestamp", "DurationMs", "ProducerIdAndEpoch",
        "CurrentTransactionStartTimeMs", "TransactionDurationMs", "Duration(min)", "CONSUMER-ID",
        "CONSUMERID",
    }
)  # fmt: skip
CHANGES = (
    (r"TopicId: \S+", "TopicId: #"),
    (r"(CreateTime|LogAppendTime):\d+", r"\1:#"),
    (r"Cluster ID: \S+", "Cluster ID: #"),
    (r"Epoch: \d+$", "Epoch: #"),
    (r"^1 127.0.0.1 \d+ ", "1 HOST PORT "),
    (r'"logDir":"[^"]*"', '"logDir":"#"'),
    (r"[\w.$]*\.(\w+(?:Exception|Error))\b", r"\1"),
    (r'("(?:\w*[pP]roducerId|\w+TimestampMs)"):\d+', r"\1:#"),
)
PARTITIONS = re.compile(r"[^\s,]+-\d+(?:,[^\s,]+-\d+)+")
OBJECTS = re.compile(r"(?<=\})(?=\{|Processed a total)")
Keep = Callable[[str], bool]


class Tools:
    """One Java process that runs one tool after the other (see Tools.java).

    Raises RealBrokerError where Kafka's jars cannot be had, or the process ends."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        path = JARS.class_path(CLIENT)
        self._folder = tempfile.TemporaryDirectory(prefix="mqlab-tools-")
        lab.clients["kafka-tools"] = CLIENT
        command = ["java", *JAVA_FLAGS, QUIET, "-cp", path, str(SOURCES / "Tools.java")]
        self._app = Beside("Kafka's tools", command, folder=self._folder.name)

    def __enter__(self) -> Tools:
        return self

    def __exit__(self, *error: object) -> None:
        self._app.close()
        self._folder.cleanup()

    def write(self, name: str, text: str) -> None:
        """A file that the tools read by this name; `@` stands before names as in commands."""
        (Path(self._folder.name) / name).write_text(text.replace("@", self._lab.prefix), "utf-8")

    def __call__(
        self,
        tool: str,
        *commands: str,
        reads: Sequence[str] = (),
        ordered: bool = False,
        keep: Keep | None = None,
        apart: str = "",
    ) -> None:
        """Run a tool with each of these commands and note what it prints. `reads`: the lines it is
        given; `ordered`: the order of its lines says something (a table's rows come as a hash
        table has them); `keep`: which lines are noted, by default all; lines with the word `apart`
        are noted as an answer of their own, so that a difference can be listed that is in them
        alone."""
        for command in commands:
            code, lines = self.run(tool, command, reads)
            lines = tidy(lines, self._lab.target.address, self._lab.prefix)
            question = command.replace("@", "")
            kept = [line for line in lines if keep is None or keep(line)]
            for line in kept if ordered else sorted(kept):
                alone = f": {apart}" if apart and apart in line else ""
                self._lab.note(tool, "broker", f"{question}{alone}", line)
            if code or not kept:
                self._lab.note(tool, "broker", question, f"exit code {code}")

    def run(self, tool: str, command: str, reads: Sequence[str] = ()) -> tuple[int, list[str]]:
        """The exit code, and what the tool printed, as it is."""
        words = [word.replace("@", self._lab.prefix) for word in shlex.split(command)]
        given = ["--bootstrap-server", self._lab.target.address]
        given = [*words, *given] if tool == "kafka-cluster" else [*given, *words]
        self._app.write_line("\t".join(["\\n".join(reads), CLASSES[tool], *given]))
        printed: list[str] = []
        while (answer := self._app.hear()).startswith("\t"):
            printed.append(answer[1:])
        return int(answer), printed


def tidy(lines: Iterable[str], address: str, prefix: str) -> list[str]:
    """Lines as they are compared: without what belongs to one run (the address, ids that a
    broker chooses, times, the prefix of names) and without the width of columns, which depends
    on it. JSON objects, which formatters print one after the other, get a line each."""
    host, _, port = address.partition(",")[0].rpartition(":")
    out = []
    hidden: list[int] = []
    for line in (part for whole in lines for part in OBJECTS.split(whole.replace(prefix, ""))):
        cells = line.split()
        if HIDDEN & set(cells):
            hidden = [i for i, name in enumerate(cells) if name in HIDDEN]
        elif hidden and len(cells) > max(hidden):
            cells = ["#" if i in hidden else cell for i, cell in enumerate(cells)]
        plain = " ".join(cells).replace(f"{host}:{port}", "HOST:PORT")
        for pattern, better in CHANGES:
            plain = re.sub(pattern, better, plain)
        plain = PARTITIONS.sub(lambda match: ",".join(sorted(match[0].split(","))), plain)
        if plain and not plain.startswith("at "):  # a line of a stack says where, not what
            out.append(plain)
    return out
