"""`mqlab doctor`: what is missing on this machine, one line each, with what to do.

The same probes decide which tests are skipped and what `make setup` installs, so the three
never disagree.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from ..kernel.text import Said, Text, Words, tr
from ..places import IS_CLONE, ROOT
from .language import add_flag

HELP = "check this machine: what is missing, and what to do about it"

PORT = 8888
OK, MISSING, OPTIONAL = tr("ok", "probe"), tr("missing", "probe"), tr("optional", "probe")
COLON = tr(": ", "probe")
NEXT = tr("next: install what is missing, then run `mqlab doctor` again")
READY = tr("nothing that is needed is missing")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for. `detail` is empty where it is missing; `todo` says what to do."""

    name: str
    title: Text
    detail: str
    todo: Text
    needed: bool = True

    def line(self) -> str:
        state = OK if self.detail else MISSING if self.needed else OPTIONAL
        return f"{Said(state.of()):9} {self.title}{COLON}{self.detail or self.todo}"


def _says(*command: str) -> str:
    """What a program prints, or nothing where there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


@cache
def java() -> str:
    """The version of a Java that Spark 4.3 runs on, or nothing."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    match = re.search(r'version "((?:17|21)\b[^"]*)"', _says(program, "-version"))
    return match[1] if match else ""


@cache
def chromium() -> str:
    """The path of a Chromium or Chrome, or nothing."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    for name in names:
        if path := shutil.which(name):
            return path
    for app in ("Google Chrome", "Chromium"):
        path = f"/Applications/{app}.app/Contents/MacOS/{app}"
        if os.access(path, os.X_OK):
            return path
    return ""


@cache
def driver() -> str:
    """The version of the Node that Playwright brings along, if it starts, or nothing."""
    spec = importlib.util.find_spec("playwright")
    if spec is None or not spec.submodule_search_locations:
        return ""
    node = Path(spec.submodule_search_locations[0], "driver", "node")
    version = _says(str(node), "--version").strip()
    return str(Words("starts ({})")(version)) if re.fullmatch(r"v[0-9.]+", version) else ""


@cache
def font() -> str:
    """A font with Chinese glyphs, or nothing; systems other than Linux bring their own."""
    if not sys.platform.startswith("linux"):
        return str(tr("the system's own"))
    first = _says("fc-list", ":lang=zh", "family").partition("\n")[0]
    return first.partition(",")[0].strip()


@cache
def letters() -> str:
    """DejaVu and Liberation, the fonts with which the pictures are tried, if both are there."""
    families = _says("fc-list", ":", "family").splitlines()
    wanted = ("DejaVu Sans", "Liberation Sans")
    return ", ".join(wanted) if set(wanted) <= set(families) else ""


def _python() -> str:
    return sys.version.split()[0] if sys.version_info >= (3, 11) else ""


def _packages() -> str:
    """How many pins hold, if all of them do."""
    if not IS_CLONE:
        return str(tr("as pip chose them (not a clone)"))
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    wrong = list(wrong_pins(lock))
    return "" if wrong else str(tr("as pinned in requirements.lock"))


def wrong_pins(lock: str) -> Iterator[str]:
    """The pins without a marker that this environment does not meet, as 'name==version'."""
    for name, version in re.findall(r"(?m)^([a-z0-9-]+)==(\S+) \\$", lock):
        try:
            if metadata.version(name) == version:
                continue
        except metadata.PackageNotFoundError:
            pass
        yield f"{name}=={version}"


def _free_port() -> str:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return ""
    return str(tr("free", "probe"))


def _maven() -> str:
    return shutil.which("mvn") or ""


# name, what it is, how to look, what to do, needed
PROBES: tuple[tuple[str, Text, Callable[[], str], Text, bool], ...] = (
    ("python", tr("Python 3.11 or newer"), _python, tr("install one, then run `make setup`"), True),
    ("packages", tr("Python packages"), _packages, tr("run `make setup`"), True),
    ("java", tr("Java 17 or 21"), java,
     tr("lab 11 and the Spark tests need it; Debian: apt-get install openjdk-17-jre-headless"),
     True),
    ("chromium", tr("Chromium"), chromium,
     tr("the browser tests need it; Debian: apt-get install chromium"), True),
    ("driver", tr("the browser's driver"), driver,
     tr("the browser tests need it; pip install playwright; on a small Debian also: apt-get "
        "install libatomic1"),
     True),
    ("font", tr("a font for Chinese"), font,
     tr("pictures with Chinese labels need it; Debian: apt-get install fonts-noto-cjk"), True),
    ("letters", tr("two fonts that the tests of pictures use"), letters,
     tr("only tests need them; Debian: apt-get install fonts-dejavu-core fonts-liberation"), False),
    ("maven", tr("Maven"), _maven,
     tr("needed only to record real brokers; Debian: apt-get install maven"), False),
    ("port", Words("port {}")(PORT), _free_port, tr("in use; `make lab` uses the next free one"),
     False),
)  # fmt: skip
SYSTEM = ("java", "chromium", "driver", "font", "letters")  # what `make setup` may install


def findings() -> list[Finding]:
    return [
        Finding(name, title, look(), todo, needed) for name, title, look, todo, needed in PROBES
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    short = parser.add_mutually_exclusive_group()
    add_flag(short, "--brief", help="print only what is missing")
    add_flag(
        short, "--missing", help="print only the names of missing system packages, for scripts"
    )


def run(args: argparse.Namespace) -> int:
    if args.missing:
        probes = {name: look for name, _, look, _, _ in PROBES}
        print(" ".join(name for name in SYSTEM if not probes[name]()))
        return 0
    report = findings()
    missing = [finding for finding in report if finding.needed and not finding.detail]
    for finding in missing if args.brief else report:
        print(finding.line())
    if not args.brief:
        print(f"\n{NEXT if missing else READY}")
    return 1 if missing else 0
