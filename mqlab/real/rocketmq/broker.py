"""A real RocketMQ on this machine: one broker, for as long as a `with` lasts.

    with RealRocketMQ("5.5.0") as rocketmq:
        ... rocketmq.address ...
        rocketmq.round()

The released classes run unmodified in one process (`RoundHost.java`), which does on demand
what their timers would do sooner or later: a check round, a batch of op records, writing
consumer offsets to the disk. Those timers are therefore set to an hour. All else is RocketMQ's
default, except what would need more than a small machine; it is below.

Everything listens on loopback, on a free port, with its data in a temporary folder.
"""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from ..processes import OneProcessBroker, free_ports
from ..program import RealBrokerError
from .jars import JARS

SOURCE = Path(__file__).with_name("RoundHost.java")
CHECK_MAX = 3
NEVER_MS = "3600000"
FLAGS = (
    "-Xmx96m",
    "-XX:MaxDirectMemorySize=128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dtls.server.mode=disabled",
)
#: 4.9 reaches into Java's own packages; without, a start after kill -9 dies
OPENED = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)

#: what differs from RocketMQ's defaults in every recording
SETTINGS = {
    "brokerClusterName": "DefaultCluster",
    "brokerName": "broker-a",
    "brokerId": "0",
    "brokerIP1": "127.0.0.1",
    "bindAddress": "127.0.0.1",
    "mappedFileSizeCommitLog": "16777216",
    "mappedFileSizeConsumeQueue": "600000",
    "diskMaxUsedSpaceRatio": "99",
    "timerWheelEnable": "false",
    "transactionCheckInterval": NEVER_MS,
    "transactionOpBatchInterval": NEVER_MS,
    "flushConsumerOffsetInterval": NEVER_MS,
    # Before its first flush the thread of this setting does nothing but ask for the time (5.5.0).
    "transactionMetricFlushInterval": "500",
    "transactionTimeOut": "1000",
    "transactionCheckMax": str(CHECK_MAX),
    "messageDelayLevel": " ".join(["1s"] * 18),
    # Of a machine that has much else to do: a send is not refused because it has waited 200 ms
    # (BrokerFastFailure), or because a write has taken a second (isOSPageCacheBusy).
    "brokerFastFailureEnable": "false",
    "osPageCacheBusyTimeOutMills": "60000",
}
#: its own clocks again, for one that is started to be looked at: RocketMQ's defaults
CLOCKS = {
    "transactionCheckInterval": "30000",
    "transactionOpBatchInterval": "3000",
    "flushConsumerOffsetInterval": "5000",
    "transactionTimeOut": "6000",
    "transactionCheckMax": "15",
    "messageDelayLevel": "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
}
#: 4.9 lets no client pull from its own topics that it does not find here before its first start
TOPICS = """\
{"dataVersion":{"counter":1,"timestamp":0},"topicConfigTable":{
 "RMQ_SYS_TRANS_HALF_TOPIC":{"order":false,"perm":6,"readQueueNums":1,
  "topicFilterType":"SINGLE_TAG","topicName":"RMQ_SYS_TRANS_HALF_TOPIC","topicSysFlag":0,
  "writeQueueNums":1},
 "RMQ_SYS_TRANS_OP_HALF_TOPIC":{"order":false,"perm":6,"readQueueNums":1,
  "topicFilterType":"SINGLE_TAG","topicName":"RMQ_SYS_TRANS_OP_HALF_TOPIC","topicSysFlag":0,
  "writeQueueNums":1}}}
"""


class RealRocketMQ(OneProcessBroker):
    """`address`: of the broker; `name_server`: of the name server beside it, "" where none was
    asked for; `slaves`: slaves may connect to it."""

    product = "RocketMQ"

    def __init__(
        self,
        version: str = "5.5.0",
        settings: dict[str, str] | None = None,
        name_server: bool = False,
        slaves: bool = False,
    ) -> None:
        """Write the settings (SETTINGS, then those given), start a broker and, with `name_server`,
        a name server in one process, and wait until it serves; where that fails, it is stopped.
        `slaves`: it also accepts slave brokers, which then copy from it."""
        self._class_path = JARS.compile(version, SOURCE)
        super().__init__(version)
        port, names = _free_pair()
        self.address = f"127.0.0.1:{port}"
        self.name_server = f"127.0.0.1:{names}" if name_server else ""
        self.slaves = slaves
        self.settings = {**SETTINGS, "listenPort": str(port), **(settings or {})}
        try:
            self._lay_out(port)
            self.start()
        except BaseException:
            self.close()
            raise

    # -- its clocks ------------------------------------------------------------------------

    def round(self, timeout_ms: int = 0, check_max: int = CHECK_MAX) -> None:
        """One check round: half messages that are younger than `timeout_ms` are left alone."""
        self._ask(f"round {timeout_ms} {check_max}")

    def write_ops(self) -> None:
        """The op records that are still in memory go into the op topic (5.x)."""
        self._ask("ops")

    def persist(self) -> None:
        """Consumer offsets are written to the disk."""
        self._ask("persist")

    def synchronize(self, master: RealRocketMQ) -> None:
        """A slave asks its master for topics and offsets."""
        host, _, port = master.address.rpartition(":")
        self._ask(f"sync {master.address} {host}:{int(port) + 1}")

    def end_delay(self, level: int) -> None:
        """Every level is a second here (messageDelayLevel): who waits sees it come."""

    def _ask(self, line: str) -> None:
        self._process.write_line(line)
        self._wait_for("done")

    def _wait_for(self, word: str) -> None:
        """Raises RealBrokerError where the process says anything else last."""
        for line in self._process.lines:
            if line.strip() == word:
                return
        raise RealBrokerError("RocketMQ {} ended: {}", self.version, self.tail_log())

    # -- its process -----------------------------------------------------------------------

    def start(self) -> None:
        """Start the process with the data there is, the name server in it if there is one; returns
        when it serves. Raises RealBrokerError where it ends first."""
        opened = OPENED if self.version.startswith("4.") else ()
        confs = [str(self.folder / "broker.conf")]
        confs += [str(self.folder / "namesrv.conf")] if self.name_server else []
        self._process.start(
            ["java", *FLAGS, *opened, f"-Duser.home={self.folder}",
             f"-Djava.io.tmpdir={self.folder / 'tmp'}",
             f"-Drmq.logback.configurationFile={self.folder / 'conf' / 'logback_broker.xml'}",
             "-cp", self._class_path, "RoundHost", *confs],
            env={**os.environ, "ROCKETMQ_HOME": str(self.folder)},
            talks=True,
        )  # fmt: skip
        self._wait_for("ready")
        if self.slaves:
            self._ask("accept")

    def _lay_out(self, port: int) -> None:
        """Write the folders and settings that RocketMQ expects below ROCKETMQ_HOME: empty logging
        settings, `broker.conf` and, with a name server, `namesrv.conf`. `port`: the broker's; the
        next one is for slaves."""
        for name in ("tmp", "conf", "store/config"):
            (self.folder / name).mkdir(parents=True)
        for name in ("namesrv", "broker"):
            (self.folder / "conf" / f"logback_{name}.xml").write_text("<configuration/>", "utf-8")
        store = self.folder / "store"
        if self.version.startswith("4."):  # TOPICS says why 4.x needs this file
            (store / "config" / "topics.json").write_text(TOPICS, "utf-8")
        paths = {"storePathRootDir": store, "storePathCommitLog": store / "commitlog"}
        settings = {**self.settings, **paths, "haListenPort": port + 1}
        if self.name_server:
            settings["namesrvAddr"] = self.name_server
            name_port = self.name_server.rpartition(":")[2]
            conf = f"listenPort={name_port}\nbindAddress=127.0.0.1\n"
            (self.folder / "namesrv.conf").write_text(conf, "utf-8")
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self.folder / "broker.conf").write_text(lines, "utf-8")


def _free_pair() -> tuple[int, int]:
    """A port whose neighbours a broker can have too, for urgent clients and for slaves, and another
    one."""
    while True:
        port, names = free_ports(2)
        with suppress(OSError), ExitStack() as held:
            for neighbour in (port - 2, port, port + 1):
                held.enter_context(socket.create_server(("", neighbour)))
            if not port - 2 <= names <= port + 1:
                return port, names
