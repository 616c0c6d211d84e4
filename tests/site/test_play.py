"""Play without a browser: its Python answers from its zip alone, and npm may be missing."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mqlab.cli import main
from mqlab.kernel.play import encode
from mqlab.registry import run_scenario
from mqlab.scenario import parse_script
from mqlab.site import Built, NoPlay, play, stories

#: `pyodide.ffi` is the browser's; requests come a line each, and what is posted goes out
WORKER = """
import json, sys, types
sys.modules["pyodide"] = types.ModuleType("pyodide")
sys.modules["pyodide.ffi"] = ffi = types.ModuleType("pyodide.ffi")
ffi.to_js = lambda value: json.dumps(len(value))
sys.path.insert(0, sys.argv[1])
import rooms
for line in sys.stdin:
    posted = []
    rooms.answer(line, lambda name, value: posted.append((name, value)))
    print(json.dumps(posted))
"""
STORY = (
    "# Two.\nsystem kafka partitions=1\nrun app: init, begin, send orders-0 a\nrun app: commit\n"
)
TOKEN = encode((_run := run_scenario(STORY)).system, _run.trace)
BOUNDS = {"kills": 0, "breaks": 0, "timers": 0}
ASKED: dict[str, dict[str, Any]] = {
    "tell": {"do": "tell", "text": STORY},
    "play": {"do": "play", "text": STORY},
    "undo": {"do": "hear", "message": {"type": "undo"}},
    "open": {"do": "open", "text": TOKEN},
    "search": {"do": "search", "text": STORY, **BOUNDS},
    "command": {"do": "tell", "text": "system kafka\nfly app\n"},
    "system": {"do": "search", "text": "system <b>pigeons</b>\n", **BOUNDS},
    "token": {"do": "open", "text": "no token"},
    "chinese": {"do": "tell", "text": STORY, "lang": "zh"},
}


@pytest.fixture(scope="module")
def posted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, Any]]]:
    """What the page is sent after each request, by a Python that has no package but the zip's."""
    folder = tmp_path_factory.mktemp("play")
    play.pack_engine(folder / "mqlab.zip")
    with zipfile.ZipFile(folder / "mqlab.zip") as packages:
        packages.extractall(folder / "mqlab")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", WORKER, str(folder / "mqlab")],
        input="\n".join(json.dumps({"lang": "en", **one}) for one in ASKED.values()),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return dict(zip(ASKED, lines, strict=True))


def last(posted: list[tuple[str, Any]], name: str) -> Any:
    return json.loads([value for key, value in posted if key == name][-1])


def test_a_story_is_told_and_gives_its_token(posted: dict[str, list[tuple[str, Any]]]) -> None:
    assert "commit: ok" in last(posted["tell"], "words")
    assert last(posted["tell"], "token") == TOKEN
    assert last(posted["tell"], "told") > 1_000, "bytes of a picture"


def test_the_engine_speaks_the_language_of_the_page(
    posted: dict[str, list[tuple[str, Any]]],
) -> None:
    assert last(posted["chinese"], "told") != last(posted["tell"], "told"), "another picture"
    assert last(posted["chinese"], "token") == TOKEN, "a run has one token in all languages"


def test_it_is_played_on_from_its_end(posted: dict[str, list[tuple[str, Any]]]) -> None:
    there = last(posted["play"], "ui")
    assert there["token"] == TOKEN and there["nodes"]
    assert last(posted["undo"], "ui")["token"] == TOKEN, "it begins there"


def test_a_token_opens_its_run_and_its_story(posted: dict[str, list[tuple[str, Any]]]) -> None:
    assert last(posted["open"], "note") == "", "the same engine"
    assert last(posted["open"], "ui")["token"] == TOKEN
    again = run_scenario(last(posted["open"], "story"))
    assert again.choices == run_scenario(STORY).choices


def test_a_search_has_the_calls_of_the_story(posted: dict[str, list[tuple[str, Any]]]) -> None:
    ui = last(posted["search"], "ui")
    assert ui["phase"] == "done" and ui["mood"] == "good"
    assert ui["states"] > 20


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("command", "line 2: no command 'fly'; there are: system, "),
        ("system", "no system '<b>pigeons</b>'; there are: "),
        ("token", "this is not a token: paste the whole text"),
    ],
)
def test_a_mistake_is_said(posted: dict[str, list[tuple[str, Any]]], asked: str, says: str) -> None:
    ((name, value),) = posted[asked]
    assert name == "failed" and value.startswith(says)


def test_a_story_to_begin_with_is_the_file_without_its_narration() -> None:
    for path in sorted((stories.SCENARIOS / "kafka").glob("*.scn"))[:5]:
        (story,) = stories.list_stories((path,))
        written, whole = parse_script(story.commands), parse_script(path.read_text("utf-8"))
        assert (written.comments, written.system) == (whole.comments, whole.system)
        assert [line.command for line in written.lines] == [line.command for line in whole.lines]
        assert "---" not in story.commands


@pytest.mark.parametrize(
    ("npm", "says"),
    [
        ("", "npm fetches Pyodide, and it is not installed"),
        ("#!/bin/sh\necho 'npm error: no network' >&2\nexit 1\n", "npm error: no network"),
    ],
)
def test_without_npm_a_site_is_written_without_play(
    npm: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if npm:
        (tmp_path / "npm").write_text(npm)
        (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("mqlab.site.fetch_pyodide", partial(play.fetch_pyodide, tmp_path / "kept"))
    given: list[Any] = []

    def write_site(folder: Path, pyodide: Path | None, lite: Path | None) -> Built:
        given.append(pyodide or lite)
        return Built(folder, 0, 0)

    monkeypatch.setattr("mqlab.site.write_site", write_site)
    assert main(["site", "-o", str(tmp_path / "site")]) == 0
    assert given == [None]
    said = capsys.readouterr().out
    assert "without Play and labs: " in said and says in said


def test_another_archive_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"pyodide-{play.VERSION}.tgz").write_bytes(b"something else")
    with pytest.raises(NoPlay, match="is not the pinned pyodide"):
        play.fetch_pyodide(tmp_path)
