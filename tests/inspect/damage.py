"""Damage in a real Kafka, kept as data: what `mqlab inspect` is tried on.

    python -m tests.inspect.damage 4.3.1 tests/inspect/data/kafka-4.3.1
    python -m tests.inspect.damage 3.9.1 FOLDER --lib JARS     a version that is not pinned

One broker with verification switched off and a coordinator that never looks for timeouts, so
that a transaction may hang, stay open for ever, or be a zombie's. What its tools print is kept as
text; then it is killed, and its folder is kept. A second cluster of two brokers loses one of them
between the decision and the marker.
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace as Row
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import mqlab.real.kafka.broker as real
from mqlab.real.kafka.batches import TRANSACTIONAL, batch, record
from mqlab.real.kafka.wire import Raw

HANGING_PID = 4711
HOURS_AGO = 3
SETTINGS = {
    "transaction.partition.verification.enable": "false",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "log.index.size.max.bytes": "4096",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
TOPICS = ("orders", "payments", "stock", "refunds", "audit")


class OldKafka(real.RealKafka):
    """A version that is not pinned: its jars lie in a folder."""

    lib = Path()

    def tool(self, main: str, *arguments: str) -> str:
        if "--feature" in arguments:  # a storage tool that knows no features
            at = arguments.index("--feature")
            arguments = (*arguments[:at], *arguments[at + 2 :])
        return super().tool(main, *arguments)


def begin(kafka: real.RealKafka, txn_id: str, timeout_ms: int = 60_000) -> Producer:
    """A transaction that goes on."""
    config = {
        "bootstrap.servers": kafka.address,
        "transactional.id": txn_id,
        "transaction.timeout.ms": timeout_ms,
        "message.timeout.ms": timeout_ms,
        "log_level": 2,
    }
    producer = Producer(config)
    producer.init_transactions(30)
    producer.begin_transaction()
    return producer


def send(producer: Producer, topic: str, *values: str) -> None:
    for value in values:
        producer.produce(topic, value.encode(), key=value.encode(), partition=0)
    producer.flush(10)


def run(kafka: real.RealKafka, txn_id: str, topic: str, *values: str, commit: bool = True) -> None:
    """A transaction from its begin to its end."""
    producer = begin(kafka, txn_id)
    send(producer, topic, *values)
    (producer.commit_transaction if commit else producer.abort_transaction)(10)


def send_raw(raw: Raw, topic: str, pid: int, epoch: int, *values: str) -> None:
    """A transactional batch that no client would send: of a producer that nobody knows, or of one
    that has been replaced; some hours old."""
    body = b"".join(record(value.encode(), delta=i) for i, value in enumerate(values))
    at_ms = round((time.time() - HOURS_AGO * 3600) * 1000)
    data = batch(body, len(values), bits=TRANSACTIONAL, pid=pid, epoch=epoch, seq=0, at_ms=at_ms)
    partition = Row(index=0, records=data)
    answer = raw.ask(
        0, 9, transactional_id="x", acks=-1, timeout=timedelta(seconds=10),
        topic_data=(Row(name=topic, partition_data=(partition,)),),
    )  # fmt: skip
    error = answer.responses[0].partition_responses[0].error_code
    assert error.value == 0, f"{topic}: {error}"


def init(raw: Raw, txn_id: str) -> Any:
    """InitProducerId, as often as the coordinator asks to come again."""
    while (answer := raw.init(txn_id)).error_code.value:
        print(f"{txn_id}: {answer.error_code}", file=sys.stderr)
        time.sleep(0.2)
    return answer


def commit_offset(kafka: real.RealKafka, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def create(kafka: real.RealKafka, *topics: NewTopic) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.address})
    for future in admin.create_topics(list(topics)).values():
        future.result(30)


def damage(kafka: real.RealKafka) -> list[Any]:
    """All that can go wrong in one broker; returns what must stay open."""
    create(kafka, *(NewTopic(topic, 1, 1) for topic in TOPICS))
    run(kafka, "shop", "orders", "o1", "o2")
    run(kafka, "shop", "orders", "o3", commit=False)
    for number in range(4):
        run(kafka, "refunder", "refunds", *(f"r{number}{i}" for i in range(3)), commit=number == 3)
    run(kafka, "auditor", "audit", "a1", "a2")
    commit_offset(kafka, "auditors", "audit", 2)  # only the marker is left
    commit_offset(kafka, "billing", "orders", 1)
    overdue = begin(kafka, "pay-app", timeout_ms=1_500)
    send(overdue, "payments", "p1", "p2")
    with Raw(kafka.nodes[0].address) as raw:
        send_raw(raw, "orders", HANGING_PID, 0, "h1", "h2")
    kafka.nodes[0].stop()  # in order, so that snapshots are written
    kafka.nodes[0].start()
    kafka.wait_ready()
    run(kafka, "shop", "orders", "o4")
    with Raw(kafka.nodes[0].address) as raw:
        old = init(raw, "stock-app")
        assert init(raw, "stock-app").producer_epoch > old.producer_epoch
        send_raw(raw, "stock", old.producer_id, old.producer_epoch, "s1")
    bill = begin(kafka, "bill-app", timeout_ms=600_000)
    send(bill, "payments", "b1")
    reader = Consumer({"bootstrap.servers": kafka.address, "group.id": "billing"})
    bill.send_offsets_to_transaction(
        [TopicPartition("orders", 0, 3)], reader.consumer_group_metadata(), 10
    )
    return [overdue, bill, reader]


def ask_tools(kafka: real.RealKafka, out: Path) -> None:
    """What an operator gets."""
    at = ("--bootstrap-server", kafka.address)
    txn = "org.apache.kafka.tools.TransactionsCommand"
    groups = (
        "kafka.admin.ConsumerGroupCommand" if kafka.version < "3.8"
        else "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    )  # fmt: skip
    orders = ("--topic", "orders", "--partition", "0")
    for name, main, *words in (
        ("list", txn, *at, "list"),
        ("describe", txn, *at, "describe", "--transactional-id", "pay-app"),
        ("describe-producers", txn, *at, "describe-producers", *orders),
        ("find-hanging", txn, *at, "find-hanging", *orders),
        ("groups", groups, *at, "--describe", "--all-groups"),
    ):
        (out / f"{name}.txt").write_text(kafka.tool(main, *words), "utf-8")


def dump(kafka: real.RealKafka, out: Path) -> None:
    """What kafka-dump-log prints of some files of the folder."""
    data = kafka.nodes[0].data
    main = (
        "kafka.tools.DumpLogSegments" if kafka.version < "4"
        else "org.apache.kafka.tools.DumpLogSegments"
    )  # fmt: skip
    log = "00000000000000000000.log"
    snapshot = max((data / "orders-0").glob("*.snapshot")).name
    for name, file, *words in (
        ("dump-orders", f"orders-0/{log}", "--print-data-log"),
        ("dump-plain", f"orders-0/{log}"),
        ("dump-snapshot", f"orders-0/{snapshot}"),
        ("dump-txnindex", f"orders-0/{log.replace('.log', '.txnindex')}"),
        ("dump-state", f"__transaction_state-0/{log}", "--transaction-log-decoder"),
        ("dump-offsets", f"__consumer_offsets-0/{log}", "--offsets-decoder"),
    ):
        said = kafka.tool(main, "--files", str(data / file), *words)
        (out / f"{name}.txt").write_text(said.replace(str(data), "/data"), "utf-8")


def pack(folders: list[Path], to: Path) -> None:
    """Files of folders as one small archive; without the cluster's own log."""
    with tarfile.open(to, "w:xz") as archive:
        for path in (path for folder in folders for path in sorted(folder.rglob("*"))):
            if path.is_file() and path.parent.name != "__cluster_metadata-0":
                name = path.relative_to(folders[0].parents[1])
                info, data = tarfile.TarInfo(str(name).replace("/data/", "/")), path.read_bytes()
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


def lose_a_broker(kafka: real.RealKafka) -> Any:
    """A transaction that is decided, and the leader of its partition is gone."""
    admin = AdminClient({"bootstrap.servers": kafka.address})
    producer = begin(kafka, "split-app", timeout_ms=600_000)
    state = admin.list_topics(timeout=10).topics["__transaction_state"].partitions[0].leader
    other = 3 - state
    create(kafka, NewTopic("split", 1, replica_assignment=[[other]]))
    send(producer, "split", "x1", "x2")
    kafka.nodes[other - 1].kill()
    try:
        producer.commit_transaction(3)
    except Exception as error:
        print(f"as expected: {error}", file=sys.stderr)
    return producer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("out", type=Path)
    parser.add_argument("--lib", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kind: type[real.RealKafka] = real.RealKafka
    if args.lib:
        kind = OldKafka
        jars = ":".join(map(str, sorted(args.lib.glob("*.jar"))))
        real.JARS = Row(class_path=lambda _: jars, folder=lambda _: args.lib)  # type: ignore
    with kind(args.version, settings=SETTINGS) as kafka:
        kept = damage(kafka)
        texts = kafka.folder / "outputs"
        texts.mkdir()
        time.sleep(12)  # the transaction of 1.5 s is overdue, to a coordinator that looks
        ask_tools(kafka, texts)
        kafka.nodes[0].kill()
        dump(kafka, texts)
        pack([texts], args.out / "outputs.tar.xz")
        pack([kafka.nodes[0].data], args.out / "data.tar.xz")
        del kept
    with kind(args.version, settings=SETTINGS, brokers=2) as kafka:
        kept = lose_a_broker(kafka)
        for node in kafka.nodes:
            if node.running:
                node.kill()
        pack([node.data for node in kafka.nodes], args.out / "decided.tar.xz")
        del kept


if __name__ == "__main__":
    main()
