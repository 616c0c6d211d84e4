"""The labs in a browser: JupyterLite around the Python of Play, and what its kernel imports.

What builds it is pinned in `labs/site/lite` and is in an environment of its own: `app.txt` is
JupyterLite with the parts of JupyterLab that draw widgets, `kernel.txt` the wheels of a kernel. All
wheels are in one folder with the index by which Pyodide finds them, so that nothing is asked of
another host.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from email.message import Message
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..kernel import LANGUAGES, Text, speaking, tr
from ..kernel.text import WordedError
from ..places import CACHE, LABS, ROOT

SOURCES = LABS / "site" / "lite"
PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"
#: where the kernel's package has wheels of its own
KERNEL = "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
#: what a notebook asks for at its beginning; the rest comes when a cell imports it
BEGIN = ("micropip", "piplite", "ipykernel", "comm", "pyodide-kernel", "jedi", "ipython", "mqlab")
#: what the metadata of a wheel does not say, or says of other machines
NEEDS = {"mqlab": ["ipywidgets", "anywidget"], "plotly": ["narwhals", "packaging", "nbformat"]}
#: what is not needed in a browser: pictures of README, the year's orders, JavaScript that the
#: page has already, types of libraries that no lab uses
LEFT_OUT = (
    "*.gif", "*/orders-year.parquet", "mqlab/shipped/labs/site/*", "*.data/*",
    "plotly/package_data/plotly.min.js", "jedi/third_party/*",
)  # fmt: skip

NOTE = tr(
    "> **In a browser this lab is for reading.** Its cells start a server with sockets and a Spark "
    "job, which need Python and Java on a machine: `make lab` in a clone of the project opens it "
    "there. Below its cells is what they printed on such a machine, with real kills of the "
    "job."
)


#: the lab whose file a terminal writes
BUILT = "13-build-a-coordinator"
WITHOUT_TERMINAL = tr(
    "> **In a browser there is no terminal.** A cell writes the file, too, once the next cell has "
    'run: `open("coordinator.py", "w").write(read_begin())`. Then `coordinator.py` is in the '
    "list at the left, where a double click opens it."
)
NEEDS_SOCKETS = tr(
    "> **In a browser this cell is for reading.** It starts a server and connects a real client, "
    "and a browser gives neither of them a socket. `make lab` in a clone of the project runs it."
)


class NoLabs(WordedError):
    """What builds the labs cannot be had; the message says why."""


def fetch_lite(cache: Path = CACHE / "lite") -> Path:
    """The folder with what builds the labs for a browser: a virtual environment with JupyterLite,
    and the kernel's wheels. pip fetches them once, until the pinned versions change, which removes
    the old ones; NoLabs where it cannot."""
    pins = b"".join(path.read_bytes() for path in sorted(SOURCES.glob("*.txt")))
    made = cache / hashlib.sha256(pins).hexdigest()[:12]
    if not (made / "complete").is_file():  # written last: an interrupted download begins again
        shutil.rmtree(cache, ignore_errors=True)
        venv.create(made, with_pip=True)
        pip = [_find_tool(made, "python"), "-m", "pip", "--disable-pip-version-check", "-q"]
        _run([*pip, "install", "--no-deps", "-r", str(SOURCES / "app.txt")], made)
        _run(
            [*pip, "download", "--no-deps", "--only-binary", ":all:", "--python-version", "3.14",
             "--implementation", "py", "--abi", "none", "--platform", "any",
             "-d", str(made / "wheels"), "-r", str(SOURCES / "kernel.txt")],
            made,
        )  # fmt: skip
        (made / "complete").touch()
    return made


def _find_tool(made: Path, name: str) -> str:
    tool = shutil.which(name, path=f"{made / 'bin'}:{made / 'Scripts'}")
    assert tool is not None, name
    return tool


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise NoLabs("JupyterLite cannot be built ({}); try again later", lines[-1])


def write_labs(folder: Path, made: Path, pyodide: Path) -> None:
    """Build JupyterLite with the students' copies of the labs into `folder`, and beside it the
    wheels of its kernel, mqlab's own too. `made`: the folder that `fetch_lite` returned; `pyodide`:
    the folder of Play's Python, in the same site. NoLabs where a tool fails."""
    pyodide_address = Path("..", pyodide.relative_to(folder.parent)).as_posix()
    with TemporaryDirectory() as scratch:  # another build may run at the same time
        work = Path(scratch)
        _write_sources(work, f"./{pyodide_address}/pyodide.mjs")
        _run(
            [_find_tool(made, "jupyter"), "lite", "build", "--lite-dir", ".", "--contents", "files",
             "--output-dir", str(folder.resolve()), "--apps", "lab",
             "--no-sourcemaps", "--no-unused-shared-packages"],
            work,
        )  # fmt: skip
        own = work / "own"
        _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(own)], ROOT)
        wheels = (made / "wheels").glob("*.whl"), (made / KERNEL).glob("*.whl")
        # Pyodide's own index of packages, to which these wheels are added
        index = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))
        write_index(folder / "python", [*own.glob("*.whl"), *chain(*wheels)], index)


def _write_sources(work: Path, pyodide: str) -> None:
    """Write into the folder `work` what `jupyter lite build` reads: the notebooks in each language,
    ready for a browser, and its settings. `pyodide`: the address of Pyodide's module in the
    site."""
    from ..lessons.course.package import list_originals

    for lang in LANGUAGES:
        files = work / "files" / ("" if lang == "en" else lang)
        files.mkdir()
        with speaking(lang):
            for original in list_originals(LABS, lang):
                path = files / original.name
                original.write(path)
                lab = json.loads(path.read_text("utf-8"))
                _prepare(lab, path)  # what needs a machine becomes text
                path.write_text(json.dumps(lab), "utf-8")
    kernel = {
        "pyodideUrl": pyodide,
        "disablePyPIFallback": True,  # all packages come from the site
        "loadPyodideOptions": {
            "lockFileURL": "./python/pyodide-lock.json",
            "packages": BEGIN,
            "env": {"PLOTLY_RENDERER": "plotly_mimetype"},  # JupyterLab draws it, not the cell
        },
    }
    lite = {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {"appName": "mqlab", "litePluginSettings": {PLUGIN: kernel}},
    }
    (work / "jupyter-lite.json").write_text(json.dumps(lite), "utf-8")


def _prepare(lab: dict[str, Any], path: Path) -> None:
    """What needs a machine is for reading, and says so."""
    from ..lessons.course.notebooks import RECORDED

    show = show_recorded if path.stem == RECORDED else show_clients
    show(lab, LABS / "solutions" / path.name)
    if path.stem == BUILT:
        _put_note(lab, WITHOUT_TERMINAL)


def show_recorded(lab: dict[str, Any], solved: Path) -> None:
    """Put the note at a notebook's top, and below each cell what it printed where the labs are
    made; a cell that is the learner's to write stays as it is."""
    printed = _read_outputs(solved)
    for cell in lab["cells"]:
        if cell["cell_type"] == "code":
            outputs = printed.get((cell["id"], "".join(cell["source"])), [])
            cell["outputs"] = [one for one in outputs if one["output_type"] == "stream"]
    _put_note(lab, NOTE)


def show_clients(lab: dict[str, Any], solved: Path) -> None:
    """Make a text of each cell that connects a client of a real broker, and of what it wrote where
    the labs are made."""
    from ..lessons.course.notebooks import CLIENT

    printed = _read_outputs(solved)
    for cell in lab["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and CLIENT.search(source):
            text = f"{NEEDS_SOCKETS}\n\n```python\n{source}\n```"
            for output in printed.get((cell["id"], source), []):
                text += f"\n\n```text\n{_read_text(output)}\n```"
            for name in ("outputs", "execution_count"):
                del cell[name]
            cell.update(cell_type="markdown", metadata={}, source=text)


def _read_outputs(solved: Path) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """What each cell wrote that is no picture, by its id and its source."""
    return {
        (cell["id"], "".join(cell["source"])): [
            one
            for one in cell.get("outputs", ())
            if one["output_type"] == "stream" or "text/html" in one.get("data", ())
        ]
        for cell in json.loads(solved.read_text("utf-8"))["cells"]
    }


def _read_text(output: dict[str, Any]) -> str:
    return "".join(output.get("text") or output["data"]["text/plain"]).rstrip()


def _put_note(lab: dict[str, Any], note: Text) -> None:
    """Below the title."""
    cell = {"cell_type": "markdown", "id": "in-a-browser", "metadata": {}, "source": str(note)}
    lab["cells"].insert(1, cell)


def write_index(folder: Path, wheels: Sequence[Path], index: dict[str, Any]) -> None:
    """Copy `wheels` into a new folder, without the files of LEFT_OUT, and write the index by which
    Pyodide finds them: its own `index` with these packages in place of those that it has."""
    folder.mkdir()
    metadata = {path: _read_metadata(path) for path in wheels}
    # nbformat is no wheel of pip's: an empty one is made here
    names = {_normal(about["Name"]) for about in metadata.values()} | {"nbformat"}
    packages = {"nbformat": _write_nbformat(folder)}
    for path, about in metadata.items():
        name = _normal(about["Name"])
        required = [  # what is needed for an extra is left out
            _normal(row) for row in about.get_all("Requires-Dist", []) if "extra ==" not in row
        ]
        with (
            zipfile.ZipFile(path) as wheel,
            zipfile.ZipFile(folder / path.name, "w", zipfile.ZIP_DEFLATED) as smaller,
        ):
            for file in wheel.infolist():
                if not any(fnmatch(file.filename, pattern) for pattern in LEFT_OUT):
                    smaller.writestr(file, wheel.read(file))
        # NEEDS corrects some metadata.
        # Of its dependencies those that are here: the others are only for other machines.
        needs = [needed for needed in NEEDS.get(name, required) if needed in names]
        packages[name] = _describe(folder / path.name, name, about["Version"], needs)
    whole = {**index, "packages": packages}
    (folder / "pyodide-lock.json").write_text(json.dumps(whole), "utf-8")


def _write_nbformat(folder: Path) -> dict[str, Any]:
    """plotly asks whether nbformat is there before it draws, and uses nothing of it. It needs a
    library in Rust, which no registry has for a browser."""
    name, version = "nbformat", "5.10.999"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        about = f"{name}-{version}.dist-info"
        wheel.writestr(f"{name}/__init__.py", f'__version__ = "{version}"\n')
        wheel.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        tags = "Wheel-Version: 1.0\nGenerator: mqlab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{about}/WHEEL", tags)
        wheel.writestr(f"{about}/RECORD", "")
    return _describe(path, name, version, [])


def _describe(path: Path, name: str, version: str, needs: Sequence[str]) -> dict[str, Any]:
    """What the index says of a wheel."""
    with zipfile.ZipFile(path) as wheel:
        tops = {inside.partition("/")[0] for inside in wheel.namelist() if inside.endswith(".py")}
    return {
        "name": name, "version": version, "file_name": path.name, "install_dir": "site",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "package_type": "package",
        "imports": sorted(top.removesuffix(".py") for top in tops), "depends": list(needs),
        "unvendored_tests": False,
    }  # fmt: skip


def _read_metadata(path: Path) -> Message:
    with zipfile.ZipFile(path) as wheel:
        (name,) = (one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
        return message_from_bytes(wheel.read(name))


def _normal(requirement: str) -> str:
    """The name at the beginning of a requirement, as an index writes it."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()
