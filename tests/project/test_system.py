"""`.ci/system` with an apt-get that is played: what it asks for, and how it mends a broken one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.project.sources import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]

RECORD = 'echo "$(basename "$0") $*" >> "$LOG"'
# The first install breaks off, as a lost connection does; after mending the next succeeds.
BREAKS_ONCE = f"""{RECORD}
case "$*" in *install*) [ -e "$LOG.broke" ] || {{ : > "$LOG.broke"; exit 100; }} ;; esac"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    programs = tmp_path / "programs"
    programs.mkdir()

    def with_programs(*names: str, **scripts: str) -> subprocess.CompletedProcess[str]:
        for name, script in scripts.items():
            path = programs / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
        return subprocess.run(
            [ROOT / ".ci" / "system", *names],
            env={"PATH": f"{programs}:/usr/bin:/bin", "LOG": str(tmp_path / "log")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return with_programs


def log(tmp_path: Path) -> list[str]:
    file = tmp_path / "log"
    return file.read_text().splitlines() if file.exists() else []


AS_ROOT = {"id": "echo 0", "apt_cache": "exit 0"}
QUIET = "apt-get -o DPkg::Lock::Timeout=300 -qq "


def test_root_installs_what_is_named(run: Run, tmp_path: Path) -> None:
    done = run("java", "font", **AS_ROOT, apt_get=RECORD, dpkg=RECORD)
    assert done.returncode == 0, done.stderr
    assert log(tmp_path) == [
        QUIET + "update",
        QUIET + "install -y --no-install-recommends openjdk-17-jre-headless "
        "fonts-noto-cjk fontconfig",
    ]


def test_an_install_that_broke_off_is_mended(run: Run, tmp_path: Path) -> None:
    done = run("chromium", **AS_ROOT, apt_get=BREAKS_ONCE, dpkg=RECORD)
    assert done.returncode == 0, done.stderr
    install = QUIET + "install -y --no-install-recommends chromium"
    assert log(tmp_path) == [
        QUIET + "update",
        install,
        "dpkg --configure -a",
        QUIET + "install -y -f",
        install,
    ]


def test_sudo_without_a_password_will_do(run: Run, tmp_path: Path) -> None:
    sudo = RECORD + '\nshift; exec "$@"'
    done = run("chromium", id="echo 1000", sudo=sudo, apt_get=RECORD, dpkg=RECORD)
    assert done.returncode == 0, done.stderr
    assert log(tmp_path)[0] == "sudo -n true"
    assert any(line.startswith(QUIET + "install") for line in log(tmp_path))


def test_others_are_left_alone(run: Run, tmp_path: Path) -> None:
    done = run("chromium", id="echo 1000", sudo="exit 1", apt_get=RECORD, dpkg=RECORD)
    assert done.returncode == 1
    assert log(tmp_path) == []


def test_a_later_debian_has_java_21(run: Run, tmp_path: Path) -> None:
    done = run("java", id="echo 0", apt_get=RECORD, apt_cache="exit 100")
    assert done.returncode == 0, done.stderr
    assert log(tmp_path)[-1].endswith(" openjdk-21-jre-headless")


def test_what_failed_is_said(run: Run) -> None:
    done = run("chromium", **AS_ROOT, apt_get="echo E: no such host; exit 100", dpkg=RECORD)
    assert done.returncode == 1
    assert "that failed; .cache/setup.log ends with:\nE: no such host" in done.stderr


def test_nothing_named_nothing_done(run: Run, tmp_path: Path) -> None:
    assert run(**AS_ROOT, apt_get=RECORD).returncode == 0
    assert log(tmp_path) == []
