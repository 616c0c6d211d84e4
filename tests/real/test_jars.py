"""The jars are fetched once, however many ask for them at the same time."""

import os
from concurrent.futures import ThreadPoolExecutor

from mqlab.real import jars

#: stands in for Maven: slow, and unable to work beside itself
MAVEN = """#!/bin/sh
for word in "$@"; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done
mkdir busy || exit 1
echo fetched >> calls
mkdir -p "$out" && sleep 0.3 && : > "$out/kafka-clients-4.3.1.jar"
rmdir busy
"""


def test_many_ask_and_one_fetches(tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "mvn").write_text(MAVEN)
    (tools / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(jars, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(jars, "missing", lambda: "")
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(jars.class_path, ["4.3.1"] * 4))
    assert found == {str(tmp_path / "cache" / "4.3.1" / "lib" / "kafka-clients-4.3.1.jar")}
    assert (tmp_path / "cache" / "4.3.1" / "calls").read_text().split() == ["fetched"]
