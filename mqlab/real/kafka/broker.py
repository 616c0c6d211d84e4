"""A real Kafka on this machine: one broker, or three, for as long as a `with` lasts.

    with RealKafka(transaction_version=2) as kafka:
        ... kafka.address ...

KRaft in combined mode: each process is broker and controller. All listen on loopback, on free
ports, with their data in a temporary folder. The settings are Kafka's defaults except where the
defaults need three brokers, or make a start, a rebalance or the wait for a timeout needlessly long;
they are below, and in every recording.

The Java flags halve a start on a small machine (no optimising compiler, one collector
thread); an archive of loaded classes in the cache, made when the first broker of a version
stops, halves it again.
"""

from __future__ import annotations

import signal
import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path

from ..processes import LoggedProcess, RealBroker, free_ports
from ..program import RealBrokerError
from .jars import JARS
from .wire import Raw

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
PATIENCE_S = 90.0
LOGGING = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d %p %m (%c)%n
"""

#: what differs from Kafka's defaults in every recording
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
}
INTERNAL_TOPICS = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")


class RealKafka(RealBroker):
    """`address`: what a client connects to (all brokers, with commas). `front`: of a broker's own
    address, the one that it tells clients and other brokers instead."""

    product = "Kafka"

    def __init__(
        self,
        version: str = "4.3.1",
        transaction_version: int = 2,
        brokers: int = 1,
        settings: dict[str, str] | None = None,
        front: Callable[[str], str] = str,
    ) -> None:
        """Start `brokers` brokers of Kafka `version`, and wait until they serve transactions; where
        one fails, all are stopped. `transaction_version`: of the cluster; `settings`: server
        properties besides SETTINGS; `front`: from a broker's address to the one that it tells
        clients and other brokers."""
        self._class_path = JARS.class_path(version)
        super().__init__(version)
        self.transaction_version = transaction_version
        self.settings = {**SETTINGS, **(settings or {})}
        self.front = front
        ports = free_ports(2 * brokers)  # for each: of its clients, of its controller
        self.nodes = tuple(
            Node(self, i + 1, ports[2 * i], ports[2 * i + 1]) for i in range(brokers)
        )
        self.address = ",".join(node.address for node in self.nodes)
        try:
            for node in self.nodes:
                node.format()
            for node in self.nodes:
                node.start()
            self.wait_ready()
        except BaseException:  # Ctrl-C too: no process may be left
            self.close()
            raise

    def end(self) -> None:
        """Every process gets SIGTERM, and is then waited for."""
        for node in self.nodes:
            node.signal(signal.SIGCONT)  # one that was paused must get what follows
            node.terminate()
        for node in self.nodes:
            node.wait()

    def wait_ready(self) -> None:
        """Until transactions and groups are served: a broker accepts connections earlier."""
        self.wait_until(self._ready, [node.process for node in self.nodes], PATIENCE_S)

    def _ready(self) -> bool:
        try:
            return self._serves()
        except (OSError, EOFError):
            return False

    def _serves(self) -> bool:
        up = [node for node in self.nodes if node.running]
        for node in up:
            with Raw(node.address, timeout_s=5) as raw:
                if len(raw.ask(3, 12, **raw.metadata(())).brokers) < len(up):
                    return False
        with Raw(up[0].address, timeout_s=5) as raw:
            answers = [raw.coordinator("ready", kind) for kind in (0, 1)]
            return all(c.error_code.name == "none" for c in answers) and self._hears(answers[1])

    def _hears(self, coordinator: object) -> bool:
        """The transaction coordinator answers for its own, so it has loaded."""
        address = f"{getattr(coordinator, 'host', '')}:{getattr(coordinator, 'port', 0)}"
        with Raw(address, timeout_s=5) as raw:
            return bool(raw.init("ready").error_code.name == "none")

    def tool(self, main: str, *arguments: str) -> str:
        """What one of Kafka's own tools prints. Raises RealBrokerError where it fails."""
        done = subprocess.run(
            [*self.java(), main, *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RealBrokerError("{}: {}", main, (done.stderr or done.stdout).strip())
        return done.stdout

    def java(self, *flags: str) -> list[str]:
        archive = JARS.folder(self.version) / "classes.jsa"
        shared = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []
        return ["java", *FLAGS, *shared, *flags, "-cp", self._class_path]


class Node:
    """One process of a cluster."""

    def __init__(self, kafka: RealKafka, number: int, port: int, controller_port: int) -> None:
        self.number = number
        self.address = f"127.0.0.1:{port}"
        self.advertised = kafka.front(self.address)
        self.controller = f"127.0.0.1:{controller_port}"
        self.folder = kafka.folder / f"node-{number}"
        self.folder.mkdir()
        self._kafka = weakref.proxy(kafka)
        self.process = LoggedProcess(f"Kafka {kafka.version}", self.folder / "said.log")

    @property
    def running(self) -> bool:
        return self.process.running

    @property
    def data(self) -> Path:
        """The folder with a folder for each partition."""
        return self.folder / "data"

    def format(self) -> None:
        (self.folder / "server.properties").write_text(self._properties(), "utf-8")
        (self.folder / "log4j2.properties").write_text(LOGGING, "utf-8")
        level = self._kafka.transaction_version
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(self.folder / "server.properties")]
        self._kafka.tool(
            "kafka.tools.StorageTool", *arguments, "--feature", f"transaction.version={level}"
        )

    def _properties(self) -> str:
        """The node's `server.properties`: a broker and controller on loopback, and internal topics
        with as many replicas as there are brokers (three at most). The cluster's settings come
        last, so they override these."""
        nodes = self._kafka.nodes
        count = len(nodes)
        lines = {
            "process.roles": "broker,controller",
            "node.id": str(self.number),
            "controller.quorum.voters": ",".join(f"{n.number}@{n.controller}" for n in nodes),
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{self.controller}",
            "advertised.listeners": f"PLAINTEXT://{self.advertised}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.data),
        }
        for topic in INTERNAL_TOPICS:
            lines[f"{topic}.replication.factor"] = str(min(count, 3))
        for topic in INTERNAL_TOPICS[1:]:  # the offsets topic has no such setting
            lines[f"{topic}.min.isr"] = str(min(count, 2))
        lines |= self._kafka.settings
        return "".join(f"{key}={value}\n" for key, value in lines.items())

    def start(self) -> None:
        archive = JARS.folder(self._kafka.version) / "classes.jsa"
        make = [] if archive.exists() else [f"-XX:ArchiveClassesAtExit={self.folder / 'new.jsa'}"]
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        properties = str(self.folder / "server.properties")
        self.process.start([*self._kafka.java(*make, logging), "kafka.Kafka", properties])

    def terminate(self) -> None:
        """SIGTERM, without waiting for what follows."""
        self.signal(signal.SIGTERM)

    def signal(self, number: signal.Signals) -> None:
        self.process.signal(number)

    def stop(self) -> None:
        self.terminate()
        self.wait()

    def kill(self) -> None:
        """kill -9."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        self.process.wait()
        new, archive = self.folder / "new.jsa", JARS.folder(self._kafka.version) / "classes.jsa"
        if new.exists() and not archive.exists():
            # Across file systems a rename is no single act; a copy beside it is renamed.
            beside = archive.with_suffix(f".{self.number}")
            beside.write_bytes(new.read_bytes())
            beside.rename(archive)

    def tail_log(self) -> str:
        """The last lines of its log that are about something wrong."""
        return self.process.tail_log()
