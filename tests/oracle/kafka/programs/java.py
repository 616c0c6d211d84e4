"""The Java client: its transactional state machine, and what it makes of each error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mqlab.real.kafka.admin import describe, fetch_offsets
from mqlab.real.kafka.client import READ_COMMITTED, Lab
from mqlab.real.kafka.programs import tell_story
from tests.oracle.kafka.admin import read_both, stable_offset
from tests.oracle.kafka.libraries import LIBRARIES, Library
from tests.oracle.kafka.producer import Producer
from tests.oracle.kafka.programs import BOTH_LEVELS, JAVA, LIBRARY, program
from tests.oracle.kafka.stories import play_java

java = partial(program, profiles=BOTH_LEVELS, needs=(JAVA,))


@java("TransactionManager.State: calls out of turn")
def java_misuse(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "misuse")
    describe(lab, "A", "CompleteCommit")
    lab.log("orders-0", end=2)


@java("KafkaProducer#send outside a transaction: the record stays in the accumulator")
def java_refused_record(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "refused-record")
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    lab.read("orders-0", READ_COMMITTED)


@java("TransactionsTest#testFencingOnCommit, #testFencingOnSend, #testFencingOnSendOffsets")
def java_fenced(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "fenced")
    lab.log("orders-0", end=12)
    lab.read("orders-0", READ_COMMITTED)


@java("TransactionsTest#testFencingOnTransactionExpiration")
def java_timed_out(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "timed-out")
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    read_both(lab, "orders-0")


@java("ProducerConfig#postProcessAndValidateIdempotenceConfigs")
def java_configs(lab: Lab) -> None:
    play_java(lab, "configs")


@java("OffsetMetadataManagerTest …UnknownMemberId; CommitFailedException is abortable")
def java_wrong_group(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "wrong-group")
    lab.wait_until(lambda: stable_offset(lab, "billing", "orders-0"), 1)
    fetch_offsets(lab, "billing", "orders-0")


def _copy(lab: Lab, story: str) -> None:
    lab.topic("orders")
    lab.topic("bills")
    source = Producer.opened(lab, None, "source")
    for i in range(6):
        source.send("orders-0", *(f"o{10 * i + j}" for j in range(10)))
    play_java(lab, story)
    lab.wait_until(lambda: lab.stable_end("bills-0") == lab.end("bills-0"), True)
    lab.read("bills-0", READ_COMMITTED)
    fetch_offsets(lab, "billing", "orders-0")


@java("TransactionsBounceTest#testWithGroupMetadata, TransactionsTest#sendOffset")
def java_copy(lab: Lab) -> None:
    """Output under read_committed is the input, each once and in order."""
    _copy(lab, "copy")


@java("TransactionsWithMaxInFlightOneTest")
def java_copy_one_in_flight(lab: Lab) -> None:
    _copy(lab, "copy-one-in-flight")


@java("AdminClient: describe, list, fenceProducers, forceTerminateTransaction (KIP-664, KIP-1062)")
def java_admin(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "admin")
    lab.log("orders-0", end=6)


# ---- confluent-kafka (librdkafka), the client the Spark job uses: it speaks the legacy protocol
#
# to any cluster, and classifies every error as fatal, abortable or retriable.

LEGACY = ("tv2-legacy", "tv0")
WAIT_S = 20.0


class Client:
    """A confluent-kafka producer, whose every call is noted with what it raised."""

    def __init__(self, lab: Lab, txn_id: str, who: str, **more: object) -> None:
        import confluent_kafka as ck

        lab.clients["confluent-kafka"] = ""
        self.ck, self.lab, self.who = ck, lab, who
        self.producer: Any = ck.Producer(
            {
                "bootstrap.servers": lab.target.address,
                "transactional.id": lab.wire(txn_id),
                "linger.ms": 0,
                **{key.replace("_", "."): value for key, value in more.items()},
            }
        )

    def call(self, what: str, action: Callable[[], object]) -> bool:
        """Note what comes of it; whether it went well. A retriable error is tried again."""
        for _ in range(50):
            try:
                action()
            except (self.ck.KafkaException, SystemError) as error:
                # 2.16.1 calls a report while its own fatal error is being raised: SystemError,
                # caused by it, from the first function in C that the report calls
                cause = (error.__cause__ or error).args[0]
                if cause.retriable():
                    continue
                how = " fatal" if cause.fatal() else ""
                how += " abortable" if cause.txn_requires_abort() else ""
                self.lab.note(self.who, "broker", what, cause.name() + how)
                return False
            self.lab.note(self.who, "broker", what, "ok")
            return True
        return False

    def init(self) -> bool:
        return self.call("init", lambda: self.producer.init_transactions(WAIT_S))

    def begin(self) -> bool:
        return self.call("begin", lambda: self.producer.begin_transaction())

    def commit(self) -> bool:
        return self.call("commit", lambda: self.producer.commit_transaction(WAIT_S))

    def abort(self) -> bool:
        return self.call("abort", lambda: self.producer.abort_transaction(WAIT_S))

    def send(self, partition: str, value: str) -> None:
        """Produce and wait for the report."""
        topic, index = self.lab.split(partition)
        reports: list[str] = []

        def report(error: Any, message: Any) -> None:
            reports.append("ok" if error is None else error.name())

        def produce() -> None:
            self.producer.produce(topic, value.encode(), partition=index, on_delivery=report)
            self.producer.flush(WAIT_S)

        if self.call(f"produce {value}", produce):
            self.lab.note(self.who, partition, f"delivery of {value}", "".join(reports))

    def transact(self, partition: str, value: str, commit: bool = True) -> None:
        """A whole transaction of one record."""
        self.begin()
        self.send(partition, value)
        self.commit() if commit else self.abort()

    def offsets(self, group: Any, partition: str, offset: int, called: str) -> None:
        topic, index = self.lab.split(partition)
        at = [self.ck.TopicPartition(topic, index, offset)]
        self.call(called, lambda: self.producer.send_offsets_to_transaction(at, group, WAIT_S))


@program("TransactionsTest#testBasicTransactions", profiles=LEGACY)
def librdkafka_commit_abort(lab: Lab) -> None:
    """Commit, abort, and both with nothing inside: then no request is sent."""
    lab.topic("orders")
    app = Client(lab, "A", "app")
    app.init()
    for end in (app.commit, app.abort):
        app.begin()
        end()
    describe(lab, "A")
    app.transact("orders-0", "a")
    app.transact("orders-0", "x", commit=False)
    describe(lab, "A", "CompleteAbort")
    lab.log("orders-0", end=4)
    read_both(lab, "orders-0")


@program("TransactionsTest#testFencingOnCommit, …OnSend", profiles=LEGACY)
def librdkafka_fenced(lab: Lab) -> None:
    """A producer whose twin has been initialised: fatal at its next call."""
    lab.topic("orders")
    for how in ("commit", "send"):
        old = Client(lab, how, how)
        old.init()
        old.begin()
        old.send("orders-0", f"old {how}")
        twin = Client(lab, how, "twin")
        twin.init()
        if how == "send":
            old.send("orders-0", "late")
        old.commit()
        old.abort()
        twin.transact("orders-0", f"new {how}")
        del old, twin
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    lab.read("orders-0", READ_COMMITTED)


@program("TransactionsTest#testFencingOnTransactionExpiration", profiles=LEGACY)
def librdkafka_timed_out(lab: Lab) -> None:
    """The broker has aborted; a legacy producer that commits then is fenced."""
    lab.topic("orders")
    slow = Client(lab, "A", "slow", transaction_timeout_ms=1000)
    slow.init()
    slow.begin()
    slow.send("orders-0", "a")
    lab.log("orders-0", end=2)
    slow.commit()
    slow.begin()
    new = Client(lab, "A", "new")
    new.init()
    new.transact("orders-0", "b")
    lab.log("orders-0", end=4)


@program("TransactionsTest#sendOffset; transactions_test.py", profiles=LEGACY)
def librdkafka_copy(lab: Lab) -> None:
    """Consume, transform, produce, every second transaction given up: exactly once."""
    lab.topic("orders")
    lab.topic("bills")
    source = Producer.opened(lab, None, "source")
    source.send("orders-0", *(f"o{i}" for i in range(12)))
    app = Client(lab, "A", "app", max_in_flight=1)
    reader = app.ck.Consumer(
        {"bootstrap.servers": lab.target.address, "group.id": lab.wire("billing")}
    )
    group = reader.consumer_group_metadata()
    app.init()
    done, attempt = 0, 0
    while done < 12:
        attempt += 1
        app.begin()
        for i in range(done, done + 4):
            app.send("bills-0", f"bill of o{i}")
        app.offsets(group, "orders-0", done + 4, f"send offsets {done + 4}")
        if attempt % 2:
            app.abort()
        else:
            app.commit()
            done += 4
    reader.close()
    lab.wait_until(lambda: lab.stable_end("bills-0") == lab.end("bills-0"), True)
    lab.read("bills-0", READ_COMMITTED)
    lab.wait_until(lambda: stable_offset(lab, "billing", "orders-0"), 12)
    fetch_offsets(lab, "billing", "orders-0")


@program("AdminClient.list_offsets: KIP-396, isolation of KIP-98", profiles=LEGACY)
def librdkafka_lso_lag(lab: Lab) -> None:
    """How far readers of committed messages are held back, as an operator asks for it: the end of
    the log minus the end that is told for read_committed."""
    source = Producer.start(lab, None, who="source")
    source.send("orders-0", "o1")
    note_lag(lab, "orders-0")
    app = Client(lab, "A", "app")
    app.init()
    app.begin()
    app.send("orders-0", "a")
    source.send("orders-0", "o2", "o3")
    note_lag(lab, "orders-0")
    app.commit()
    lab.wait_until(lambda: lab.stable_end("orders-0"), 5)
    note_lag(lab, "orders-0")


def note_lag(lab: Lab, partition: str) -> None:
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

    asking = AdminClient({"bootstrap.servers": lab.target.address})
    at = TopicPartition(*lab.split(partition))
    wanted, ends = {at: OffsetSpec.latest()}, []  # type: ignore[no-untyped-call]
    for level in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED):
        futures = asking.list_offsets(wanted, isolation_level=level)
        ends.append(futures[at].result(WAIT_S).offset)
        lab.note("operator", partition, f"list_offsets latest {level.name}", ends[-1])
    lab.note("operator", partition, "LSO lag", ends[0] - ends[1])


# ---- The table of client libraries: each tells the same story, and then its log is looked at


def play_library(library: Library, lab: Lab) -> None:
    tell_story(lab, library.name, library.version, library.story())


for one in LIBRARIES:
    if one.version:  # the one that is installed tells it in lab 14 too
        program(
            f"the story of every client library, told by {one.name} {one.version}",
            name=one.scenario,
            profiles=("tv2-legacy" if one.legacy else "tv2",),
            needs=(LIBRARY,),
        )(partial(play_library, one))
