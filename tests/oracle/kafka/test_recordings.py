"""The engine's server against what a real Kafka answered, scenario by scenario."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="the readers are confluent-kafka: run `make setup`")

from mqlab.places import RECORDINGS
from mqlab.real.kafka.differences import TABLE
from mqlab.recordings.recording import (
    CHECKSUMS,
    Observation,
    digest_of,
    load,
    normalise,
)
from tests.oracle.compare import Outcome, judge, read_recordings
from tests.oracle.kafka.hosts import OurHost
from tests.oracle.kafka.oracle import KAFKA
from tests.oracle.kafka.programs import JAVA, LIBRARY, SLOW
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


def wrong_checksums(folder: Path) -> list[str]:
    """Files that are not as SHA256SUMS says, or that it does not list."""
    rows = (folder / CHECKSUMS).read_text("utf-8").splitlines()
    listed = {name: digest for digest, name in (row.split("  ", 1) for row in rows)}
    there = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*.json"))}
    names = sorted(listed.keys() | there.keys())
    return [n for n in names if n not in there or listed.get(n) != digest_of(there[n])]


def test_the_files_are_as_their_checksums_say() -> None:
    assert not wrong_checksums(RECORDINGS)


# ---- the parts ---------------------------------------------------------------------------


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


def test_a_file_that_is_no_recording_is_refused(tmp_path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}", "utf-8")
    with pytest.raises(ValueError, match="record it again"):
        load(path)
