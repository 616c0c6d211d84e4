"""What happens next, from what real brokers have left: what is taken over, what a search from there
says, and that the brokers did the same.

What they did: the broker of `damage.py` was restarted after its transaction had begun to hang, and
it hangs in the folder; `hanging-found-and-aborted`, `timeout-abort` and `coordinator-killed` are
recorded on a real 4.3.1; the console of this project's server is asked here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer

from mqlab.cli import inspect as command
from mqlab.cli import main
from mqlab.cli.alone import PageServer
from mqlab.inspect import Ask, Report, inspect, inspect_broker
from mqlab.inspect.kafka.internal import Own, State
from mqlab.inspect.kafka.play import ROOM, take_over
from mqlab.inspect.kafka.scan import Labels, Row, Scan
from mqlab.inspect.play import Future
from mqlab.inspect.pulsar.play import take_over as take_over_topics
from mqlab.inspect.pulsar.topics import Facts as PulsarFacts
from mqlab.inspect.pulsar.topics import Topic
from mqlab.inspect.reading import LogRead, Reading, Txn
from mqlab.inspect.rocketmq.halves import Facts, Half
from mqlab.inspect.rocketmq.play import take_over as take_over_halves
from mqlab.inspect.show import write_page
from mqlab.kernel import Frontier, parse
from mqlab.kernel.moves import apply, initial
from mqlab.real.kafka.wire import Raw
from mqlab.registry import reopen_run
from mqlab.rocketmq.config import HALF_TOPIC
from mqlab.rocketmq.remoting import MessageRecord
from mqlab.serve.kafka import serve
from tests.inspect.damage import init, send_raw
from tests.inspect.folders import DATA, NOW_MS, VERSIONS, read_output, unpack
from tests.inspect.test_live import begin


def play(target: Path | str, broker: str = "kafka", now: int = NOW_MS, **asked: object) -> Report:
    return inspect(broker, Ask(str(target), now_ms=now, **asked), play=True)  # type: ignore


def future(report: Report) -> Future:
    assert report.future is not None
    return report.future


def tell(report: Report) -> dict[str, dict[str, bool]]:
    """Of each wish, by its first name in a sentence of English: which ways lead there. All of it
    was searched."""
    found: dict[str, dict[str, bool]] = {}
    for one in future(report).answers:
        assert one.complete
        found.setdefault(one.wish.en, {})[one.way.name] = one.schedule is not None
    return found


READS = "A read_committed consumer reads {}-0 to its end"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_can_end_each_transaction(version: str, tmp_path: Path) -> None:
    report = play(unpack(version, tmp_path))
    no = {"restart": False, "timeout": False}
    assert tell(report) == {
        READS.format("orders"): {**no, "admin": True},
        READS.format("stock"): {**no, "again": False, "admin": True},
        READS.format("payments"): {
            "restart": False, "timeout": True, "again": True, "admin": True,
        },
        "billing gets its position": {"restart": False, "timeout": True, "again": True},
    }  # fmt: skip
    broken = {(a.wish.en, a.way.name) for a in future(report).answers if a.broken}
    assert broken == {(READS.format("payments"), "admin")}  # the coordinator knows nothing of it
    version_taken = 0 if version < "4" else 2
    assert f"taken to be {version_taken}" in str(report)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_decision_is_carried_out_by_a_restart_where_the_partition_is_there(
    version: str, tmp_path: Path
) -> None:
    """And where its leader is away it waits for that one."""
    both = play(unpack(version, tmp_path, "decided"))
    done = "split-app, now PrepareCommit, is complete"
    assert tell(both) == {READS.format("split"): {"restart": True}, done: {"restart": True}}
    run = future(both).answers[0].trace
    assert run is not None
    cells = {cell.label: cell.aborted for cell in run.snapshots[-1].logs[0].cells}
    assert cells == {"r1": False, "r2": False, "C": False}
    alone = play(tmp_path / "node-2")
    assert tell(alone) == {done: {"restart": False, "leader": True}}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_engine_stands_where_the_broker_stood(version: str, tmp_path: Path) -> None:
    """Batch by batch, with producers, epochs and sequence numbers, and its own frontiers."""
    report = play(unpack(version, tmp_path), payloads=True)
    world = initial(future(report).taken.system)
    leader = world.role("orders-0")
    orders = next(log for log in report.reading.logs if log.name == "orders-0")
    flags = {flag.name: flag.at for flag in orders.frontiers}
    assert (leader.part.lso, leader.part.hw) == (flags["LSO"], flags["HW"]) == (5, 9)
    log = [(b.words, b.base, b.pid, b.epoch, b.first_seq, b.control)
           for b in world.disk("orders-0").log("orders-0").entries]  # fmt: skip
    assert ("h1, h2", 5, 4711, 0, 0, "") in log and log[-1][5] == "COMMIT"
    states = world.role("coordinator").entries
    assert {name: str(one.state) for name, one in states.items()} == {
        "pay-app": "Ongoing", "bill-app": "Ongoing", "stock-app": "Empty",
    }  # fmt: skip


def test_without_the_coordinators_word_nothing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "said.txt"
    path.write_text(read_output("4.3.1", "dump-orders"))
    report = play(path)
    assert not tell(report) and "whose transaction is open in it was not read" in str(report)
    path.write_text("\n".join(read_output("4.3.1", name) for name in ("dump-orders", "dump-state")))
    assert "orders-0: whose" in str(play(path))  # a dump of one of its partitions, perhaps
    path.write_text(read_output("4.3.1", "find-hanging"))
    report = play(path)
    assert tell(report)[READS.format("orders")]["admin"]
    assert "orders-0: offsets 5 to 5" in str(report)


def reading(*rows: Row, open_pids: tuple[int, ...]) -> Reading:
    scan = Scan("a-0", "")
    for row in rows:
        scan.take(row)
    assert tuple(scan.opens) == open_pids
    labels = Labels()
    log = scan.read(labels)
    return Reading("kafka", "x", 0, (log,), tuple(scan.list_open(labels)), own=Own(whole=True))


def test_only_the_neighbourhood_of_the_frontier_is_taken(tmp_path: Path) -> None:
    """A transaction that ends behind it is not taken for an open one."""
    rows = [Row(0, 0, 1, 0, True), Row(1, 1, 2, 0, True)]
    rows += [Row(n, n) for n in range(2, 300)]
    rows += [Row(300, 300, 2, 0, True, "C")]
    taken = take_over(reading(*rows, open_pids=(1,)))
    log = dict(taken.system.disks)["a-0"].log("a-0")
    assert [b.base for b in log.entries] == [0, *range(2, ROOM)]
    assert any("imported part: 1" in gap.why.en for gap in taken.left)
    assert any(f"offsets {ROOM} to 300" in gap.why.en for gap in taken.left)
    many = [Row(n, n, n, 0, True) for n in range(ROOM + 9)]
    taken = take_over(reading(*many, open_pids=tuple(range(ROOM + 9))))
    assert len(dict(taken.system.disks)["a-0"].log("a-0").entries) == ROOM


def test_the_command_the_page_and_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, page = str(unpack("4.3.1", tmp_path)), tmp_path / "page.html"
    assert main(["inspect", "kafka", root, "--play", "--lang", "en", "-o", str(page)]) == 1
    out = capsys.readouterr().out
    assert "What happens next?" in out and "yes (steps: 5)" in out
    assert page.read_text("utf-8").count('class="payload"') == 3
    assert main(["inspect", "kafka", root, "--play", "--json", "--lang", "en"]) == 1
    rows = json.loads(capsys.readouterr().out)["next"]
    assert {row["way"] for row in rows if row["run"]} == {"admin", "timeout", "again"}
    report = inspect_broker("kafka", root, play=True, say=lambda line: None)
    hand = report.playground()
    hand.do("call admin")
    hand.go_on()
    assert "abort-hanging orders-0@5: ok" in hand.play.trace.narrate()
    with pytest.raises(ValueError, match="read them again with --by-hand, and paste it there"):
        reopen_run(hand.play.token)
    assert main(["open", hand.play.token]) == 2 and "--by-hand" in capsys.readouterr().err
    again = inspect_broker("kafka", root, play=True, say=lambda line: None).playground()
    again.open_token(hand.play.token)
    assert again.play.trace.narrate() == hand.play.trace.narrate()
    assert again.ui["words"][again.ui["copied"]].startswith("copied; to open it, inspect the same")
    other = str(unpack("3.9.1", tmp_path, "decided") / "node-2")
    elsewhere = inspect_broker("kafka", other, play=True, say=lambda line: None).playground()
    elsewhere._handle_custom_msg({"type": "open", "token": hand.play.token}, [])
    assert elsewhere.ui["error"].endswith("and paste it there")
    with pytest.raises(ValueError, match="play=True"):
        inspect_broker("kafka", root, say=lambda line: None).playground()
    assert "payload" not in write_page(inspect("kafka", Ask(root)))


def test_a_page_to_play_on_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def look_once(server: PageServer) -> None:
        seen.append(server._begin())
        raise KeyboardInterrupt

    monkeypatch.setattr(PageServer, "serve_forever", look_once)
    monkeypatch.setattr(command, "has_screen", lambda: False)
    root = str(unpack("3.9.1", tmp_path, "decided") / "node-2")
    assert main(["inspect", "kafka", root, "--by-hand", "--lang", "en"]) == 1
    ((playground, says),) = seen
    assert "http://127.0.0.1:" in capsys.readouterr().err and "引擎" in says.of("zh")
    assert playground is not None and playground.play.choices == ("kill split-0",)


def test_ids_that_are_no_names_and_states_that_no_record_has() -> None:
    states = [State(name, n, 0, 1, "Ongoing") for n, name in enumerate(("a b", "a/b", "", "c"))]
    states.append(State("d", 9, 0, 1, "PrepareEpochFence"))
    own = Own(tuple(states), whole=True)
    taken = take_over(Reading("kafka", "x", 0, (LogRead("a-0", 0, 0),), own=own))
    assert [*initial(taken.system).role("coordinator").entries] == ["_", "a_b", "c"]


def test_a_transaction_of_which_only_a_table_tells() -> None:
    txn = Txn("T1", "", "hanging", "b-3", ("b-3",), "7", 0, 41)
    taken = take_over(Reading("kafka", "x", 0, (LogRead("a-0", 0, 0),), (txn,)))
    assert initial(taken.system).role("b-3").part.lso == 41


def test_a_server_does_what_the_search_has_said(tmp_path: Path) -> None:
    """A transaction that its producer has left: a restart changes nothing, and a second producer
    with the same id ends it."""
    with serve(data_dir=tmp_path, off=("verification",)) as broker:
        producer = begin(broker.address, "app")
        producer.produce("orders", b"o", partition=0)
        producer.flush(10)
        plain = Producer({"bootstrap.servers": broker.address})
        plain.produce("stock", b"s", partition=0)
        plain.flush(10)
        with Raw(broker.address) as raw:
            send_raw(raw, "stock", 4711, 0, "h")
        no = {"restart": False, "timeout": False}
        assert tell(play(broker.address, now=0)) == {
            READS.format("orders"): no | {"timeout": True, "again": True, "admin": True},
            READS.format("stock"): no | {"admin": True},
        }
        del producer
    with serve(data_dir=tmp_path) as broker:
        assert tell(play(broker.address, now=0))[READS.format("orders")]["again"]
        with Raw(broker.address) as raw:
            init(raw, "app")
        after = play(broker.address, now=0, topic="orders")
        assert {f.at for f in after.reading.logs[0].frontiers} == {2} and not tell(after)
        assert tell(play(broker.address, now=0, topic="stock"))[READS.format("stock")]["admin"]


# ---- RocketMQ ----------------------------------------------------------------------------


@pytest.fixture(params=("5.5.0", "4.9.7"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = DATA / f"rocketmq-{request.param}" / "damaged.tar.xz"
    shutil.unpack_archive(path, tmp_path / request.param)
    return tmp_path / str(request.param)


def test_halves_go_the_way_that_the_broker_has_sent_one(store: Path) -> None:
    """In the folder lies one that was given up after three checks and one round more."""
    report = play(store, "rocketmq", 0)
    assert tell(report) == {
        "app-one-left is set aside, after 2 of 3 checks": {"clock": True},
        "app-one-left reaches its consumers": {"clock": False, "there": True},
        "ghost-abandoned is set aside, after 0 of 3 checks": {"clock": True},
        "ghost-abandoned reaches its consumers": {"clock": False, "there": True},
        "app-given-up reaches its consumers": {"clock": False, "there": False, "resumed": True},
    }
    assert not any(one.broken for one in future(report).answers)
    answers = future(report).answers
    rounds = {one.wish.en: one.schedule for one in answers if one.way.name == "clock"}
    assert rounds["app-one-left is set aside, after 2 of 3 checks"] == ("fire broker",) * 2
    assert ("release=4.9" in future(report).taken.system.line()) == store.name.startswith("4.9")


def test_the_store_stands_in_the_engine_as_it_was(store: Path) -> None:
    report = play(store, "rocketmq", 0)
    disk = initial(future(report).taken.system).disk("broker")
    shown = {log.name: log for log in report.reading.logs}
    halves = [entry.base for entry in disk.log(f"{HALF_TOPIC}-0").entries]
    at = shown[HALF_TOPIC].frontiers[0].at
    assert halves == [c.offset for c in shown[HALF_TOPIC].cells if c.offset >= at] != []
    assert disk.table("consumerOffset.json")[f"{HALF_TOPIC}-0@CID_RMQ_SYS_TRANS"] == at
    bodies = {stored.message.words for stored in disk.log("commitlog").entries}
    assert bodies == {"app-given-up", "app-one-left", "ghost-abandoned"}
    assert "poisoned" not in write_page(report)


def test_what_no_op_record_that_was_taken_names_is_not_taken_for_undecided() -> None:
    """The end of a half lies beyond what was taken over."""
    rows = tuple(MessageRecord(HALF_TOPIC, queue_offset=n, physical_offset=n) for n in range(5))
    halves = tuple(Half(f"k{n}", "g", "orders-0", n, 0, 0, 0, 0, "") for n in (0, 4))
    facts = Facts(halves, (), None, 0, 1, 15, (), (), frozenset({2}))
    log = LogRead(HALF_TOPIC, 0, 5, (Frontier("at", 0),), rows=rows)
    taken = take_over_halves(Reading("rocketmq", "x", 0, (log,), own=facts))
    disk = dict(taken.system.disks)["broker"]
    assert [entry.base for entry in disk.log(f"{HALF_TOPIC}-0").entries] == [0, 1]
    assert "offsets 2 to 4 were not imported" in {gap.why.en for gap in taken.left}
    assert not any("k4" in wish.says.en for wish, _ in taken.asked)


# ---- Pulsar ------------------------------------------------------------------------------

SAVED = DATA / "pulsar-4.2.4"
ORDERS = "public/default/orders"


def test_a_topic_that_is_held_back_and_a_pending_acknowledgement() -> None:
    """`unloaded` is what that broker said after a restart: it still waits."""
    report = play(SAVED / "open.json", "pulsar")
    no = {"restart": False, "timeout": True, "admin": True}
    assert tell(report) == {
        f"{ORDERS} is read to its end": {**no, "mark": False},
        f"no acknowledgement is pending in billing of {ORDERS}": no,
    }
    after = play(SAVED / "unloaded.json", "pulsar")
    assert not tell(after) and "no coordinator's record" in str(after)
    (waits,) = (log for log in after.reading.logs if log.name == ORDERS)
    world = initial(future(report).taken.system)
    for choice in ("orders.",):
        world = apply(future(report).taken.system, world, parse(choice))[-1].world
    readable = world.role("orders").buffer.readable
    assert readable + 1 == waits.frontiers[0].at == 12


def test_a_late_message_is_ended_by_the_next_one_which_hides_what_had_committed() -> None:
    """As `late-write-hides-committed` is recorded on a real 4.2.4."""
    report = play(SAVED / "hanging.json", "pulsar")
    assert tell(report) == {
        f"{ORDERS} is read to its end": {"restart": False, "timeout": False, "mark": True}
    }
    (mark,) = (one for one in future(report).answers if one.way.name == "mark")
    (broken,) = mark.broken
    assert broken.en == "what was committed is not taken for aborted later"


def test_an_entry_whose_end_was_not_taken_over_is_not_taken_for_open() -> None:
    """T1 is open from 0 on; T2 is aborted, and T3 commits, behind what is near."""
    rows = [(0, "(0,1)", "", "", False), (1, "(0,2)", "", "", True), (2, "", "", "", False)]
    rows += [(3, "(0,3)", "", "", False), (9, "(0,3)", "C", "", False)]
    log = LogRead("a/b/c", 0, 10, rows=tuple(rows))
    live = Txn("T1", "(0,1)", "OPEN", "coordinator 0", ("a/b/c",))
    topic = Topic("a/b/c", 10, "Ready", "0:-1", 0, 1, next_open=("(0,1)",))
    facts = PulsarFacts(("Ready",), (topic,))
    taken = take_over_topics(Reading("pulsar", "x", 0, (log,), (live,), own=facts))
    world = initial(taken.system)
    entries = world.disk("a_b_c").log("a_b_c").entries
    assert [entry.base for entry in entries] == [0, 1, 2]
    world = apply(taken.system, world, parse("a_b_c."))[-1].world
    buffer = world.role("a_b_c").buffer
    assert [str(txn) for txn, _ in buffer.ongoing] == ["(0,1)"] and len(buffer.aborts) == 1


def test_what_does_not_wait_is_not_asked_about() -> None:
    for name in ("frozen", "not-ready", "no-bookies"):
        report = play(SAVED / f"{name}.json", "pulsar")
        assert not tell(report) and "Nothing in the imported state waits" in str(report)
        assert "What happens next?" in write_page(report)
    assert "its buffer was FirstSnapshotting" in str(play(SAVED / "not-ready.json", "pulsar"))


def test_a_way_ends_what_is_open_in_its_partition_alone() -> None:
    """The name of one partition begins the name of another."""
    opens = [
        Txn("T1", "", "hanging", "a-1", ("a-1",), "7", 0, 41),
        Txn("T2", "", "hanging", "a-10", ("a-10",), "8", 0, 3),
    ]
    logs = (LogRead("a-1", 0, 0), LogRead("a-10", 0, 0))
    taken = take_over(Reading("kafka", "x", 0, logs, tuple(opens)))
    said = [str(way.says) for _, ways in taken.asked for way in ways if way.name == "admin"]
    assert [("a-1@41" in says, "a-10@3" in says) for says in said] == [(True, False), (False, True)]
