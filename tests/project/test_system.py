"""`.ci/system` with an apt-get that is played, `.ci/setup` with a Python that is."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.project.sources import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]

RECORD = 'echo "$(basename "$0") $*" >> "$LOG"'
# The first install breaks off, as a lost connection does; after a repair the next succeeds.
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


def test_an_install_that_broke_off_is_repaired(run: Run, tmp_path: Path) -> None:
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


# --- .ci/setup ------------------------------------------------------------------------------

PLAYED_PYTHON = """#!/bin/sh
case "$*" in
"-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0" .venv/bin/python3.13 ;;
"-m pip cache dir") [ -n "$CACHE" ] && echo "$CACHE" ;;
"-m pip install"*) echo "${PIP_CACHE_DIR-pip decides}" >> "$LOG" ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What `.ci/setup` reads, and beside it the Python that is played."""
    project = tmp_path / "project"
    shutil.copytree(ROOT / ".ci", project / ".ci")
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, project)
    python = tmp_path / "bin" / "python3.13"
    python.parent.mkdir()
    python.write_text(PLAYED_PYTHON)
    python.chmod(0o755)
    return project


def set_up(project: Path, cache: str, first: str = "") -> tuple[list[str], str]:
    """Where pip was told to keep its cache, at each of its calls, and what was said. `first`:
    folders in front of the PATH."""
    home = project.parent
    done = subprocess.run(
        [project / ".ci" / "setup"], capture_output=True, text=True, check=True,
        env={"PATH": f"{first}{home}/bin:/usr/bin:/bin", "CACHE": cache,
             "LOG": str(home / "log"), "HOME": str(home)},
    )  # fmt: skip
    return log(home), done.stderr


def test_a_home_folder_that_cannot_be_written_is_no_obstacle(project: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, so that no folder can be made in it, by root either")
    told, said = set_up(project, f"{tmp_path}/home/.cache/pip")
    assert told == [str(tmp_path / "project" / ".cache" / "pip")] * 2
    assert f"{tmp_path}/home/.cache/pip cannot be written" in said


@pytest.mark.parametrize("cache", ["", "home/.cache/pip"], ids=["no cache", "a good one"])
def test_a_cache_that_can_be_written_is_left_to_pip(
    project: Path, tmp_path: Path, cache: str
) -> None:
    told, said = set_up(project, cache and f"{tmp_path}/{cache}")
    assert told == ["pip decides"] * 2
    assert "cannot be written" not in said


def test_a_new_environment_is_made_while_the_old_one_is_activated(project: Path) -> None:
    set_up(project, "")
    (project / "requirements.lock").write_text("other==1\n")
    told, said = set_up(project, "", first=f"{project}/.venv/bin:")
    assert len(told) == 4
    assert f"a new .venv with , {project.parent}/bin/python3.13" in said
