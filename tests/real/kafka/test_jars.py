"""The jars are fetched once, however many ask for them at the same time, and none is run that
is not the one that is pinned."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from mqlab.real.kafka import jars
from mqlab.real.program import RealBrokerError

#: stands in for Maven: slow, and unable to work beside itself
MAVEN = """#!/bin/sh
for word in "$@"; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done
mkdir busy || exit 1
echo fetched >> calls
mkdir -p "$out" && sleep 0.3 && : > "$out/kafka-clients-4.3.1.jar"
rmdir busy
"""


NOTHING = hashlib.sha256(b"").hexdigest()


@pytest.fixture
def maven(tmp_path, monkeypatch):
    """A Maven that gives one empty jar; writes the pins that the rows name."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "mvn").write_text(MAVEN)
    (tools / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(jars, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(jars, "find_missing", lambda: "")
    monkeypatch.setattr(jars, "PINS", tmp_path / "pins")

    def pin(*rows):
        (tmp_path / "pins").write_text("".join(f"{row}\n" for row in rows))

    pin(f"{NOTHING}  4.3.1/kafka-clients-4.3.1.jar", f"{NOTHING}  4.2.1/other.jar")
    return pin


def test_many_ask_and_one_fetches(tmp_path, maven):
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(jars.class_path, ["4.3.1"] * 4))
    assert found == {str(tmp_path / "cache" / "4.3.1" / "lib" / "kafka-clients-4.3.1.jar")}
    assert (tmp_path / "cache" / "4.3.1" / "calls").read_text().split() == ["fetched"]


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([f"{'0' * 64}  4.3.1/kafka-clients-4.3.1.jar"], "kafka-clients-4.3.1.jar"),
        ([], "kafka-clients-4.3.1.jar"),
        (
            [f"{NOTHING}  4.3.1/kafka-clients-4.3.1.jar", f"{NOTHING}  4.3.1/scala.jar"],
            "scala.jar",
        ),
    ],
    ids=["another file", "one that nobody pinned", "one too few"],
)
def test_what_is_not_pinned_is_refused_and_not_kept(tmp_path, maven, rows, named):
    maven(*rows)
    with pytest.raises(RealBrokerError, match=f"not what is pinned in pins: {named}"):
        jars.class_path("4.3.1")
    assert not (tmp_path / "cache" / "4.3.1" / "lib").exists()


def test_a_jar_that_was_changed_later_is_refused_too(tmp_path, maven):
    jars.class_path("4.3.1")
    (tmp_path / "cache" / "4.3.1" / "lib" / "kafka-clients-4.3.1.jar").write_bytes(b"evil")
    with pytest.raises(RealBrokerError, match="Nothing of it was run"):
        jars.class_path("4.3.1")


def test_every_version_is_pinned_in_full():
    names = [row.split("  ")[1] for row in jars.PINS.read_text("utf-8").splitlines()]
    for version in jars.VERSIONS:
        assert f"{version}/kafka-clients-{version}.jar" in names
        assert sum(name.startswith(f"{version}/") for name in names) == 53
