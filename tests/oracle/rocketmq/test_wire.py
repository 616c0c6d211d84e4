"""One connection: answers find those that wait for them, and what the broker asks is kept."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from mqlab.rocketmq.remoting import (
    RemotingCommand,
    answer_to,
    cut_frame,
    decode_command,
    encode_command,
)
from tests.oracle.rocketmq.client import outcome_of, shorten
from tests.oracle.rocketmq.wire import Connection

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

    found: dict[str, str] = {}

    with broker(say) as address, Connection(address) as connection:

        def ask(n: str) -> None:
            found[n] = connection.ask(30, n=n, flag=True).fields["n"]

        connection.send_oneway(37, oneway=1)
        threads = [threading.Thread(target=ask, args=(n,)) for n in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert found == {"a": "a", "b": "b"}
        assert held[0].fields["flag"] == "true" and held[0].language == "PYTHON"
        assert connection.pushed.get(timeout=10).fields == {"tranStateTableOffset": "7"}


def test_whoever_waits_hears_that_the_broker_is_gone() -> None:
    with broker(lambda asked: [RemotingCommand(-1)]) as address:
        with Connection(address) as connection, pytest.raises(ConnectionError, match="closed"):
            connection.ask(30)


def test_a_request_without_an_answer_ends() -> None:
    with broker(lambda asked: []) as address:
        with Connection(address) as connection, pytest.raises(TimeoutError, match="request 37"):
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
