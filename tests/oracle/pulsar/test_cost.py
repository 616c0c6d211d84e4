"""How Pulsar's commands are read."""

from __future__ import annotations

import struct

import pytest

from mqlab.recordings.costs import OTHERS
from tests.oracle.pulsar.cost import JOURNAL, SET_UP, SNAPSHOT, make_namer, place_of

CONNECT, SEND, RECEIPT, MESSAGE, PING, CONNECT_TC, END = 2, 6, 7, 9, 18, 62, 56


def command(kind):
    return struct.pack(">i", 3) + bytes([0x08, kind, 0]) + b"payload"


def test_a_send_of_a_client_that_has_no_coordinator_is_a_snapshot():
    app, broker = make_namer(), make_namer()
    kinds = (CONNECT, CONNECT_TC, SEND, RECEIPT, PING, END)
    assert [app(command(kind), True) for kind in kinds] == [
        SET_UP,
        "TcClientConnect",
        "SendMessage",
        "SendMessage",
        "",
        "EndTxn",
    ]
    assert {broker(command(kind), True) for kind in (SEND, RECEIPT, MESSAGE)} == {SNAPSHOT}


def test_what_a_reader_of_orders_says_does_not_count():
    name = make_namer()
    subscribe = command(4) + b"persistent://public/default/cost1-orders0"
    assert [name(frame, True) for frame in (command(CONNECT), subscribe)] == [SET_UP, ""]
    assert [name(command(kind), False) for kind in (MESSAGE, RECEIPT)] == ["", ""]
    assert make_namer()(command(4) + b"__transaction_buffer_snapshot", True) == SET_UP


def test_what_is_no_command_is_refused():
    with pytest.raises(ValueError, match="begins with its type"):
        make_namer()(b"\0\0\0\1\x10\x01", True)


def test_the_journal_is_flushed_apart_from_the_other_files():
    assert place_of("/x/bookkeeper/current/1a2.txn") == JOURNAL
    assert place_of("/x/metadata/1.log") == OTHERS
