"""The engine's server against what a real Kafka answered, scenario by scenario."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="the readers are confluent-kafka: run `make setup`")

from mqlab.places import RECORDINGS
from mqlab.real.kafka.differences import PAGE, TABLE, page
from mqlab.recordings.recording import (
    CHECKSUMS,
    Observation,
    Recording,
    difference,
    digest_of,
    load,
    load_recordings,
    normalise,
)
from tests.oracle.compare import Outcome, judge, read_recordings
from tests.oracle.kafka.hosts import OurHost
from tests.oracle.kafka.oracle import KAFKA
from tests.oracle.kafka.programs import JAVA, LIBRARY, SLOW, programs
from tests.oracle.runner import run_all, select_programs

BROKER = "kafka-4.3.1"
# A scenario (scn-…) that is new has no recording before somebody with Java makes one.
RECORDED = read_recordings(KAFKA, "4.3.1")
EVERY = [
    (program, profile)
    for program, profile in select_programs(KAFKA, without=(SLOW, JAVA, LIBRARY))
    if not OurHost().cannot(program) and f"{profile}/{program.name}" in RECORDED
]
OFFLINE = [f"{profile}/{program.name}" for program, profile in EVERY]


@pytest.fixture(scope="module")
def outcomes(asked: set[str]) -> Iterator[dict[str, Outcome]]:
    """The programs that need neither Java nor a minute, each run against our server once."""
    chosen = [(one, profile) for one, profile in EVERY if f"{profile}/{one.name}" in asked]
    found = [judge(came, RECORDED, TABLE) for came in run_all(KAFKA, chosen, OurHost())]
    yield {outcome.name: outcome for outcome in found}


@pytest.mark.spread("mqlab/kafka", "mqlab/kernel", "mqlab/real", "mqlab/serve", by="name")
@pytest.mark.parametrize("name", OFFLINE)
def test_the_engine_answers_as_the_real_broker_did(name: str, outcomes: dict[str, Outcome]) -> None:
    assert outcomes[name].verdict in ("equal", "listed"), outcomes[name].text()


def test_every_listed_difference_is_one() -> None:
    """A row that covers no recorded question is out of date."""
    asked = [
        (name, observation)
        for name, recording in load_recordings(BROKER).items()
        for observation in recording.observations
    ]
    for row in TABLE:
        assert any(row.covers(o) and row.about(name) for name, o in asked), row


def test_every_program_has_its_recordings_and_every_recording_its_program() -> None:
    there, programs_ = (
        set(RECORDED),
        {f"{profile}/{p.name}" for p, profile in select_programs(KAFKA)},
    )
    assert there <= programs_, "a recording without a program: remove it"
    missing = {name for name in programs_ - there if "/scn-" not in name}
    assert not missing, "run `mqlab real kafka record SCENARIO`"


def wrong_checksums(folder: Path) -> list[str]:
    """Files that are not as SHA256SUMS says, or that it does not list."""
    rows = (folder / CHECKSUMS).read_text("utf-8").splitlines()
    listed = {name: digest for digest, name in (row.split("  ", 1) for row in rows)}
    there = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*.json"))}
    names = sorted(listed.keys() | there.keys())
    return [n for n in names if n not in there or listed.get(n) != digest_of(there[n])]


def test_the_files_are_as_their_checksums_say() -> None:
    assert not wrong_checksums(RECORDINGS)


def test_the_page_of_differences_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `mqlab real kafka compare --page`"


def test_every_program_says_where_it_comes_from() -> None:
    for program in programs().values():
        assert program.reference and program.profiles, program.name


# ---- the parts ---------------------------------------------------------------------------


def _recording(*answers: str) -> Recording:
    rows = tuple(Observation("app", "tc", f"question {i}", a) for i, a in enumerate(answers))
    return Recording("story", "somewhere", BROKER, "tv2", {}, rows)


def test_producer_ids_become_letters_in_their_order() -> None:
    rows = [
        Observation("a", "tc", "InitProducerId A", "ok pid=1003 epoch=0"),
        Observation("b", "tc", "InitProducerId B pid=7 epoch=0", "ok pid=1003 epoch=1"),
        Observation("log", "t-0", "@0", "x: plain"),
    ]
    found = normalise(rows, KAFKA.ids)
    assert found[0].answered == "ok pid=P epoch=0"
    assert (found[1].asked, found[1].answered) == (
        "InitProducerId B pid=Q epoch=0",
        "ok pid=P epoch=1",
    )
    assert found[2] == rows[2]


def test_lists_are_sorted() -> None:
    (found,) = normalise([Observation("a", "tc", "x", "Ongoing {b-0, a-1, a-0}")], KAFKA.ids)
    assert found.answered == "Ongoing {a-0, a-1, b-0}"


def test_a_recording_survives_its_file(tmp_path) -> None:
    from mqlab.recordings.recording import save

    recording = _recording("ok", "{a-0} …")
    assert load(save(recording, tmp_path)) == recording


def test_a_file_that_is_no_recording_is_refused(tmp_path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}", "utf-8")
    with pytest.raises(ValueError, match="record it again"):
        load(path)


def test_one_other_answer_is_a_difference() -> None:
    assert not difference(_recording("ok"), _recording("ok"))
    assert "+app → tc  question 0  ⇒ fenced" in difference(_recording("ok"), _recording("fenced"))


def test_each_recording_is_small() -> None:
    assert max(path.stat().st_size for path in RECORDINGS.rglob("*.json")) < 40_000
