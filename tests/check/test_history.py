"""Histories as files: written, merged, read back, and refused with the line."""

from __future__ import annotations

import json

import pytest

from mqlab.check.history import (
    End,
    Ended,
    HistoryError,
    Read,
    Send,
    Writer,
    merge,
    read,
    to_dict,
)
from mqlab.cli import main

HEAD = '{"history": 1, "tool": "by hand"}\n'
SEND = {"time": 5, "process": "w", "event": "send"}
SEND |= {"txn": "A", "topic": "t", "partition": 0, "value": "a"}


def write(tmp_path, *lines, head=HEAD):
    path = tmp_path / "history.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines]
    path.write_text(head + "".join(texts), encoding="utf-8")
    return path


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "w.jsonl"
    writer = Writer(path, "w", "a test")
    writer.write(Send, txn="A", topic="t", partition=1, value="a\u2028“<b>”")
    writer.write(End, txn="A", how="commit")
    writer.write(Ended, txn="A", outcome="unknown", error="no answer")
    writer.close()
    events = [*read(path)]
    assert [event.name for event in events] == ["send", "end", "ended"]
    assert events[0].value == "a\u2028“<b>”" and [event.line for event in events] == [2, 3, 4]
    times = [event.time for event in events]
    assert times == sorted(times)


def test_histories_are_merged_by_time_and_keep_their_order(tmp_path):
    paths = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for number, path in enumerate(paths):
        sends = [Send(time, f"w{number}", 0, "A", "t", 0, f"{time}") for time in (1 + number, 3, 3)]
        path.write_text(HEAD + "".join(json.dumps(to_dict(send)) + "\n" for send in sends))
    merge(paths, tmp_path / "all.jsonl", "a test")
    merged = [(event.time, event.process) for event in read(tmp_path / "all.jsonl")]
    assert merged == [(1, "w0"), (2, "w1"), *[(3, "w0")] * 2, *[(3, "w1")] * 2]


def test_a_last_line_that_was_not_finished_is_left_out(tmp_path):
    assert len([*read(write(tmp_path, SEND, '{"time": 6, "proc'))]) == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("no json\n", "line 2: expected a JSON object"),
        ("[1]\n", "line 2: expected a JSON object"),
        ("[" * 100_000 + "\n", "line 2: expected a JSON object"),
        ({**SEND, "event": "sent"}, "one of init, send, end, ended, assign, read, drained"),
        ({**SEND, "event": ["send"]}, "one of init, send"),
        ({**SEND, "partition": "0"}, '"partition": expected a whole number'),
        ({**SEND, "partition": True}, '"partition": expected a whole number'),
        ({**SEND, "partition": -1}, '"partition": expected a whole number'),
        ({**SEND, "time": 1e9}, '"time": expected a whole number'),
        ({**SEND, "value": None}, '"value": expected a text'),
        ({**SEND, "event": "end", "how": "roll back"}, '"how": expected commit or abort'),
        ({**SEND, "event": "ended", "outcome": "ok"}, "committed or aborted or unknown"),
    ],
)
def test_what_is_no_event_is_refused_with_its_line(tmp_path, line, told):
    with pytest.raises(HistoryError, match="line 2") as error:
        [*read(write(tmp_path, line))]
    assert told in str(error.value)


def test_each_event_needs_its_fields(tmp_path):
    for key in SEND:
        values = {name: value for name, value in SEND.items() if name != key}
        with pytest.raises(HistoryError, match=f'"{key}": expected'):
            [*read(write(tmp_path, values))]


def test_an_error_may_be_left_out(tmp_path):
    ended = {"time": 1, "process": "w", "event": "ended", "txn": "A", "outcome": "committed"}
    assert [*read(write(tmp_path, ended))] == [Ended(1, "w", 2, "A", "committed", "")]


@pytest.mark.parametrize(
    ("head", "told"),
    [("", "is empty"), ('{"history": 2}\n', "line 1"), ('{"system": "kafka"}\n', "line 1")],
)
def test_a_history_begins_with_its_head(tmp_path, head, told):
    with pytest.raises(HistoryError, match=told):
        [*read(write(tmp_path, head=head))]


def test_the_command_says_what_it_found_and_exits_with_it(tmp_path, capsys):
    good = write(tmp_path, SEND)
    assert main(["check", "history", str(good)]) == 0
    assert "found nothing" in capsys.readouterr().out
    got = Read(9, "r\x1b[31m", 0, "t", 0, 0, "a")
    bad = write(tmp_path, SEND, to_dict(got))
    assert main(["check", "history", str(bad)]) == 1
    out = capsys.readouterr().out
    assert "FOUND dirty read: 1" in out and "line 3: process=r" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("content", "told"), [(b"\xff\xfe", "not text"), (b"", "is empty"), (None, "cannot read")]
)
def test_the_command_refuses_what_is_no_history(tmp_path, capsys, content, told):
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    assert main(["check", "history", str(path)]) == 2
    assert told in capsys.readouterr().err
