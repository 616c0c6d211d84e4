"""The recordings of a broker's releases, as files: whole, of what they say, and the same on every
machine; and the page of its differences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from mqlab.kafka.evidence import VERSION as KAFKA_VERSION
from mqlab.places import RECORDINGS
from mqlab.pulsar.evidence import VERSIONS as PULSAR_VERSIONS
from mqlab.real.kafka import differences as kafka
from mqlab.real.kafka.client import PROFILES
from mqlab.recordings.recording import Recording
from mqlab.rocketmq.evidence import VERSIONS as ROCKETMQ_VERSIONS
from tests.oracle.compare import read_recordings
from tests.oracle.kafka.oracle import KAFKA
from tests.oracle.program import LIBRARY
from tests.oracle.pulsar import differences as pulsar
from tests.oracle.pulsar.oracle import PULSAR
from tests.oracle.rocketmq import differences as rocketmq
from tests.oracle.rocketmq.oracle import ROCKETMQ
from tests.oracle.runner import select_programs


@dataclass(frozen=True)
class Kept:
    """`oracle`: of the broker; `differences`: its page; `product`: as a reader calls it;
    `versions`: profile → release; `told_by_client`: the scenarios that a client library tells, and
    its name; `moving`: what is never the same twice; `largest`: bytes of a file."""

    oracle: Any
    differences: Any
    product: str
    versions: Mapping[str, str]
    told_by_client: str
    client: str
    moving: str
    largest: int = 20_000

    @property
    def name(self) -> str:
        return str(self.oracle.name)

    @cached_property
    def recorded(self) -> dict[str, Recording]:
        """Of all releases, by "profile/scenario"."""
        found: dict[str, Recording] = {}
        for version in dict.fromkeys(self.versions.values()):
            found |= read_recordings(self.oracle, version)
        return found


HERE = r"127\.0\.0\.1|/tmp/"
RUN = rf"{HERE}|\b1\d{{12}}\b"
EVERY = [
    Kept(KAFKA, kafka, "Kafka", dict.fromkeys(PROFILES, KAFKA_VERSION), "", "", HERE, 40_000),
    Kept(PULSAR, pulsar, "Pulsar", PULSAR_VERSIONS, "", "pulsar-client", rf"{RUN}|\d+:\d+:\d+"),
    Kept(ROCKETMQ, rocketmq, "RocketMQ", ROCKETMQ_VERSIONS, "java-", "rocketmq-client",
         rf"{RUN}|\b[0-9A-F]{{32}}\b|half @\?"),
]  # fmt: skip
each = pytest.mark.parametrize("kept", EVERY, ids=lambda kept: kept.name)


@each
def test_every_program_has_its_recordings_and_every_recording_its_program(kept: Kept) -> None:
    """A scenario (scn-…) that is new has no recording before somebody with Java makes one."""
    wanted = {f"{profile}/{program.name}" for program, profile in select_programs(kept.oracle)}
    assert set(kept.recorded) <= wanted, "a recording without a program: remove it"
    missing = {name for name in wanted - set(kept.recorded) if "/scn-" not in name}
    assert not missing, f"run `mqlab real {kept.name} record SCENARIO`"


@pytest.mark.parametrize("kept", EVERY[1:], ids=lambda kept: kept.name)
def test_each_recording_is_of_its_release_and_says_who_spoke(kept: Kept) -> None:
    for name, recording in kept.recorded.items():
        version = kept.versions[recording.profile]
        assert recording.broker == f"{kept.name}-{version}", name
        if LIBRARY in kept.oracle.programs()[recording.scenario].needs:
            assert recording.clients, name
            continue
        told = recording.scenario.startswith(kept.told_by_client)
        if "mqadmin" in recording.scenario:
            version = kept.versions["5.5"]  # the tools are of this release, for both brokers
        assert recording.clients == ({kept.client: version} if told else {}), name


@each
def test_every_program_says_where_it_comes_from(kept: Kept) -> None:
    for program in kept.oracle.programs().values():
        assert program.reference and program.profiles, program.name


@each
def test_every_recording_is_of_the_program_as_it_is(kept: Kept) -> None:
    """The reference of a scenario (scn-…) is its comment, whose words may change."""
    programs = kept.oracle.programs()
    for name, recording in kept.recorded.items():
        told = recording.scenario.startswith("scn-")
        assert told or recording.reference == programs[recording.scenario].reference, name


@each
def test_every_listed_difference_is_one(kept: Kept) -> None:
    asked = [(name, o) for name, found in kept.recorded.items() for o in found.observations]
    for row in kept.differences.TABLE:
        assert any(row.covers(o) and row.about(name) for name, o in asked), row


@each
def test_the_page_of_differences_is_fresh_and_whole(kept: Kept) -> None:
    package = kept.differences
    text = package.PAGE.read_text("utf-8")
    assert text == package.page(), f"run `mqlab real {kept.name} compare --page`"
    assert text.startswith(f"# Where this engine differs from a real {kept.product}")
    assert all(row.reason in text for row in package.TABLE)
    assert all(what in text and why in text for what, why in (*package.IGNORED, *package.OTHERS))


@each
def test_no_recording_holds_what_is_never_the_same_twice(kept: Kept) -> None:
    for name, recording in kept.recorded.items():
        assert not re.search(kept.moving, recording.text()), name


@each
def test_each_recording_is_small(kept: Kept) -> None:
    for path in RECORDINGS.glob(f"{kept.name}-*/**/*.json"):
        assert path.stat().st_size < kept.largest
