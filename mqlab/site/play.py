"""Play: the engine in a browser. Its Python, Pyodide, comes from npm and is kept in the folder.

Beside it are a zip of the packages that a playground and a search need, the notebook's widgets as
modules, and the stories to begin with. `labs/site/play` has the page's own sources: `play.js` is
the page, `worker.js` runs Python in a thread of its own, in which `labs/site/play/rooms.py` answers
the page and `labs/site/play/bridge.py` stands for the packages on which the notebook's widgets are
built.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from mqlab_widgets.player import read_modules
from mqlab_widgets.style import HERE

from ..kernel import LANGUAGES
from ..kernel.catalogue import read_catalogue
from ..kernel.text import WordedError
from ..places import CACHE, LABS, PACKAGE
from .stories import Story

SOURCES = LABS / "site" / "play"
VERSION = "314.0.7"
SHA256 = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
#: of Pyodide's package, the files that a page loads
CORE = (
    "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip",
)  # fmt: skip
#: of ours, the files that Python in the browser has
ENGINE = (
    "__init__.py", "places.py", "kernel/**/*", "kafka/**/*", "rocketmq/**/*", "pulsar/**/*",
    "patterns/**/*", "explore/*.py", "scenario/*.py", "registry/**/*", "brokers/*.py",
    "recordings/*.py",
)  # fmt: skip
WIDGETS = {
    "playground.js": ("acts.js", "branches.js", "beside.js", "playground.js"),
    "explorer.js": ("search_tree.js", "explorer.js"),
}


class NoPlay(WordedError):
    """Pyodide cannot be had; the message says why."""


def fetch_pyodide(cache: Path = CACHE / "npm") -> Path:
    """The archive of Pyodide, the Python of the page Play, which npm fetches once into `cache`.
    Raises NoPlay where there is no npm, where it cannot fetch, and where the archive is not the
    pinned one."""
    path = cache / f"pyodide-{VERSION}.tgz"
    if not path.is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise NoPlay(
                "npm fetches Pyodide, and it is not installed (Debian: apt-get install npm)"
            )
        cache.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", f"pyodide@{VERSION}", "--silent", "--fetch-retries=1"]
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True, check=False)
        if done.returncode or not path.is_file():
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise NoPlay("npm cannot fetch pyodide {} ({}); try again later", VERSION, lines[-1])
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise NoPlay("{} is not the pinned pyodide {}: delete it and try again", path, VERSION)
    return path


def write_play(folder: Path, archive: Path, stories: Sequence[Story]) -> None:
    """Write all that the page Play loads into a new folder: Pyodide's core, out of its `archive`, a
    zip of our packages, the widgets' modules, the scenarios' commands and questions, and the page's
    own files."""
    (folder / "pyodide").mkdir(parents=True)
    with tarfile.open(archive) as packed:
        for name in CORE:
            member = packed.extractfile(f"package/{name}")
            assert member is not None, name
            (folder / "pyodide" / name).write_bytes(member.read())
    pack_engine(folder / "mqlab.zip")
    for name, files in WIDGETS.items():
        module = read_modules("widget.js", *files)
        (folder / name).write_text(f"{module}\nexport {{ Player, unpack }};\n", "utf-8")
    shutil.copyfile(HERE / "explorer.css", folder / "explorer.css")
    scenarios = {
        story.name: {
            "commands": story.commands,
            **{lang: story.question.of(lang) for lang in LANGUAGES},
        }
        for story in stories
    }
    (folder / "stories.json").write_text(json.dumps(scenarios, ensure_ascii=False), "utf-8")
    for name in ("play.css", "play.js", "worker.js"):
        shutil.copyfile(SOURCES / name, folder / name)


def pack_engine(path: Path) -> None:
    """Write the zip with the packages of Python in the browser."""
    read_catalogue("mqlab")  # which leaves it compiled
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packages:
        for top, patterns, name in (
            (PACKAGE, ENGINE, "mqlab/"),
            (HERE, ("**/*",), "mqlab_widgets/"),
            (SOURCES, ("*.py",), ""),
        ):
            for file in sorted({file for pattern in patterns for file in top.glob(pattern)}):
                if file.is_file() and file.suffix not in (".pyc", ".po"):
                    packages.write(file, name + file.relative_to(top).as_posix())
