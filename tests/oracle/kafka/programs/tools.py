"""Kafka's own command-line tools: what a user at a terminal is told."""

from __future__ import annotations

import json
from functools import partial

from mqlab.real.kafka.client import TRANSACTION, Lab
from tests.oracle.kafka.producer import Producer

from ..tools import CLASSES, Tools
from . import JAVA, TV2, program

tool_program = partial(program, profiles=TV2, needs=(JAVA,))
TOPICS, GROUPS, TRANSACTIONS = "kafka-topics", "kafka-consumer-groups", "kafka-transactions"
CONSUMER = "kafka-console-consumer"
WAIT = "--timeout-ms 15000"


def fill_topic(lab: Lab) -> None:
    """Two partitions with three records each."""
    lab.topic("orders", 2)
    source = Producer(lab, None, "source")
    source.quietly_init()
    for i in range(2):
        source.send(f"orders-{i}", *(f"{i}{letter}" for letter in "abc"))


@tool_program(CLASSES[TOPICS])
def tools_topics(lab: Lab) -> None:
    create = "--create --topic @orders --partitions 2"
    compacted = "--partitions 1 --replication-factor 1 --config cleanup.policy=compact"
    with Tools(lab) as tools:
        tools(
            TOPICS,
            create,
            create,
            f"{create} --if-not-exists",
            f"--create --topic @prices {compacted}",
            "--create --topic @wrong --config retention.ms=soon",
            "--create --topic @many --replication-factor 3",
        )
        tools(TOPICS, "--list", keep={"orders", "prices", "wrong", "many"}.__contains__)
        tools(
            TOPICS,
            "--describe --topic @orders",
            "--describe --topic @prices",
            "--describe --topic @nothing",
            "--describe --topic @orders --topics-with-overrides",
            "--describe --topic @orders --under-replicated-partitions",
            "--alter --topic @orders --partitions 3",
            "--alter --topic @orders --partitions 2",
            "--describe --topic @orders",
            "--delete --topic @orders",
            "--delete --topic @orders",
            "--delete --topic @orders --if-exists",
            apart="LastKnownElr",
        )
        tools(TOPICS, "--list", keep={"orders", "prices", "wrong", "many"}.__contains__)
        lab.raw().coordinator(lab.wire("A"), TRANSACTION)  # looking for it creates the topic
        describe = "--describe --topic __transaction_state"
        tools(TOPICS, describe, keep=lambda line: "TopicId" in line)


@tool_program(CLASSES[GROUPS])
def tools_groups(lab: Lab) -> None:
    fill_topic(lab)
    lab.topic("prices")
    of = "--group @billing"
    with Tools(lab) as tools:
        read = f"--from-beginning --max-messages 6 {WAIT}"
        tools(CONSUMER, f"--topic @orders {of} {read}")
        tools(GROUPS, "--list", keep={"billing"}.__contains__)
        tools("kafka-groups", "--list", keep=lambda line: line.startswith("billing "))
        shown = ("", " --offsets", " --members", " --members --verbose", " --state")
        tools(GROUPS, *(f"--describe {of}{what}" for what in shown), "--describe --group @nobody")
        reset(tools, of)
        tools(
            GROUPS,
            f"--delete-offsets {of} --topic @orders:1",
            f"--delete-offsets {of} --topic @prices",
            f"--describe {of}",
            f"--delete {of}",
            f"--delete {of}",
            "--delete --group @new",
        )
        tools(GROUPS, "--list", keep={"billing", "new"}.__contains__)


def reset(tools: Tools, of: str) -> None:
    """Every way to say where a group goes on."""
    here = f"--reset-offsets {of} --topic @orders"
    tools(
        GROUPS,
        f"{here} --to-earliest --dry-run",
        f"{here} --to-earliest --execute",
        f"{here} --to-latest --execute",
        f"{here} --shift-by -1 --execute",
        f"{here} --shift-by -9 --execute",
        f"{here} --to-offset 2 --execute",
        f"{here} --to-datetime 2001-01-01T00:00:00.000 --execute",
        f"{here} --by-duration PT1H --execute",
        f"{here}:1 --to-offset 1 --execute",
        f"{here} --to-current --execute",
        f"--reset-offsets {of} --all-topics --to-latest --export --dry-run",
        f"--reset-offsets {of} --topic @nothing --to-latest --execute",
        "--reset-offsets --group @new --topic @orders --to-earliest --execute",
    )


@tool_program(f"{CLASSES[TRANSACTIONS]} (KIP-664)")
def tools_transactions(lab: Lab) -> None:
    app = Producer.start(lab, "A", 2)
    every, one = "list --transactional-id-pattern '@.*'", "describe --transactional-id @A"
    producers = "describe-producers --topic @orders --partition 0"
    end = "forceTerminateTransaction --transactionalId"
    with Tools(lab) as tools:
        tools(TRANSACTIONS, every, one)
        app.send("orders-0", "a")
        app.send("orders-1", "b")
        tools(
            TRANSACTIONS,
            every,
            one,
            producers,
            "describe --transactional-id @nobody",
            f"{every} --duration-filter 1000000",
            "find-hanging --broker-id 1 --max-transaction-timeout 15",
            "find-hanging --topic @orders",
            f"{end} @A",
            f"{end} @nobody",
        )
        for i in range(2):
            lab.wait_until(lambda i=i: lab.stable_end(f"orders-{i}"), 2)  # type: ignore[misc]
        app.commit()
        tools(TRANSACTIONS, one, producers)
    lab.log("orders-0", end=2)


@tool_program(f"{CLASSES['kafka-get-offsets']}, DeleteRecordsCommand, LogDirsCommand")
def tools_records(lab: Lab) -> None:
    fill_topic(lab)
    offsets, delete = "kafka-get-offsets", "kafka-delete-records"
    with Tools(lab) as tools:
        tools("kafka-log-dirs", "--describe --topic-list @orders --broker-list 1")
        times = ("-1", "earliest", "max-timestamp", "-4", "latest-tiered", "1")
        tools(offsets, *(f"--topic @orders --time {time}" for time in times))
        more = ("--topic-partitions @orders:0,@orders:1-2", "--topic @nothing")
        tools(offsets, "--topic @orders --partitions 1", *more)
        for i, places in enumerate(({0: 2, 1: -1}, {0: 9}, {0: 1})):
            parts = [{"topic": "@orders", "partition": p, "offset": o} for p, o in places.items()]
            tools.write(f"{i}.json", json.dumps({"partitions": parts, "version": 1}))
            tools(delete, f"--offset-json-file {i}.json")
        tools(offsets, "--topic @orders --time earliest")
        rest = f"--topic @orders --partition 0 --offset earliest --max-messages 1 {WAIT}"
        tools(CONSUMER, rest, ordered=True)


@tool_program(f"{CLASSES['kafka-console-producer']}, {CLASSES[CONSUMER]}")
def tools_console(lab: Lab) -> None:
    lab.topic("orders")
    write = "kafka-console-producer"
    keyed = "--reader-property parse.key=true --reader-property key.separator=:"
    with Tools(lab) as tools:
        tools(write, "--topic @orders", reads=("a", "b"))
        tools(write, f"--topic @orders {keyed} --compression-codec gzip", reads=("k:c", "k:d"))
        tools(write, "--topic @orders --command-property acks=0", reads=("e",))
        lab.wait_until(lambda: lab.end("orders-0"), 5)
        app = Producer.opened(lab, "A", "app")
        app.send_and_abort("orders-0", "x")
        lab.wait_until(lambda: lab.stable_end("orders-0"), 7)
        app.send_and_commit("orders-0", "f")
        lab.wait_until(lambda: lab.stable_end("orders-0"), 9)
        look(tools)


def look(tools: Tools) -> None:
    """What stands in the topic, and in the transaction coordinator's."""
    here = f"--topic @orders --partition 0 {WAIT}"
    shown = ["key", "timestamp", "offset", "partition", "headers", "epoch"]
    every = " ".join(f"--formatter-property print.{name}=true" for name in shown)
    tools(
        CONSUMER,
        f"{here} --offset earliest --max-messages 6 --isolation-level read_committed",
        f"{here} --offset earliest --max-messages 7 --isolation-level read_uncommitted",
        f"{here} --offset 3 --max-messages 2",
        f"{here} --offset earliest --max-messages 5 {every}",
        ordered=True,
    )
    log = "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"
    tools(
        CONSUMER,
        f"--topic __transaction_state --from-beginning {WAIT} --formatter {log}",
        ordered=True,
        keep=lambda line: '"transactionalId":"A"' in line,
    )


@tool_program(f"{CLASSES['kafka-broker-api-versions']}, ClusterTool, FeatureCommand")
def tools_cluster(lab: Lab) -> None:
    """Of the requests one line each: what this client can use of what the broker offers."""
    versions, feature = "kafka-broker-api-versions", "Feature: transaction.version "
    with Tools(lab) as tools:
        _, lines = tools.run(versions, "")
        for line in sorted(line.strip().strip(",") for line in lines if "): " in line):
            name, _, usable = line.partition(": ")
            lab.note(versions, "broker", name, usable)
        tools("kafka-cluster", "cluster-id")
        tools("kafka-cluster", "list-endpoints")
        tools("kafka-features", "describe", keep=lambda line: line.startswith(feature))
