"""The promises a newcomer reads: licence, lock, change log, commands, scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import pytest

from mqlab import __version__
from tests.project.sources import ROOT, list_committed, relative, texts

TOP_LEVEL = {
    "pyproject.toml", "labs", "mqlab", "widgets", "datasets", "tests",
    "README.md", "README.zh.md", "Makefile", "CHANGELOG.md", "LICENSE", "ARCHITECTURE.md",
    "CONTRIBUTING.md", "requirements.lock",
    ".binder", ".ci", ".editorconfig", ".gitattributes", ".gitignore",
}  # fmt: skip

# Written in two parts, or this file would break its own rule.
REGISTRIES = [
    "pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com",
    "deb." + "debian.org", "security." + "debian.org", "maven" + ".org", "maven." + "apache.org",
]  # fmt: skip


def test_top_level_is_fixed() -> None:
    assert {relative(path).partition("/")[0] for path in list_committed()} <= TOP_LEVEL


def test_licence_is_apache() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text and "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["license"] == "Apache-2.0"
    assert project["dependencies"] == [], "the engine needs the standard library only"


LOCK = ROOT / "requirements.lock"
APART = {"flink": ROOT / "mqlab" / "spark" / "flink" / "requirements.lock"}  # by extra


@pytest.mark.parametrize(
    ("path", "least"), [(LOCK, 100), (APART["flink"], 50)], ids=["lab", "flink"]
)
def test_lock_pins_with_hashes_and_without_addresses(path: Path, least: int) -> None:
    lock = path.read_text("utf-8")
    assert "://" not in lock and "--index" not in lock
    entries = re.split(r"\n(?=[a-z0-9])", lock.strip())
    assert len(entries) > least
    loose = [
        entry.partition(" ")[0] for entry in entries
        if not re.match(r"[a-z0-9-]+==\S+ ", entry) or "--hash=sha256:" not in entry
    ]  # fmt: skip
    assert not loose, "run `make lock`"


def test_lock_covers_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    for path in (LOCK, *APART.values()):
        locked = set(re.findall(r"(?m)^([a-z0-9-]+)==", path.read_text("utf-8")))
        asked = {
            re.split(r"[<>=!~\[ ]", line)[0].lower()
            for extra, lines in extras.items() if APART.get(extra, LOCK) == path for line in lines
        }  # fmt: skip
        assert asked and asked <= locked, "run `make lock`"


def test_no_registry_is_named() -> None:
    """Which index or mirror is asked is the reader's own setting."""
    wrong = [
        f"{name} names {host}"
        for name, text in texts().items() for host in REGISTRIES if host in text
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_change_log_has_its_form() -> None:
    """Short, and the newest released version is the package's."""
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert lines[0] == "# Changelog" and len(lines) <= 80
    first, *released = [line for line in lines if line.startswith("## ")]
    assert first == "## Unreleased"
    for section in released:
        assert re.fullmatch(r"## \d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", section), section
    assert released[0].split()[1] == __version__
    kinds = {line for line in lines if line.startswith("### ")}
    assert kinds <= {f"### {kind}" for kind in ("Added", "Changed", "Fixed", "Removed")}


def make_targets() -> set[str]:
    return set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text("utf-8")))


PAGES = (
    "README.md", "README.zh.md", "ARCHITECTURE.md", "labs/site/commands.md",
    "labs/site/commands.zh.md", "labs/site/picture.md", "labs/site/picture.zh.md",
)  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page_exist(page: str) -> None:
    from mqlab.cli import commands

    text = (ROOT / page).read_text("utf-8")
    code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    assert set(re.findall(r"\bmake ([a-z]+)", code)) <= make_targets()
    assert set(re.findall(r"(?m)(?:^|`|-m )mqlab ([a-z]+)", code)) <= set(commands())


@pytest.mark.parametrize("page", PAGES)
def test_links_of_the_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert [one for one in targets if not ((ROOT / page).parent / one).exists()] == []


#: files that are somebody else's: an example's, nbgrader's, and those that a student makes
NOT_OURS = re.compile(
    r"(my-.*|(.*/)?(NN-name|labNN|nbgrader_config)|begin|coordinator|check_round|pending_acks)\.py"
)


def list_unknown(name: str, text: str, files: Collection[str]) -> list[str]:
    """Modules that the text of file `name` names, and that lie neither in its folder nor in one
    above it nor anywhere below."""
    above = [f"{folder.as_posix()}/".removeprefix("./") for folder in PurePosixPath(name).parents]
    named = re.findall(r"(?<![\w*.>/-])((?:[\w-]+/)*[\w-]+\.py)\b", text)
    return [
        one
        for one in dict.fromkeys(named)
        if not NOT_OURS.fullmatch(one)
        and not any(folder + one in files for folder in above)
        and not any(file.startswith(above[0]) and file.endswith(f"/{one}") for file in files)
    ]


def test_modules_that_are_named_are_there() -> None:
    files = dict.fromkeys(relative(path) for path in list_committed())
    ours = [one for one in files if re.match(r"(mqlab|widgets)/.*\.(py|js|md)$", one)]
    unknown = {
        name: list_unknown(name, (ROOT / name).read_text("utf-8"), files)
        for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", *ours)
    }
    assert {name: found for name, found in unknown.items() if found} == {}


def test_the_rule_of_named_modules_itself() -> None:
    files = ("a/b/c.py", "a/d.py", "a/b/e/f.py", "g/h.py")
    text = "c.py, b/c.py, `f.py` and d.py; g/h.py; not h.py nor e.py, but my-labs/x.py, *_pb2.py"
    assert list_unknown("a/b/c.py", text, files) == ["h.py", "e.py"]


def test_the_architecture_is_short_and_begins_with_one_request() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert len(page.encode()) <= 16_000
    first = "\n".join(page.splitlines()[:25])
    assert "EndTxn" in first and "WriteTxnMarkers" in first
    told = re.findall(r"`((?:serve|kafka|widgets)/[\w/.]+)`", first)
    assert len(told) > 10
    assert [
        one for one in told if not any((ROOT / base / one).exists() for base in ("mqlab", ""))
    ] == []


def test_the_first_page_is_short_and_begins_with_the_picture() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 120
    assert lines[2].startswith("![") and lines[2].endswith("(labs/images/player.gif)")


def test_help_of_make_lists_every_target() -> None:
    phony = re.search(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"))
    assert phony and set(phony[1].split()) == make_targets()


SCRIPTS = [
    *sorted(path for path in (ROOT / ".ci").iterdir() if path.is_file()),
    ROOT / ".binder" / "postBuild",
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_stop_at_the_first_error(script: Path) -> None:
    text = script.read_text("utf-8")
    assert script.stat().st_mode & 0o111, "chmod +x"
    assert re.search(r"(?m)^set -eu$", text)
    shell = "bash" if "bash" in text.partition("\n")[0] else "sh"
    subprocess.run([shell, "-n", str(script)], check=True)


def test_an_old_python_gets_a_clear_message(tmp_path: Path) -> None:
    """In a folder whose path has a space, as some have."""
    project = tmp_path / "a project"
    shutil.copytree(ROOT / ".ci", project / ".ci")
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, project)
    old = tmp_path / "old python"
    old.write_text('#!/bin/sh\ncase "$1" in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac\n')
    old.chmod(0o755)
    done = subprocess.run(
        [project / ".ci" / "setup"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": str(old)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Python 3.11 or newer is needed; found: Python 3.9.2" in done.stderr
    assert "make setup PYTHON=" in done.stderr
    assert not (project / ".venv").exists()


def test_a_binder_has_packages_that_setup_installs_too() -> None:
    known = (ROOT / ".ci" / "system").read_text("utf-8")
    asked = (ROOT / ".binder" / "apt.txt").read_text("utf-8").split()
    assert asked and all(f" {name}" in known for name in asked)
