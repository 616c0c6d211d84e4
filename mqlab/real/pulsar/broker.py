"""A real Pulsar on this machine: one standalone broker, for as long as a `with` lasts.

    with RealPulsar("4.2.4") as pulsar:
        ... pulsar.address, pulsar.admin ...

The released classes run unmodified: broker, bookie and metadata in one process, with one
transaction coordinator, as a standalone has. Everything listens on loopback (the bookie too:
`listeningInterface`), on free ports, with its data in a temporary folder.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable

from ..processes import OneProcessBroker, free_ports
from .jars import JARS

PATIENCE_S = 300.0
#: what Pulsar's own start script opens, without which its journal does not start
OPENED = (
    "java.base/java.io",
    "java.base/java.util.zip",
    "java.base/java.nio",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)
FLAGS = (
    *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Djava.net.preferIPv4Stack=true",
    "-Dlog4j2.is.webapp=false",
    "-Xmx512m",
    "-XX:MaxDirectMemorySize=512m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
)
#: what differs from Pulsar's defaults in every recording
SETTINGS = {
    "clusterName": "standalone",
    "bindAddress": "127.0.0.1",
    "advertisedAddress": "127.0.0.1",
    "listeningInterface": "lo",
    "allowLoopback": "true",
    "transactionCoordinatorEnabled": "true",
    "managedLedgerDefaultEnsembleSize": "1",
    "managedLedgerDefaultWriteQuorum": "1",
    "managedLedgerDefaultAckQuorum": "1",
    "journalSyncData": "false",
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.99",
    "nettyMaxFrameSizeBytes": "5253120",  # as conf/standalone.conf: maxMessageSize and a padding
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "loadManagerClassName": "org.apache.pulsar.broker.loadbalance.NoopLoadManager",
    "loadBalancerEnabled": "false",
    "brokerDeleteInactiveTopicsEnabled": "false",
    "acknowledgmentAtBatchIndexLevelEnabled": "true",
    "transactionBufferSnapshotMinTimeInMillis": "2000",
}
LOGGING = """\
<Configuration status="ERROR">
  <Appenders>
    <Console name="said"><PatternLayout pattern="%d %p %c - %m%n%ex"/></Console>
  </Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="said"/></Root></Loggers>
</Configuration>
"""


class RealPulsar(OneProcessBroker):
    """`address`: host and port for clients; `admin`: where its REST interface is. `front`: of the
    broker's own address, the one that it tells clients and itself instead."""

    product = "Pulsar"

    def __init__(
        self,
        version: str = "4.2.4",
        settings: dict[str, str] | None = None,
        front: Callable[[str], str] | None = None,
    ) -> None:
        """Write the settings (SETTINGS, its own ports, then those given), start a standalone
        broker, and wait until it serves transactions; where that fails, its process is stopped.
        `front`: from its address to the one that it tells clients (None: its own)."""
        self._class_path = JARS.class_path(version)
        super().__init__(version)
        port, web = free_ports(2)
        self.address, self.admin = f"127.0.0.1:{port}", f"http://127.0.0.1:{web}"
        places = {"brokerServicePort": str(port), "webServicePort": str(web)}
        if front is not None:
            places["advertisedListeners"] = f"front:pulsar://{front(self.address)}"
            places["internalListenerName"] = "front"
        self.settings = {**SETTINGS, **places, **(settings or {})}
        try:
            lines = "".join(f"{name}={value}\n" for name, value in self.settings.items())
            (self.folder / "broker.conf").write_text(lines, "utf-8")
            (self.folder / "log4j2.xml").write_text(LOGGING, "utf-8")
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """With the data there is; returns when it has a transaction coordinator to offer."""
        self._process.start(
            ["java", *FLAGS, f"-Djava.io.tmpdir={self.folder}",
             f"-Dlog4j.configurationFile={self.folder / 'log4j2.xml'}",
             "-cp", self._class_path, "org.apache.pulsar.PulsarStandaloneStarter",
             "-c", str(self.folder / "broker.conf"), "-nfw", "-nss", "-a", "127.0.0.1",
             "--metadata-dir", str(self.folder / "metadata"),
             "--bookkeeper-dir", str(self.folder / "bookkeeper")]
        )  # fmt: skip
        self.wait_until(self._ready, (self._process,), PATIENCE_S)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"{self.admin}/admin/v3/transactions/coordinators", timeout=5
            ) as answer:
                return bool(json.load(answer))
        except (OSError, ValueError):
            return False

    def pause(self, seconds: float) -> None:
        """Let time pass: a real broker's is the machine's."""
        time.sleep(seconds)
