"""An acknowledged Kafka transaction that nobody can ever read: nothing is killed, nothing is slow.

    python lost_marker.py KAFKA/libs

needs Java 17 and confluent-kafka. `KAFKA/libs` is the folder of jars of a Kafka distribution. Three
brokers are started in a temporary folder, at ports of 127.0.0.1, and ended again.
The exit code is 1 where the commit is lost, and 0 where it is read.

1. A topic has its only partition on a broker that does not coordinate the transaction.
2. A producer sends one record to it in a transaction.
3. That broker is stopped by SIGTERM. The partition has no leader for a while.
4. The producer commits, and is told that all is well.
5. The broker is started again. A reader with read_committed reads to the end.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
TRANSACTIONAL_ID = "order-service"
ORDERS = TopicPartition("orders", 0)
PARTITIONS = 50  # of __transaction_state
PATIENCE_S = 90
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")


class Broker:
    """One process, which is broker and controller."""

    def __init__(self, number: int, libs: Path, folder: Path, ports: list[int]) -> None:
        self.number, self.address = number, f"127.0.0.1:{ports[2 * number - 2]}"
        self._java = ["java", *FLAGS, "-cp", str(libs / "*")]
        self._said = folder / f"said-{number}.log"
        self._properties = folder / f"server-{number}.properties"
        voters = ",".join(f"{i + 1}@127.0.0.1:{ports[2 * i + 1]}" for i in range(3))
        here = f"PLAINTEXT://{self.address}"
        self._properties.write_text(
            f"""\
process.roles=broker,controller
node.id={number}
controller.quorum.voters={voters}
listeners={here},CONTROLLER://127.0.0.1:{ports[2 * number - 1]}
advertised.listeners={here}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder / f"data-{number}"}
""",
            "utf-8",
        )
        self._run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c")

    def _run(self, main: str, *arguments: str) -> None:
        command = [*self._java, main, *arguments, str(self._properties)]
        subprocess.run(command, check=True, capture_output=True)

    def start(self) -> None:
        with self._said.open("ab") as said:
            command = [*self._java, "kafka.Kafka", str(self._properties)]
            self.process = subprocess.Popen(command, stdout=said, stderr=said)

    def stop(self) -> None:
        """SIGTERM, and wait: an orderly shutdown."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_S)


def main(libs: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="lost-marker-") as folder:
        ports = free_ports(6)
        brokers = [Broker(number, libs, Path(folder), ports) for number in (1, 2, 3)]
        try:
            for broker in brokers:
                broker.start()
            return tell(brokers)
        finally:
            for broker in brokers:
                broker.process.terminate()
            for broker in brokers:
                broker.process.wait(PATIENCE_S)


def tell(brokers: list[Broker]) -> int:
    """The five steps; the exit code."""
    addresses = ",".join(broker.address for broker in brokers)
    client = {"bootstrap.servers": addresses, "log_level": 0}
    admin = AdminClient(client)
    producer = Producer({**client, "transactional.id": TRANSACTIONAL_ID})
    wait(lambda: len(admin.list_topics(timeout=5).brokers) == 3)
    producer.init_transactions(PATIENCE_S)
    coordinator = find_coordinator(admin)
    keeper = brokers[coordinator % 3]  # the one behind it: another one
    topic = NewTopic(ORDERS.topic, num_partitions=1, replica_assignment=[[keeper.number]])
    admin.create_topics([topic])[ORDERS.topic].result(PATIENCE_S)
    say(f"broker {coordinator} coordinates, broker {keeper.number} alone keeps orders-0")
    producer.begin_transaction()
    producer.produce(ORDERS.topic, b"paid", partition=0)
    producer.flush(PATIENCE_S)
    say(f"record sent in a transaction     {frontiers(admin)}")
    keeper.stop()
    wait(lambda: leader(admin) is None)
    say(f"broker {keeper.number} stopped by SIGTERM       orders-0 has no leader")
    producer.commit_transaction(PATIENCE_S)
    say("commit_transaction()             returned without an error")
    time.sleep(5)  # whatever the coordinator still does, it has the time to do
    keeper.start()
    wait(lambda: leader(admin) == keeper.number)
    say(f"broker {keeper.number} started again            orders-0 has its leader again")
    time.sleep(10)
    read = read_committed(client)
    say(f"10 s later                       {frontiers(admin)}")
    say(f"a reader with read_committed     {', '.join(read) or 'gets nothing'}")
    say("as it should be" if read else "LOST: the commit was acknowledged, and nobody can read it")
    return 0 if read else 1


def find_coordinator(admin: AdminClient) -> int:
    """The leader of the transactional id's partition of __transaction_state; the partition is
    Java's hashCode modulo their number."""
    code = 0
    for letter in TRANSACTIONAL_ID:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    code = code - (1 << 32) if code >= 1 << 31 else code
    topic = admin.list_topics("__transaction_state", timeout=10).topics["__transaction_state"]
    return int(topic.partitions[(code & 0x7FFFFFFF) % PARTITIONS].leader)


def leader(admin: AdminClient) -> int | None:
    found = admin.list_topics(ORDERS.topic, timeout=5).topics[ORDERS.topic].partitions[0].leader
    return None if found < 0 else int(found)


def frontiers(admin: AdminClient) -> str:
    """High watermark and last stable offset of orders-0."""
    ends = []
    for isolation in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED):
        asked = {ORDERS: OffsetSpec.latest()}
        (answer,) = admin.list_offsets(asked, isolation_level=isolation).values()
        ends.append(answer.result(PATIENCE_S).offset)
    return "high watermark {}, last stable offset {}".format(*ends)


def read_committed(client: dict[str, Any]) -> list[str]:
    """What a reader gets from the beginning to the end it is told."""
    reader = Consumer(
        {
            **client,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition(ORDERS.topic, 0, 0)])
    found = []
    while (message := reader.poll(30)) is not None and message.error() is None:
        found.append(message.value().decode())
    reader.close()
    return found


def wait(reached: Callable[[], bool]) -> None:
    """Until it is so. TimeoutError where it never is."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            if reached():
                return
        except KafkaException:  # a cluster that is still on its way
            pass
        time.sleep(0.5)
    raise TimeoutError("the cluster did not get there; is libs the folder of a distribution?")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="an acknowledged commit that is lost")
    parser.add_argument("libs", type=Path, help="the folder of jars of a Kafka distribution")
    sys.exit(main(parser.parse_args().libs))
