"""The table of client libraries: what is in it, how it is pinned, what each told a real broker, and
what is said where one cannot be had. `make real` runs all of it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqlab.cli import main, real_rocketmq
from mqlab.real.program import RealBrokerError
from mqlab.recordings.recording import load_recordings
from mqlab.rocketmq.config import HALF_TOPIC, OP_TOPIC
from mqlab.rocketmq.evidence import VERSIONS
from mqlab.rocketmq.remoting import (
    Flag,
    MessageRecord,
    RemotingCommand,
    RequestCode,
    answer_to,
    cut_frame,
    decode_command,
    encode_command,
    encode_record,
)
from mqlab.rocketmq.remoting.unserved import UNSERVED
from tests.oracle.rocketmq.client import PROFILES, outcome_of, shorten
from tests.oracle.rocketmq.cost import END, count_records, make_namer
from tests.oracle.rocketmq.differences import PAGE
from tests.oracle.rocketmq.libraries import CLIENTS, LIBRARIES, SOURCES, SPRING, Library
from tests.oracle.rocketmq.oracle import ROCKETMQ
from tests.oracle.rocketmq.wire import Connection
from tests.oracle.runner import select_programs

RECORDED = load_recordings("rocketmq-5.5.0")


def told(one: Library) -> list[tuple[str, str, str]]:
    rows = RECORDED[f"5.5/{one.scenario}"].observations
    return [(o.who, o.asked, o.answered) for o in rows]


@pytest.mark.parametrize("one", LIBRARIES, ids=lambda one: one.scenario)
def test_every_library_told_the_whole_story_to_a_real_broker(one: Library) -> None:
    rows = told(one)
    states = [row[2].split()[1] for row in rows if row[1].startswith("sends ") and " " in row[2]]
    assert states == ["COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"]
    (asked,) = (row for row in rows if row[1].startswith("asked about"))
    name = asked[1].removeprefix("asked about ")
    assert name in ("UNKNOW", "UNKNOWN") and asked[2].startswith("1 COMMIT")
    assert sum(row[1].startswith("gets ") for row in rows) == one.messages
    assert ("log", "Pull @3", f"half {name} (1) @3") in rows


def test_clients_of_three_generations_and_of_two_languages_see_the_same() -> None:
    first, *others = (one for one in LIBRARIES if one.name != "rocketmq-spring")
    assert [one.version for one in (first, *others)] == ["4.3.2", "4.9.7", "5.5.0", "2.1.2"]
    for one in others:
        assert told(one) == told(first), one.scenario


def test_a_message_of_springs_for_a_time_of_delivery_came() -> None:
    (spring,) = (one for one in LIBRARIES if one.name == "rocketmq-spring")
    assert ("consumer", "gets later", "tag key later") in told(spring)


def test_what_is_fetched_is_pinned() -> None:
    for had, name in ((CLIENTS, "rocketmq-client"), (SPRING, "rocketmq-spring-boot-starter")):
        (version,) = had.versions
        assert f"  {version}/{name}-{version}.jar\n" in had.pins.read_text("utf-8")
    sums = (SOURCES / "rocketmq-client-go" / "go.sum").read_text("utf-8")
    assert "github.com/apache/rocketmq-client-go/v2 v2.1.2 h1:" in sums


def test_a_library_that_cannot_be_had_here_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["real", "rocketmq", "compare", "rocketmq-client-go-2.1.2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "not here   5.5/rocketmq-client-go-2.1.2: rocketmq-client-go needs go"
    )
    with pytest.raises(RealBrokerError, match=r"client 4\.4\.0 is pinned here"):
        CLIENTS.class_path("4.4.0")


# ---- The command `mqlab real rocketmq`, beyond what every broker's has ---------------


def test_a_version_has_its_release_line() -> None:
    assert set(VERSIONS) == set(PROFILES)
    for profile, version in VERSIONS.items():
        assert version.startswith(profile)
        level = PROFILES[profile].level
        assert {name for _, name in select_programs(ROCKETMQ, levels=(level,))} == {profile}
    assert VERSIONS["5.5"] == real_rocketmq.VERSION


@pytest.mark.parametrize("code", sorted(UNSERVED))
def test_each_refused_request_stands_on_the_page(code: int) -> None:
    one = UNSERVED[code]
    assert f"| {code} | {one.name} | {one.asked_by} | {one.why} |" in PAGE.read_text("utf-8")


# ---- How RocketMQ's requests and its commit log are read -----------------------------


def command(code, number, flag=0):
    return encode_command(RemotingCommand(code, {}, b"", number, flag, language="JAVA"))[4:]


def test_either_side_asks_and_an_answer_is_named_after_its_request():
    name = make_namer()
    assert name(command(RequestCode.END_TRANSACTION, 7, Flag.ONEWAY), True) == END
    assert name(command(RequestCode.HEART_BEAT, 8), True) == "Heartbeat"
    assert name(command(RequestCode.CHECK_TRANSACTION_STATE, 8), False) == "request 39"
    assert name(command(0, 8, Flag.RESPONSE), False) == "Heartbeat"
    assert name(command(0, 8, Flag.RESPONSE), True) == "request 39"


def test_what_a_reader_pulls_does_not_count():
    name = make_namer()
    assert name(command(RequestCode.PULL_MESSAGE, 3), True) == ""
    assert name(command(0, 3, Flag.RESPONSE), False) == ""


def test_records_are_counted_by_topic_up_to_where_nothing_is_written():
    topics = [HALF_TOPIC, "orders", OP_TOPIC, "orders"]
    records = [encode_record(MessageRecord(topic=topic, body=b"x")) for topic in topics]
    found = count_records(b"".join(records) + bytes(100))
    assert found == {"half topic": 1, "op topic": 1, "topics' queues": 2}


# ---- One connection: answers find those that wait for them, and what the broker asks is kept

Say = Callable[[RemotingCommand], list[RemotingCommand]]


@contextmanager
def broker(say: Say) -> Iterator[str]:
    """One that says to each request what it is told to say."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = server.accept()
        buffer = bytearray()
        while data := client.recv(1 << 16):
            buffer += data
            while (frame := cut_frame(buffer)) is not None:
                for command in say(decode_command(frame)):
                    if command.code == -1:
                        client.close()
                        return
                    client.sendall(encode_command(command))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.getsockname()[1]}"
    server.close()


def test_answers_find_their_questions_in_any_order_and_checks_are_kept() -> None:
    held: list[RemotingCommand] = []

    def say(asked: RemotingCommand) -> list[RemotingCommand]:
        if asked.is_oneway:
            return []
        held.append(asked)
        if len(held) < 2:
            return []
        check = RemotingCommand(39, {"tranStateTableOffset": "7"}, flag=2)
        return [check, *(answer_to(one, 0, {"n": one.fields["n"]}) for one in reversed(held))]

    with broker(say) as address, Connection(address) as connection:
        connection.begin(37, oneway=True)
        asked = {n: connection.begin(30, n=n, flag=True, unsaid=None) for n in ("a", "b")}
        assert [connection.answer(asked[n], 10).fields["n"] for n in asked] == ["a", "b"]
        assert held[0].fields["flag"] == "true" and held[0].language == "PYTHON"
        assert "unsaid" not in held[0].fields
        assert [check.fields for check in connection.take_checks(2, 0.05)] == [
            {"tranStateTableOffset": "7"}
        ]


def test_whoever_waits_hears_that_the_broker_is_gone() -> None:
    with broker(lambda asked: [RemotingCommand(-1)]) as address:
        with Connection(address) as connection, pytest.raises(ConnectionError, match="closed"):
            connection.ask(30)


def test_a_request_without_an_answer_ends() -> None:
    with broker(lambda asked: []) as address:
        with Connection(address) as connection, pytest.raises(TimeoutError):
            connection.ask(37, patience_s=0.05)


@pytest.mark.parametrize(
    ("remark", "told"),
    [
        ("The producer group wrong", "The producer group wrong"),
        ("not set any response code", ""),
        (
            "org.a.RemotingCommandException: commitOrRollback field wrong, "
            "org.a.EndTransactionRequestHeader.checkFields(EndTransactionRequestHeader.java:79)",
            "commitOrRollback field wrong",
        ),
        ('Cannot invoke "Object.hashCode()" because "key" is null', "NullPointerException"),
        ("one\n\tat two", "one"),
    ],
)
def test_a_remark_is_told_without_its_java(remark: str, told: str) -> None:
    assert shorten(remark) == told


def test_an_answer_in_the_engines_words() -> None:
    assert outcome_of(RemotingCommand(0, remark="FOUND")) == "ok"
    assert outcome_of(RemotingCommand(604)) == "ILLEGAL_OPERATION"
    assert outcome_of(RemotingCommand(1, remark="why")) == "SYSTEM_ERROR why"
