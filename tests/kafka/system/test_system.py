"""What an administrator and a client's own faults do to transactions that are open."""

from __future__ import annotations

import pytest

from mqlab.kafka import KafkaSystem
from mqlab.kafka.messages import PartitionsDeleted
from mqlab.kernel import FactKind, Run
from mqlab.scenario import parse_script, perform, system_of

HEAD = "system kafka partitions=1 groups=1 readers=reader admins=admin"
OPEN = "run app: init, begin, send orders-0 a, flush"


def drive(text: str) -> Run:
    script = parse_script(text)
    return perform(script, system_of(script.system, {"kafka": KafkaSystem}))


def results(run: Run, node: str) -> list[str]:
    """What its calls returned."""
    app = run.world.nodes[node].app
    assert app is not None
    return [outcome.result for outcome in app.results]


def log(run: Run, name: str = "orders-0") -> list[str]:
    return [str(batch) for batch in run.world.disk(name).log(name).entries]


@pytest.mark.parametrize("restart", ["", "kill orders-0\nrestart orders-0\n"])
def test_a_deleted_topic_is_gone_and_ends_no_commit(restart: str) -> None:
    run = drive(f"""{HEAD}
{OPEN}
run admin: delete-topic orders
{restart}run reader: poll orders-0
run app: commit, begin, send orders-0 b
run admin: delete-topic orders, create-topic orders, create-topic orders
fire app retry
run app: commit
run reader: poll orders-0""")
    gone = "failed UNKNOWN_TOPIC_OR_PARTITION"
    assert results(run, "admin") == ["ok", gone, "ok", "failed TOPIC_ALREADY_EXISTS"]
    assert results(run, "app")[-1] == "ok" and results(run, "reader") == [gone, "ok b"]
    assert log(run) == ["b @0", "commit marker @1"]


def test_who_waits_at_a_deleted_topic_is_told() -> None:
    run = drive(f"""{HEAD}
hold orders-0→coordinator AddPartitionsToTxn
run app: init, begin, send orders-0 a
run admin: delete-topic orders
run app: flush""")
    told = [fact.line() for fact in run.facts if fact.peer == "app" and fact.node == "orders-0"]
    assert told == ["orders-0 ⇒ app  UNKNOWN_TOPIC_OR_PARTITION"]


@pytest.mark.parametrize("restart", ["", "kill orders-0\nrestart orders-0\n"])
def test_deleted_records_are_read_by_nobody(restart: str) -> None:
    run = drive(f"""{HEAD}
run app: init, begin, send orders-0 a, commit
run app: begin, send orders-0 b, commit
run admin: delete-records orders-0@2, delete-records orders-0@9
{restart}run reader: poll orders-0""")
    assert results(run, "admin") == ["ok @2", "failed OFFSET_OUT_OF_RANGE"]
    assert results(run, "reader") == ["ok b"] and log(run) == ["b @2", "commit marker @3"]


def test_a_group_and_its_positions_are_deleted() -> None:
    run = drive(f"""{HEAD}
run reader: subscribe g orders, commit-offsets g orders-0@4
run admin: delete-group g, delete-offsets g orders-0, committed g orders-0
run reader: unsubscribe
run admin: delete-offsets g orders-0, committed g orders-0, delete-group g, delete-group g""")
    assert results(run, "admin") == [
        "failed NON_EMPTY_GROUP", "failed GROUP_SUBSCRIBED_TO_TOPIC", "ok {orders-0@4}",
        "ok", "ok {orders-0@-1}", "ok", "failed GROUP_ID_NOT_FOUND",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("copies", "then"),
    [("", ""), (" replicas=2", ""),
     ("", "kill __consumer_offsets-0\nrestart __consumer_offsets-0\n")],
)  # fmt: skip
def test_with_a_topic_its_positions_are_deleted_of_every_group(copies: str, then: str) -> None:
    """Pending ones too (BrokerMetadataPublisher, OffsetMetadataManager#onPartitionsDeleted)."""
    run = drive(f"""{HEAD.replace("partitions=1", "partitions=1 topic=orders,payments")}{copies}
run reader: subscribe g orders, commit-offsets g orders-0@4 payments-0@7
run app: init, begin, send-offsets h orders-0@3 payments-0@2
run admin: delete-topic orders, create-topic orders
{then}run app: commit
run admin: committed g orders-0 payments-0, committed h orders-0 payments-0""")
    assert results(run, "admin")[2:] == [
        "ok {orders-0@-1, payments-0@7}", "ok {orders-0@-1, payments-0@2}"
    ]  # fmt: skip
    asked = [type(fact.body) for fact in run.facts if fact.kind is FactKind.SEND]
    assert asked.count(PartitionsDeleted) == 1, "and not when it is created"


@pytest.mark.parametrize("word", ["fence-producers", "force-terminate-transaction"])
def test_a_fenced_producer_cannot_commit(word: str) -> None:
    run = drive(f"""{HEAD}
{OPEN}
run admin: {word} order-service
fire admin retry
run app: commit
run reader: poll orders-0""")
    assert results(run, "app")[-1] == "failed ProducerFencedException, fatal"
    assert results(run, "admin")[0].startswith("ok pid=0") and results(run, "reader") == [
        "ok nothing"
    ]


def test_an_administrator_is_told_what_counts_now_and_a_consumer_waits() -> None:
    run = drive(f"""{HEAD}
run app: init, begin, send-offsets g orders-0@3
run admin: committed g orders-0
run reader: committed g orders-0 require_stable=no, committed g orders-0""")
    assert results(run, "admin") == ["ok {orders-0@-1}"]
    assert results(run, "reader") == ["ok orders-0@-1"]


@pytest.mark.parametrize(
    ("client", "commits"),
    [("legacy", ["failed OutOfOrderSequenceException, abortable", "ok"]), ("v2", ["ok", "ok"])],
)
def test_only_librdkafka_skips_a_number_after_a_record_that_was_too_large(
    client: str, commits: list[str]
) -> None:
    end = "run app: abort\nfire app retry\n" if client == "legacy" else ""
    run = drive(f"""system kafka partitions=1 client={client} max_message_bytes=1000
run app: init, begin, send orders-0 big bytes=1001, flush, abort
run app: begin, send orders-0 b bytes=1000, commit
{end}run app: begin, send orders-0 c, commit""")
    app = run.world.nodes["app"].app
    assert app is not None
    told = [o.result for o in app.results if str(o.call) == "commit"]
    assert results(run, "app")[3] == "failed RecordTooLargeException, abortable"
    assert told == commits


def test_a_limit_of_nothing_lets_nothing_in() -> None:
    """As max.message.bytes=0 and message.timestamp.after.max.ms=0 of a real topic."""
    size = drive("""system kafka partitions=1 max_message_bytes=0
run app: init, begin, send orders-0 a, flush""")
    assert results(size, "app")[-1] == "failed RecordTooLargeException, abortable"
    ahead = drive("""system kafka partitions=1 max_ahead_ms=0
clock app +1ms
run app: init, begin, send orders-0 a, flush""")
    assert results(ahead, "app")[-1].startswith("failed InvalidTimestamp")


def test_another_partition_knows_nothing_of_the_skipped_number() -> None:
    run = drive("""system kafka partitions=2 client=legacy max_message_bytes=1000
run app: init, begin, send orders-0 big bytes=1001, flush, abort
run app: begin, send orders-1 b, commit""")
    assert results(run, "app")[-1] == "ok"


def test_an_epoch_asked_for_in_the_middle_aborts_the_first_half() -> None:
    run = drive("""system kafka partitions=2 client=legacy readers=reader
run app: init, init-producer-id, begin, send orders-0 a, init-producer-id, flush, init-producer-id
fire app retry
run app: send orders-1 b, commit
run reader: poll orders-0, poll orders-1""")
    assert results(run, "app")[1].startswith("failed IllegalStateException")
    assert results(run, "app")[4].endswith("a request is in flight, flush first")
    assert results(run, "app")[-1] == "ok" and results(run, "reader") == ["ok nothing", "ok b"]


@pytest.mark.parametrize(("epoch", "ends"), [(0, "ok"), (7, "failed ProducerFencedException")])
def test_a_transaction_is_resumed_by_its_id_and_epoch(epoch: int, ends: str) -> None:
    run = drive(f"""system kafka partitions=1 producers=old:sink,new:sink readers=reader
run old: init, begin, send orders-0 a, flush
kill old
run new: resume-transaction 0 {epoch}, commit
run reader: poll orders-0""")
    assert results(run, "new")[0] == "ok" and results(run, "new")[1].startswith(ends)
    assert results(run, "reader") == ["ok a" if ends == "ok" else "ok nothing"]


@pytest.mark.parametrize("restart", ["", "kill orders-1\nrestart orders-1\n"])
def test_a_partition_comes_in_the_middle_and_is_committed_too(restart: str) -> None:
    run = drive(f"""{HEAD} spare=1
run app: init, begin, send orders-0 a, send orders-1 b
{restart}run admin: create-partitions orders
{restart}fire app retry
run app: commit
run reader: subscribe g orders, poll, poll orders-1
run admin: create-partitions orders, delete-topic orders""")
    assert results(run, "app")[-1] == "ok" and results(run, "reader")[1:] == ["ok a", "ok b"]
    assert results(run, "admin") == ["ok", "failed INVALID_PARTITIONS", "ok"]


# ---- What a scenario may say to a Kafka, and what it is told when it says something else

WORDS_HEAD = "system kafka partitions=2\n"
RUN = "run app: init, begin, send orders-0 a, commit\n"


def scenario(text):
    script = parse_script(text)
    return perform(script, system_of(script.system, {"kafka": KafkaSystem})).trace


def test_kafkas_own_names_are_the_same_in_both_languages():
    trace = scenario(WORDS_HEAD + RUN + "kill coordinator\nrestart coordinator")
    english, chinese = trace.narrate("en").splitlines(), trace.narrate("zh").splitlines()
    states = [b for a, b in zip(english, chinese, strict=True) if "PrepareCommit" in a]
    assert states and all("PrepareCommit" in line for line in states)


def test_a_commit_waits_for_a_coordinator_that_a_partition_cuts_off():
    cut = WORDS_HEAD + "partition app, orders-0 | coordinator\n" + RUN
    assert "Empty pid" not in scenario(cut).narrate()
    assert "CompleteCommit" in scenario(cut + "heal").narrate()
