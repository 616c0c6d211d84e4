"""The checker, an anomaly at a time, on histories written by hand; and what is none."""

from __future__ import annotations

import json
import re
from itertools import count

import pytest

from mqlab.check.checker import (
    ABORTED_READ,
    ANOMALIES,
    DIRTY_READ,
    DIVERGENT,
    LOST,
    TORN,
    UNKNOWN_VALUE,
    ZOMBIE,
    check,
)
from mqlab.check.history import (
    Assign,
    Drained,
    End,
    Ended,
    HistoryError,
    Init,
    Read,
    Send,
    Writer,
    merge,
    read,
    read_allowed,
    to_dict,
)
from mqlab.cli import main


class Told:
    """A history that is written in order: each event one nanosecond after the last."""

    def __init__(self) -> None:
        self.events = []
        self._times = count(1)

    def _add(self, kind, process, **values):
        now = next(self._times)
        self.events.append(kind(now, process, now + 1, **values))

    def send(self, txn, *values, process="w"):
        for value in values:
            self._add(Send, process, txn=txn, topic="t", partition=int(value[-1]), value=value)

    def end(self, txn, how="commit", outcome="", process="w"):
        self._add(End, process, txn=txn, how=how)
        if outcome:
            self.ended(txn, outcome, process)

    def ended(self, txn, outcome, process="w"):
        self._add(Ended, process, txn=txn, outcome=outcome, error="")

    def init(self, process, identity="id"):
        self._add(Init, process, identity=identity)

    def read(self, *values, process="r", at=None):
        """Each value in the partition of its last digit, at offset `at` or its own."""
        for value in values:
            offset = int(value[1:-2]) if at is None else int(at)
            place = {"topic": "t", "partition": int(value[-1]), "offset": offset}
            self._add(Read, process, **place, value=value)

    def assign(self, process="r", isolation="read_committed"):
        self._add(Assign, process, isolation=isolation)

    def drain(self, *partitions, end=100):
        for partition in partitions or (0, 1):
            self._add(Drained, "last", topic="t", partition=int(partition), end=int(end))

    def play(self, name, *words):
        """One of the steps above, with what it is given as text."""
        given = dict(word.split("=") for word in words if "=" in word)
        getattr(self, name)(*(word for word in words if "=" not in word), **given)

    def found(self):
        return sorted({finding.anomaly for finding in check(self.events).findings})


@pytest.fixture
def told():
    return Told()


def test_a_correct_history_shows_nothing(told):
    told.send("A", "a1/0", "a1/1")
    told.end("A", outcome="committed")
    told.send("B", "b2/0")
    told.end("B", "abort", outcome="aborted")
    told.read("a1/0", "a1/1")
    told.drain()
    report = check(told.events)
    assert (report.findings, report.undecided) == ((), ())
    assert (report.counts["committed"], report.counts["aborted"]) == (1, 1)


#: a name, and below it a history: steps of `Told`, and what is found after them
STORIES = """
a committed transaction of which nothing is there is lost
    send A a1/0 a1/1; end A commit committed; drain => lost
a part of a transaction that is committed is torn
    send A a1/0 a1/1; end A commit committed; read a1/1; drain => torn
a part of a transaction whose outcome is unknown is torn
    send A a1/0 a1/1; end A commit unknown; read a1/1; drain => torn
a part of a transaction that has no outcome is torn
    send A a1/0 a1/1; end A commit; read a1/1; drain => torn
what is read after a drain may be beyond its end
    assign last; drain 0 end=0; send A a1/0; end A commit committed; read a1/0 => nothing
a reader that begins again is given everything again: what it had says nothing of what is there now
    send A a1/0; end A commit committed; assign last; read a1/0 process=last
    assign last; drain 0 end=5 => lost
an aborted message is not read
    send A a1/0; end A abort aborted; read a1/0 => aborted read
a commit that the client had to abort counts as aborted
    send A a1/0; end A commit aborted; drain => nothing
    read a1/0 => aborted read
what nobody asked to commit is dirty
    send A a1/0; read a1/0 => dirty read
what was asked to abort is dirty
    send A a1/0; end A abort unknown; read a1/0 => dirty read
what is read before its commit was asked for is dirty
    send A a1/0; read a1/0; end A commit committed => dirty read
asked to commit once is asked for ever
    send A a1/0; end A commit; end A abort unknown; read a1/0 => nothing
a value at two offsets is a duplicate
    send A a1/0; end A commit committed; read a1/0; read a1/0 at=2 => duplicate
two readers of one offset are no duplicate
    send A a1/0; end A commit committed; read a1/0; read a1/0 process=s => nothing
messages of one process keep their order
    send A a2/0 b1/0; end A commit committed; read b1/0 a2/0 => reordered
messages of two processes have no order
    send A a2/0; send B b1/0 process=v; end A commit committed
    end B commit committed process=v; read b1/0 a2/0 => nothing
a reader does not go back by itself
    send A a1/0 b2/0; end A commit committed; read a1/0 b2/0 a1/0 => non-monotonic read
a reader that was assigned again may go back
    send A a1/0 b2/0; end A commit committed; assign; read a1/0 b2/0; assign; read a1/0 => nothing
one offset holds one value
    send A a1/0 b2/0; end A commit committed; read a1/0; read b2/0 process=s at=1 => divergent
a value that nobody sent
    read x1/0 => unknown value
a message outside a transaction is one of its own
    send a1/0 a1/0; ended a1/0 committed; read a1/0; drain => nothing
a message outside a transaction whose answer is lost may be there
    send a1/0 a1/0; ended a1/0 unknown; read a1/0; drain => nothing
a message of a process that was killed may be there where it had noted that it hands it over
    end b2/0; send b2/0 b2/0; read b2/0; drain => nothing
a message that is read before it was sent is dirty
    read a1/0; send a1/0 a1/0; ended a1/0 committed => dirty read
what a reader of uncommitted messages does not get is lost
    send A a1/0; end A commit committed; assign last read_uncommitted; drain 0 => lost
a confirmed commit stays when a later call hears nothing
    send A a1/0; end A commit committed; end A commit unknown; drain 0 => lost
a confirmed commit stays when a later call hears the same
    send A a1/0; end A commit committed; end A commit committed; drain 0 => lost
a zombie that begins again later was one
    init w; init twin; send A a1/0; end A commit committed; init w => zombie commit
who has taken its identity back is no zombie
    init w; init twin; init w; send A a1/0; end A commit committed => nothing
"""
STORY = dict(re.findall(r"(?m)^(\S.*)\n((?:    .*\n)+)", STORIES))


@pytest.mark.parametrize("name", STORY)
def test_what_is_found_in_a_history(told, name):
    for line in STORY[name].splitlines():
        steps, _, found = line.strip().partition(" => ")
        for step in steps.split("; "):
            told.play(*step.split())
        if found:
            assert told.found() == ([] if found == "nothing" else [found])


def test_nothing_is_lost_in_a_partition_that_was_drained_before_the_commit(told):
    told.send("A", "a1/0")
    told.drain()
    told.end("A", outcome="committed")
    report = check(told.events)
    assert report.findings == () and "not read to the end" in str(report.undecided[0])


@pytest.mark.parametrize("seen", [(), ("a1/0", "a1/1")])
def test_an_unknown_transaction_may_be_there_or_not(told, seen):
    told.send("A", "a1/0", "a1/1")
    told.end("A", outcome="unknown")
    told.read(*seen)
    told.drain()
    report = check(told.events)
    assert report.findings == ()
    assert f"of which {bool(seen):d} were read" in str(report.undecided[0])


@pytest.mark.parametrize(
    ("again", "end", "found"),
    [
        (("a1/0", "b2/0"), 3, []),
        ((), 0, [LOST]),  # the partition is empty, or there is none
        (("a1/0",), 2, [LOST]),  # its end was cut off
        (("a1/0",), 3, [LOST]),  # a hole
        (("b2/0",), 3, [LOST]),  # its beginning is gone
        (("c1/0",), 2, [DIVERGENT, LOST]),  # something else is there
    ],
)
@pytest.mark.parametrize("outcome", ["committed", "unknown"])
def test_what_was_read_once_and_is_not_there_at_last_is_lost(told, again, end, found, outcome):
    """Who reads it all again after the cluster has lost something decides what is there."""
    told.send("A", "a1/0")
    told.end("A", outcome=outcome)
    told.send("B", "b2/0")
    told.end("B", outcome=outcome)
    told.assign("r")
    told.read("a1/0", "b2/0")
    told.send("C", "c1/0")
    told.end("C", outcome="unknown")
    told.assign("last")
    told.read(*again, process="last")
    told.drain(0, end=end)
    assert told.found() == found


def test_a_partition_that_ends_before_what_was_read_is_named_with_its_lines(told):
    told.read("a7/0", "a9/0")
    told.drain(0, end=9)
    told.drain(1, end=0)
    cut = [one for one in check(told.events).findings if one.anomaly == LOST]
    assert [str(one.sentence) for one in cut] == [
        "t-0 ends before offset 9, which was read before: its end is 9"
    ]
    assert [event.name for event in cut[0].events] == ["read", "drained"]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "READ_UNCOMMITTED"])
@pytest.mark.parametrize(("how", "outcome"), [("abort", "aborted"), ("commit", "unknown")])
def test_a_reader_of_uncommitted_messages_accuses_nobody(told, isolation, how, outcome):
    """It gets a message before its end, and one of an abort, and may be the last to drain."""
    told.assign("u", isolation)
    told.send("A", "a1/0", "a1/1")
    told.read("a1/0", process="u")
    told.end("A", how, outcome=outcome)
    told.assign("last", "read_committed")
    told.drain()
    assert told.found() == []
    told.assign("last", isolation)
    told.read("a1/0", process="last")
    told.drain(0)
    assert told.found() == []
    told.assign("r")
    told.read("a1/0", process="r")
    assert (ABORTED_READ in told.found()) == (outcome == "aborted")


def by_process(told, *first):
    """The same history, the lines of one process after those of the other."""
    names = [*first, *sorted({event.process for event in told.events} - {*first})]
    told.events.sort(key=lambda event: names.index(event.process))


def test_lines_may_stand_process_by_process(told):
    told.assign("last")
    told.drain(0, end=0)
    told.send("A", "a1/0")
    told.end("A", outcome="committed")
    told.assign("r")
    told.read("a1/0")
    by_process(told, "w", "r")
    assert told.found() == []
    told.assign("last")
    told.drain(0, end=1)
    by_process(told, "last")
    assert told.found() == [LOST]


def test_the_earliest_read_counts_wherever_its_line_stands(told):
    told.send("A", "a1/0")
    told.read("a1/0", process="early")
    told.end("A", outcome="committed")
    told.read("a1/0", process="late")
    by_process(told, "late")
    assert told.found() == [DIRTY_READ]


@pytest.mark.parametrize(("one", "other"), [("committed", "aborted"), ("aborted", "committed")])
def test_of_two_outcomes_none_counts(told, one, other):
    told.send("A", "a1/0", "a1/1")
    told.end("A", outcome=one)
    told.end("A", outcome=other)
    told.drain()
    report = check(told.events)
    assert report.findings == ()
    assert any(f"as {one} in line 5 and as {other} in line 7" in str(it) for it in report.undecided)
    told.assign("last")
    told.read("a1/0", process="last")
    told.drain()
    assert told.found() == [TORN]


def test_two_processes_do_not_share_a_transaction(told):
    told.send("1", "a1/0")
    told.send("1", "b2/0", process="v")
    with pytest.raises(HistoryError, match="lines 2 and 3: w and v send in one transaction"):
        check(told.events)


@pytest.mark.parametrize(("topic", "partition"), [("t", 1), ("u", 0)])
@pytest.mark.parametrize("assigned", [True, False])
def test_a_message_in_another_partition_is_not_where_it_was_sent(told, topic, partition, assigned):
    told.send("A", "a1/0")
    told.end("A", outcome="committed")
    if assigned:
        told.assign("last")
    told._add(Read, "last", topic=topic, partition=partition, offset=1, value="a1/0")
    told.drain()
    assert told.found() == [LOST, UNKNOWN_VALUE]


@pytest.mark.parametrize(("asked", "found"), [(1, []), (3, [ZOMBIE]), (0, [ZOMBIE])])
def test_who_asked_for_an_identity_at_the_same_time_is_no_successor(told, asked, found):
    """The answer to w came at 2; 0: when the twin asked is not noted."""
    told.send("B", "b1/0")
    told.init("w")
    told._add(Init, "twin", identity="id", asked=asked)
    told.send("A", "a1/0")
    told.end("A", outcome="committed")
    assert told.found() == found


def test_a_value_that_is_sent_again_accuses_nobody(told):
    """After an abort, and after a commit without an answer: either message may be the one read."""
    told.send("A", "a2/0", "b3/1")
    told.end("A", outcome="unknown")
    told.send("B", "a2/0")
    told.end("B", outcome="committed")
    told.send("C", "a2/0")
    told.end("C", "abort", outcome="aborted")
    told.read("a2/0")
    told.read("a2/0", at=7)
    told.drain()
    report = check(told.events)
    assert report.findings == () and "a2/0 is sent twice" in str(report.undecided[1])


def test_a_value_sent_twice_is_named_as_undecided(told):
    told.send("A", "a1/0", "a1/0")
    told.end("A", outcome="committed")
    assert any("sent twice" in str(sentence) for sentence in check(told.events).undecided)


def test_a_reader_of_uncommitted_messages_is_named(told):
    told.assign(isolation="read_uncommitted")
    assert "read_uncommitted" in str(check(told.events).undecided[0])


def test_a_finding_shows_its_lines(told):
    told.send("A", "a1/0")
    told.end("A", "abort", outcome="aborted")
    told.read("a1/0")
    (finding,) = check(told.events).findings
    assert [event.name for event in finding.events] == ["send", "ended", "read"]
    assert [event.line for event in finding.events] == [2, 4, 5]


@pytest.mark.parametrize("outcome", ["committed", "aborted", "unknown"])
@pytest.mark.parametrize("asked", ["before", "after"])
@pytest.mark.parametrize("heir", ["twin", "w", "stranger"])
def test_a_commit_that_is_asked_for_after_somebody_took_over_is_a_zombies(
    told, heir, asked, outcome
):
    """Not where the same process begins again, and not where the other one has another identity."""
    told.init("w")
    told.send("A", "a1/0")
    if asked == "before":
        told._add(End, "w", txn="A", how="commit")
    told.init(heir, "id" if heir != "stranger" else "other")
    if asked == "after":
        told._add(End, "w", txn="A", how="commit")
    told.ended("A", outcome)
    told.drain()
    is_zombie = (heir, asked, outcome) == ("twin", "after", "committed")
    assert (ZOMBIE in told.found()) == is_zombie


# ---- Histories as files: written, merged, read back, and refused with the line -------

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


def test_a_last_line_that_lacks_its_line_end_only_counts(tmp_path):
    assert len([*read(write(tmp_path, SEND, json.dumps(SEND)))]) == 2


def test_a_mark_of_the_encoding_and_windows_line_ends_are_read(tmp_path):
    path = write(tmp_path, SEND)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert len([*read(path)]) == 1
    assert read_allowed(path) == ()


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
    ("content", "told"),
    [
        (b"\xff\xfe", "not text"),
        (b"", "is empty"),
        (None, "cannot read"),
        (b"hello", "expected a JSON object"),
        (HEAD.encode(), "nothing to check"),
        (b'{"hist', "nothing to check"),
        (b'{"history": 1, "allowed": ["reorderd"]}\n', "names reorderd: expected some of lost"),
    ],
)
def test_the_command_refuses_what_is_no_history(tmp_path, capsys, content, told):
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    assert main(["check", "history", str(path)]) == 2
    assert told in capsys.readouterr().err


# ---- in Chinese ------------------------------------------------------------------------

#: two words of English in a row, or one that is no name of a field, of its value or of an anomaly
ENGLISH = re.compile(r"\b[A-Za-z]{2,} [A-Za-z]{2,}\b|\b[A-Z]{3,}\b|\b[a-z]{3,}(?=[ :,.]|$)")


def list_english(line: str) -> list[str]:
    """What a line says in English; an anomaly's name stays, in brackets, and so do the fields
    and values of an event, the process called last, and JSON."""
    return ENGLISH.findall(re.sub(r"（[a-z -]+）|\b(?:last|JSON)\b|\w+=\S*|\w+\.jsonl", "", line))


def tell_every_anomaly(told):
    """Each anomaly once, and everything that is left undecided."""
    told.init("w")
    told.send("A", "a1/0", "a2/1", "a2/1")  # twice
    told.end("A", outcome="committed")
    told.send("B", "b5/0", "b3/0")
    told.end("B", "abort", outcome="aborted")
    told.send("C", "c8/0")  # nobody asks to commit it
    told.send("D", "d1/1", "d4/0", "d9/1")
    told.read("a1/0", "b3/0", "b5/0", "x7/0", "c8/0", "d4/0", "d1/1")
    told.read("a1/0", at=30)
    told.read("d1/1", process="s", at=2)
    told.read("e6/1", process="s", at=2)
    told.init("v")
    told.end("D")
    told.send("E", "e1/0")
    told.end("E", outcome="committed")
    for number in range(7):
        told.send(f"L{number}", f"l{60 + number}/0")
        told.end(f"L{number}", outcome="committed")
    told.send("M", "m70/0")
    told.end("M", outcome="unknown")
    told.read("m70/0")
    told.assign("u", isolation="read_uncommitted")
    told.assign("last")
    told.read("a1/0", "d4/0", "a2/1", process="last")
    told.drain(0, end=20)
    told.drain(1, end=20)
    told.send("Z", "z71/1")
    told.end("Z", outcome="committed")


def test_a_report_in_chinese_has_no_english_sentence(told, tmp_path, capsys, monkeypatch):
    """Every anomaly occurs in it, and everything that cannot be decided."""
    tell_every_anomaly(told)
    assert set(told.found()) == {*ANOMALIES}
    assert len(check(told.events).undecided) == 4
    path = write(tmp_path, *map(to_dict, told.events))
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert main(["check", "history", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 60
    assert [line for line in lines if list_english(line)] == []


def test_errors_of_a_history_in_chinese(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    bad = [("no json\n", HEAD), ({**SEND, "time": "x"}, HEAD), ({**SEND, "value": 1}, HEAD)]
    for line, head in [*bad, ("", ""), (SEND, '{"history": 2}\n'), (SEND, '{"allowed": 1}\n')]:
        path = write(tmp_path, line, head=head)
        assert main(["check", "history", str(path)]) == 2
        said = capsys.readouterr().err.partition(str(path))[2]
        assert re.search("[一-龥]{2}", said) and not list_english(re.sub('"[a-z]+"', "", said))


def test_english_in_a_report_is_found():
    for line in ("a1/0 was read but never sent", "发现 lost: 3", "FOUND 撕裂", "not decided：1"):
        assert list_english(line), line
