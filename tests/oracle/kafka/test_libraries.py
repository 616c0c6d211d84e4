"""The table of client libraries: what is in it, how it is pinned, and what is said where one cannot
be had. `make real` runs all of it; what each must tell is recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mqlab.cli import main
from tests.oracle.compare import read_recordings
from tests.oracle.kafka.libraries import CLIENTS, JAVA, LIBRARIES, SOURCES, Library
from tests.oracle.kafka.oracle import KAFKA

RECORDED = read_recordings(KAFKA, "4.3.1")
PROFILE = {one.scenario: "tv2-legacy" if one.legacy else "tv2" for one in LIBRARIES}


def told(one: Library) -> dict[tuple[str, str], list[str]]:
    """(who, call) → what came of it each time, as a real broker made it."""
    out: dict[tuple[str, str], list[str]] = {}
    for o in RECORDED[f"{PROFILE[one.scenario]}/{one.scenario}"].observations:
        out.setdefault((o.who, o.asked), []).append(o.answered)
    return out


def test_the_table_reaches_from_old_java_clients_to_new_ones_and_to_other_languages() -> None:
    assert {"2.3", "2.8", "3.3", "3.9", "4.0", "4.4"} <= {v.rpartition(".")[0] for v in JAVA}
    others = {one.name for one in LIBRARIES} - {"kafka-clients"}
    assert {"confluent-kafka", "kafka-python", "aiokafka", "franz-go", "sarama"} <= others


@pytest.mark.parametrize("one", LIBRARIES, ids=lambda one: one.scenario)
def test_every_library_told_the_whole_story_to_a_real_broker(one: Library) -> None:
    """The recordings differ in what a library calls an error, and in what it asks for."""
    story = told(one)
    first = told(LIBRARIES[0])
    calls = [call for call in first if call[0] != "log"]
    assert [call for call in story if call[0] != "log"] == calls
    for call in (("admin", "configs of orders"), ("reader", "read_committed"), ("twin", "commit")):
        assert story[call] == first[call]
    assert story["admin", "create orders"] == ["ok"] != story["admin", "create orders again"]
    # kafkajs asks for a new epoch at every begin, and so is never a zombie.
    assert (story["app", "send e"] == ["ok @8"]) == (one.name == "kafkajs")
    assert story["reader", "OffsetFetch billing"] == ["{orders-0@3}"]


def test_every_version_is_pinned_by_a_hash() -> None:
    version = {one.name: one.version for one in LIBRARIES}
    pins = (SOURCES / "requirements.txt").read_text("utf-8")
    for name in ("kafka-python", "aiokafka"):
        assert f"{name}=={version[name]} " in pins
    assert all("--hash=sha256:" in pin for pin in re.split(r"\n(?=[a-z])", pins)[1:])
    for name, module in (
        ("franz-go", "github.com/twmb/franz-go"),
        ("sarama", "github.com/IBM/sarama"),
    ):
        sums = (SOURCES / name / "go.sum").read_text("utf-8")
        assert f"{module} v{version[name]} h1:" in sums
    lock = json.loads((SOURCES / "kafkajs" / "package-lock.json").read_text("utf-8"))
    found = lock["packages"]["node_modules/kafkajs"]
    assert found["version"] == version["kafkajs"] and found["integrity"].startswith("sha512-")


def test_every_jar_of_every_java_client_is_pinned() -> None:
    """What kafka-clients needs is run too."""
    names = [row.split("  ")[1] for row in CLIENTS.pins.read_text("utf-8").splitlines()]
    for version in JAVA:
        found = {name.removeprefix(f"{version}/") for name in names if name.startswith(version)}
        assert f"kafka-clients-{version}.jar" in found
        for needed in ("slf4j-api", "lz4", "snappy-java", "zstd-jni"):
            assert any(name.startswith(needed) for name in found), (version, needed)


def test_a_library_that_cannot_be_had_here_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["real", "kafka", "compare", "client-sarama-1.61.1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "not here   tv2-legacy/client-sarama-1.61.1: sarama needs go",
        "scenarios 1, equal 0, listed differences 0, unexpected 0, not on this machine 1",
    ]
