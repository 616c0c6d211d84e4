"""What a real Pulsar answered, held together: what was sent lies where it was said to, what was
received had been sent and committed, and the stories that Pulsar is known by."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mqlab.recordings.recording import Observation, Recording, load_recordings

RECORDED = {r.scenario: r for r in load_recordings("pulsar-4.2.4").values()}
#: a message that does not say its transaction belongs to none
SENT = re.compile(r"^Send (?P<text>\S+)(?: in (?P<txn>\(\d+,\d+\))(?!, which the message))?")
PLACED = re.compile(r"^ok @(?P<place>\d+)$")
RECEIVED = re.compile(r"^Message (?P<text>\S+) @(?P<place>\d+)(?::\d+)?(?: redelivered \d+)?$")
ENTRY = re.compile(r"^(?P<text>\S+)(?: in (?P<txn>\(\d+,\d+\)))? @(?P<place>\d+)")
every = pytest.mark.parametrize("name", RECORDED)


def rows(name: str) -> tuple[Observation, ...]:
    return RECORDED[name].observations


EVERY_FIELD = [name for name in RECORDED if name.startswith("every-field-")]
#: what is told of each message there, by the first word
FIELDS = ["body", "key", "ordering", "properties", "event", "published", "producer", "redelivered",
          "schema", "topic"]  # fmt: skip
#: chunks of ten characters
CHUNKED = "deduplication-of-chunks"


def answers(name: str, asked: str) -> list[str]:
    """What came of the questions that begin so."""
    return [o.answered for o in rows(name) if o.asked.startswith(asked)]


def received(name: str, who: str = "worker") -> list[str]:
    """The messages that a node was sent, in their order."""
    return [o.asked.removeprefix("Message ") for o in rows(name) if o.to == who and is_message(o)]


def is_message(row: Observation) -> bool:
    return row.asked.startswith("Message ")


def logged(name: str, topic: str = "orders-0") -> list[str]:
    """A topic's log as it was read last."""
    found = {o.asked: o.answered for o in rows(name) if o.who == "log" and o.to == topic}
    return [answer for asked, answer in found.items() if asked.startswith("entry ")]


def sent(recording: Recording) -> Iterator[tuple[str, str, str, str]]:
    """Topic, place, text and transaction of every single message that was stored."""
    for row in recording.observations:
        asked, stored = SENT.match(row.asked), PLACED.match(row.answered)
        if asked and stored:
            yield row.to, stored["place"], asked["text"], asked["txn"] or ""


# ---- of all of them ------------------------------------------------------------------------


@every
def test_what_is_received_was_sent_there(name: str) -> None:
    texts = {(topic, place): text for topic, place, text, _ in sent(RECORDED[name])}
    for row in rows(name):
        got = RECEIVED.match(row.asked)
        if got and (row.who, got["place"]) in texts:
            assert texts[row.who, got["place"]] == got["text"], row


@every
def test_what_was_sent_lies_in_the_log(name: str) -> None:
    stored = {(topic, place): (text, txn) for topic, place, text, txn in sent(RECORDED[name])}
    for row in rows(name):
        if row.who == "log" and (row.to, row.asked.removeprefix("entry ")) in stored:
            entry = ENTRY.match(row.answered)
            assert entry is not None, row
            text, txn = stored[row.to, entry["place"]]
            if name == CHUNKED:  # where a message lies is where its last chunk does
                text = text[len(text) // 10 * 10 :]
            assert (entry["text"], entry["txn"] or "") == (text, txn), row


@every
def test_nothing_is_received_before_its_commit(name: str) -> None:
    """Or after its abort. A frozen commit is answered late: its markers say that it is decided."""
    owner = {(topic, place): txn for topic, place, _, txn in sent(RECORDED[name])}
    decided: dict[str, str] = {"": "commit"}
    for row in rows(name):
        if end := re.match(r"EndTxn (commit|abort) (\(\d+,\d+\))", row.asked):
            decided.setdefault(end[2], end[1])
        if row.asked == "commit markers":
            decided["(0,0)"] = "commit"
        got = RECEIVED.match(row.asked)
        if got:
            assert decided.get(owner.get((row.who, got["place"]), "")) == "commit", row


# ---- what they say -------------------------------------------------------------------------


def test_an_abort_removes_nothing_and_marks_it() -> None:
    assert logged("abort") == [
        "a in (0,0) @0 aborted",
        "b in (0,0) @1 aborted",
        "abort marker of (0,0) @2",
    ]
    assert answers("abort", "cursor") == ["mark-delete 2"] and not received("abort")


def test_an_open_transaction_hides_what_comes_behind_it() -> None:
    assert received("open-transaction-blocks-plain") == ["a @0", "b @1", "c @2"]
    assert received("abort-releases-plain") == ["a @0", "c @2"]


def test_a_frozen_commit_writes_markers_without_end_and_cannot_be_aborted() -> None:
    assert answers("commit-frozen", "commit markers") == ["2 or more", "6 or more"]
    assert answers("commit-frozen", "EndTxn abort") == ["InvalidTxnStatusException"]
    assert answers("commit-frozen", "EndTxn commit") == ["ok"]
    assert received("commit-frozen") == ["a @0"]


def test_to_look_at_a_frozen_commit_ends_it() -> None:
    assert answers("frozen-until-somebody-looks", "transactionMetadata") == ["500", "404"]
    assert answers("frozen-until-somebody-looks", "create namespace") == []


def test_a_late_write_hides_what_its_transaction_had_committed() -> None:
    assert "a in (0,0) @0 aborted" in logged("late-write-hides-committed")
    assert "a @0" in received("late-write-hides-committed")
    assert received("late-write-hides-committed", "other") == ["b @3", "c @4"]


def test_a_restart_forgets_what_had_refused_it() -> None:
    name = "kill-forgets-watermarks"
    assert answers(name, "Send late") == ["NotAllowedException", "ok @4"]
    before, after = ["a @0", "b @2"], ["b @2", "c @5", "d @6"]
    assert received(name, "reader") == before + after


def test_a_plain_acknowledgement_beats_a_pending_one() -> None:
    assert answers("plain-ack-beats-pending", "cursor") == ["mark-delete 0", "mark-delete 0"]


def test_two_transactions_cannot_acknowledge_one_message() -> None:
    told = answers("two-transactions-one-message", "Ack billing 0 in")
    assert told == ["ok", "TransactionConflictException"]
    assert answers("two-transactions-one-message", "EndTxn commit (0,1)") == [
        "TransactionHasOperationFailedException"
    ]


def test_a_kill_in_each_state_loses_nothing() -> None:
    assert answers("kill-while-open", "EndTxn commit") == ["ok"]
    assert answers("kill-while-committing", "EndTxn abort") == ["InvalidTxnStatusException"]
    assert answers("kill-while-aborting", "EndTxn commit") == ["InvalidTxnStatusException"]
    for name in ("kill-while-committing", "kill-while-aborting"):
        assert answers(name, "transactionMetadata")[-1] == "404"


def test_without_a_client_no_timeout_comes_after_a_restart() -> None:
    told = answers("kill-and-nobody-comes", "transactionBufferStats")
    assert all("ongoing 1" in state for state in told)
    assert logged("kill-and-nobody-comes")[-1].startswith("abort marker of (0,0)")


def test_an_abort_filters_what_a_message_says_and_the_horizon_what_its_command_says() -> None:
    name = "named-in-the-command-only"
    assert [told.split(", ")[1] for told in answers(name, "transactionBufferStats")] == [
        "maxReadPosition -1", "maxReadPosition 2", "maxReadPosition 2", "maxReadPosition 3",
    ]  # fmt: skip
    assert received(name) == ["a @0", "b @1"] and received(name, "reader")[-1] == "c @3"


def test_no_chunk_is_a_duplicate_of_another() -> None:
    texts = ["abcdefghijklmnopqrstuvwxyz @2", "zyxwvutsrqponmlkjihgfedcba @5", "short @7"]
    assert received("deduplication-of-chunks") == texts


def test_what_is_retried_comes_back_to_its_own_topic() -> None:
    for who, topic in (("worker-o", "orders-0"), ("worker-p", "payments-0")):
        assert received("retry-of-two-topics", who) == [f"a-of-{topic} @0", f"a-of-{topic}"]


def test_no_codec_changes_what_a_consumer_sees() -> None:
    """And each of the six messages was seen in all its fields in each of the 27 runs."""
    told = [row for name in EVERY_FIELD for row in rows(name)]
    assert len(told) == 27 * 6
    seen: dict[tuple[str, int], list[str]] = {}
    for row in told:
        way, _, fate, number = row.asked.removeprefix("everything of ").split(" ")
        fields = row.answered.split("; ")
        assert [field.split(" ")[0] for field in fields] == FIELDS
        for place, field in enumerate(fields if fate == "ordinary" else ()):
            seen.setdefault((f"{way} {number}", place), []).append(field)
    assert len(seen) == 3 * 6 * len(FIELDS)
    for (_, place), said in seen.items():  # what is compressed may fit into one chunk
        assert len(said) == 5 and (FIELDS[place] == "topic" or len(set(said)) == 1)
