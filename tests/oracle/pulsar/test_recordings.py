"""What a real Pulsar answered, held together: what was sent lies where it was said to, and what
was received had been sent and committed. A recording is held by its checksum, fact by fact."""

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
    """Or after its abort, unless the buffer has lost its snapshot. A frozen commit is answered
    late: its markers say that it is decided."""
    wrong = []
    owner = {(topic, place): txn for topic, place, _, txn in sent(RECORDED[name])}
    decided: dict[str, str] = {"": "commit"}
    for row in rows(name):
        if end := re.match(r"EndTxn (commit|abort) (\(\d+,\d+\))", row.asked):
            decided.setdefault(end[2], end[1])
        if row.asked == "commit markers":
            decided["(0,0)"] = "commit"
        got = RECEIVED.match(row.asked)
        if got and decided.get(owner.get((row.who, got["place"]), "")) != "commit":
            wrong.append(row)
    assert bool(wrong) == (name == "the-snapshot-is-gone"), wrong


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
