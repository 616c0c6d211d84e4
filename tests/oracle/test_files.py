"""The recordings of a broker's releases, as files: whole, of what they say, and the same on every
machine; and the page of its differences. Kafka's are held to the same in its own package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from mqlab.places import RECORDINGS
from mqlab.recordings.recording import Recording, load_recordings
from tests.oracle.program import LIBRARY
from tests.oracle.pulsar.oracle import PULSAR
from tests.oracle.rocketmq.oracle import ROCKETMQ
from tests.oracle.runner import select_programs


@dataclass(frozen=True)
class Kept:
    """`oracle`: of the broker; `product`: as a reader calls it; `told_by_client`: the scenarios
    that a client library tells, and its name; `moving`: what is never the same twice."""

    oracle: Any
    product: str
    told_by_client: str
    client: str
    moving: str

    @property
    def name(self) -> str:
        return str(self.oracle.name)

    @property
    def differences(self) -> Any:
        return import_module(f"tests.oracle.{self.name}.differences")

    @property
    def versions(self) -> dict[str, str]:
        found: dict[str, str] = import_module(f"mqlab.{self.name}.evidence").VERSIONS
        return found

    def recorded(self) -> dict[str, Recording]:
        """Of all releases, by "profile/scenario"."""
        folders = [load_recordings(f"{self.name}-{v}") for v in self.versions.values()]
        return {name: recording for found in folders for name, recording in found.items()}


EVERY = [
    Kept(PULSAR, "Pulsar", "", "pulsar-client", r"127\.0\.0\.1|\b1\d{12}\b|/tmp/|\d+:\d+:\d+"),
    Kept(
        ROCKETMQ,
        "RocketMQ",
        "java-",
        "rocketmq-client",
        r"127\.0\.0\.1|\b[0-9A-F]{32}\b|\b1\d{12}\b|/tmp/|half @\?",
    ),
]
each = pytest.mark.parametrize("kept", EVERY, ids=lambda kept: kept.name)


@each
def test_every_program_has_its_recordings_and_every_recording_its_program(kept: Kept) -> None:
    wanted = {f"{profile}/{program.name}" for program, profile in select_programs(kept.oracle)}
    assert set(kept.recorded()) == wanted


@each
def test_each_recording_is_of_its_release_and_says_who_spoke(kept: Kept) -> None:
    for name, recording in kept.recorded().items():
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
    programs = kept.oracle.programs()
    for name, recording in kept.recorded().items():
        assert recording.reference == programs[recording.scenario].reference, name


@each
def test_every_listed_difference_is_one(kept: Kept) -> None:
    asked = [(name, o) for name, found in kept.recorded().items() for o in found.observations]
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
    for name, recording in kept.recorded().items():
        assert not re.search(kept.moving, recording.text()), name


@each
def test_each_recording_is_small(kept: Kept) -> None:
    for version in kept.versions.values():
        for path in (RECORDINGS / f"{kept.name}-{version}").rglob("*.json"):
            assert path.stat().st_size < 20_000
