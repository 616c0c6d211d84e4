"""The jars are fetched once, however many ask for them at the same time, and none is run that
is not the one that is pinned."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from mqlab.real import jars
from mqlab.real.jars import Jars
from mqlab.real.program import RealBrokerError

#: stands in for Maven: slow, and unable to work beside itself
MAVEN = """#!/bin/sh
for word in "$@"; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done
mkdir busy || exit 1
echo fetched >> calls
mkdir -p "$out" && sleep 0.3 && : > "$out/rope-1.2.jar"
rmdir busy
"""


NOTHING = hashlib.sha256(b"").hexdigest()


@pytest.fixture
def rope(tmp_path, monkeypatch):
    """The jars of a product that is one empty file, from a Maven that gives just that."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "mvn").write_text(MAVEN)
    (tools / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(jars, "find_java", lambda: 17)
    pin(tmp_path, f"{NOTHING}  1.2/rope-1.2.jar", f"{NOTHING}  1.1/other.jar")
    return Jars(
        product="Rope",
        versions=("1.2", "1.1"),
        cache=tmp_path / "cache",
        pins=tmp_path / "pins",
        landmark="rope-{version}.jar",
        pom=lambda version: f"<version>{version}</version>",
    )


def pin(folder, *rows):
    (folder / "pins").write_text("".join(f"{row}\n" for row in rows))


def test_many_ask_and_one_fetches(rope):
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(rope.class_path, ["1.2"] * 4))
    assert found == {str(rope.cache / "1.2" / "lib" / "rope-1.2.jar")}
    assert (rope.cache / "1.2" / "calls").read_text().split() == ["fetched"]
    assert (rope.cache / "1.2" / "pom.xml").read_text() == "<version>1.2</version>"


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([f"{'0' * 64}  1.2/rope-1.2.jar"], "rope-1.2.jar"),
        ([], "rope-1.2.jar"),
        ([f"{NOTHING}  1.2/rope-1.2.jar", f"{NOTHING}  1.2/knot.jar"], "knot.jar"),
    ],
    ids=["another file", "one that nobody pinned", "one too few"],
)
def test_what_is_not_pinned_is_refused_and_not_kept(tmp_path, rope, rows, named):
    pin(tmp_path, *rows)
    with pytest.raises(
        RealBrokerError, match=f"not what is pinned in pins; 1 jars differ: {named}"
    ):
        rope.class_path("1.2")
    assert not (rope.cache / "1.2" / "lib").exists()


def test_a_jar_that_was_changed_later_is_refused_too(rope):
    rope.class_path("1.2")
    (rope.cache / "1.2" / "lib" / "rope-1.2.jar").write_bytes(b"evil")
    with pytest.raises(RealBrokerError, match="None of them was run"):
        rope.class_path("1.2")


@pytest.mark.parametrize(
    ("java", "said"),
    [(None, "install openjdk"), (11, "Java 11 is installed"), (0, "Java of an unknown version")],
)
def test_without_a_java_that_will_do_it_is_said_what_to_install(rope, monkeypatch, java, said):
    monkeypatch.setattr(jars, "find_java", lambda: java)
    with pytest.raises(RealBrokerError, match=f"a real Rope needs Java 17 or later.*{said}"):
        rope.class_path("1.2")


def test_without_maven_what_is_here_is_used_and_nothing_else(rope, monkeypatch):
    rope.class_path("1.2")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "Maven fetches the jars of a real Rope" in rope.find_missing()
    (rope.cache / "1.1" / "lib").mkdir(parents=True)
    (rope.cache / "1.1" / "lib" / "rope-1.1.jar").touch()
    assert not rope.find_missing()
