"""The labs of the site without a browser: pins, the index of wheels, and the lab that is read."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mqlab.cli import main
from mqlab.lessons.course.notebooks import RECORDED
from mqlab.places import LABS, ROOT
from mqlab.site import Built, NoLabs, lite
from mqlab.site.pages import write_site
from mqlab.site.stories import SCENARIOS
from tests.site.conftest import pack_core

PIN = r"(?m)^([\w.-]+)==([^\s\\]+)"


def pack_wheel(folder: Path, name: str, *files: str, needs: tuple[str, ...] = ()) -> Path:
    path = folder / f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        lines = [f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {one}" for one in needs)]
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", "\n".join(lines))
        for file in files:
            wheel.writestr(file, "")
    return path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels with its index."""
    given = tmp_path_factory.mktemp("given")
    wheels = [
        pack_wheel(given, "plotly", "plotly/a.py", "plotly/package_data/plotly.min.js"),
        pack_wheel(given, "Narwhals", "narwhals/b.py", "narwhals-1.0.data/x.js"),
        pack_wheel(
            given, "some-tool", "tool.py", needs=("Narwhals>=1", "psutil", "plotly; extra == 'x'")
        ),
    ]
    folder = tmp_path_factory.mktemp("site") / "python"
    lite.write_index(folder, wheels, {"info": {"python": "3.14.2"}, "packages": {"numpy": {}}})
    return folder


def test_the_index_describes_each_wheel_and_nothing_that_stands_elsewhere(index: Path) -> None:
    told = json.loads((index / "pyodide-lock.json").read_text("utf-8"))
    assert told["info"] == {"python": "3.14.2"}
    assert set(told["packages"]) == {"nbformat", "plotly", "narwhals", "some-tool"}
    assert {one["file_name"] for one in told["packages"].values()} == {
        path.name for path in index.glob("*.whl")
    }
    for one in told["packages"].values():
        found = hashlib.sha256((index / one["file_name"]).read_bytes()).hexdigest()
        assert one["sha256"] == found
    assert told["packages"]["some-tool"]["depends"] == ["narwhals"]
    assert told["packages"]["some-tool"]["imports"] == ["tool"]
    assert told["packages"]["plotly"]["depends"] == ["narwhals", "nbformat"]


def test_what_nobody_asks_for_is_left_out(index: Path) -> None:
    names = [name for path in index.glob("*.whl") for name in zipfile.ZipFile(path).namelist()]
    assert "plotly/a.py" in names and "narwhals/b.py" in names
    assert not [name for name in names if name.endswith(".js")]


def test_plotly_finds_an_nbformat_that_is_new_enough(index: Path) -> None:
    (path,) = index.glob("nbformat-*.whl")
    code = "import nbformat; print(nbformat.__file__, nbformat.__version__)"
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(path)!r})\n{code}",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith(str(path)) and tuple(map(int, said.split()[1].split("."))) > (4, 2, 0)


def test_a_browser_has_the_versions_that_a_machine_has() -> None:
    locked = dict(re.findall(PIN, (ROOT / "requirements.lock").read_text("utf-8")))
    kernel, app = (
        dict(re.findall(PIN, (lite.SOURCES / name).read_text("utf-8")))
        for name in ("kernel.txt", "app.txt")
    )
    for name in ("anywidget", "ipython", "ipywidgets", "plotly", "traitlets", "narwhals"):
        assert kernel[name] == locked[name], name
    for name in ("anywidget", "plotly", "jupyterlab_widgets"):
        assert app[name] == locked[name.replace("_", "-")], name


def test_the_lab_that_needs_a_machine_says_so_and_shows_what_it_printed() -> None:
    path = LABS / f"{RECORDED}.ipynb"
    before = json.loads(path.read_text("utf-8"))
    lab = json.loads(path.read_text("utf-8"))
    lite.show_recorded(lab, LABS / "solutions" / path.name)
    note = lab["cells"].pop(1)
    assert "for reading" in note["source"] and lab["cells"][0] == before["cells"][0]
    assert [one["source"] for one in lab["cells"]] == [one["source"] for one in before["cells"]]
    shown = [one for one in lab["cells"] if one.get("outputs")]
    assert len(shown) >= 10
    assert not [one for one in shown if "nbgrader" in one["metadata"]]
    assert {out["output_type"] for one in shown for out in one["outputs"]} == {"stream"}


#: the labs whose cells a browser runs
RUN_HERE = sorted(path for path in LABS.glob("*.ipynb") if path.stem != RECORDED)


@pytest.mark.parametrize("path", RUN_HERE, ids=lambda path: path.stem[:2])
def test_a_browser_has_what_the_cells_of_a_lab_import(path: Path) -> None:
    lab = json.loads(path.read_text("utf-8"))
    before = len(lab["cells"])
    lite.show_clients(lab, LABS / "solutions" / path.name)
    assert len(lab["cells"]) == before
    pins = dict(re.findall(PIN, (lite.SOURCES / "kernel.txt").read_text("utf-8")))
    there = {*sys.stdlib_module_names, *pins, "mqlab"} - {"socket", "subprocess", "multiprocessing"}
    for cell in lab["cells"]:
        if cell["cell_type"] == "code":
            asked = re.findall(r"(?m)^\s*(?:from|import) (\w+)", "".join(cell["source"]))
            assert {name.lower() for name in asked} <= {name.lower() for name in there}


#: a run of the labs' imports where these are missing, as in a browser
WITHOUT = """
import sys
for name in ("confluent_kafka", "fcntl", "kio", "pandas", "pyarrow", "pyspark"):
    sys.modules[name] = None
exec(sys.argv[1])
"""


def test_what_labs_import_of_this_project_needs_no_more() -> None:
    """Lab 14 stopped at its first cell, whose module asked for kio."""
    asked: list[str] = []
    for path in RUN_HERE:
        lab = json.loads(path.read_text("utf-8"))
        lite.show_clients(lab, LABS / "solutions" / path.name)
        cells = ["".join(cell["source"]) for cell in lab["cells"] if cell["cell_type"] == "code"]
        nodes = [node for cell in cells for node in ast.walk(ast.parse(cell.replace("%", "#")))]
        imports = [ast.unparse(node) for node in nodes if isinstance(node, ast.ImportFrom)]
        asked += [line for line in imports if line.startswith("from mqlab")]
    assert len(asked) > 20
    subprocess.run([sys.executable, "-c", WITHOUT, "\n".join(asked)], check=True)


def test_what_a_server_told_where_the_labs_are_made_stands_below_its_cell() -> None:
    path = LABS / "14-the-real-thing.ipynb"
    lab = json.loads(path.read_text("utf-8"))
    lite.show_clients(lab, LABS / "solutions" / path.name)
    texts = [
        one["source"] for one in lab["cells"] if one["source"][:1] == str(lite.NEEDS_SOCKETS)[:1]
    ]
    (told,) = (text for text in texts if 'ask_both("client-confluent-kafka"' in text)
    assert "```text\nclient-confluent-kafka: " in told


def test_a_cell_that_connects_a_real_client_is_for_reading() -> None:
    path = LABS / f"{lite.BUILT}.ipynb"
    lab = json.loads(path.read_text("utf-8"))
    lite.show_clients(lab, LABS / "solutions" / path.name)
    (cell,) = (one for one in lab["cells"] if "confluent_kafka" in "".join(one["source"]))
    assert (cell["cell_type"], cell["metadata"]) == ("markdown", {}) and "outputs" not in cell
    assert cell["source"].startswith(lite.NEEDS_SOCKETS.en) and "broker.kill()" in cell["source"]


def test_the_browser_has_each_lab_in_both_languages(tmp_path: Path) -> None:
    lite._write_sources(tmp_path, "./pyodide.mjs")
    files = tmp_path / "files"
    names = sorted(path.name for path in LABS.glob("*.ipynb"))
    assert names == sorted(path.name for path in files.glob("*.ipynb"))
    assert names == sorted(path.name for path in (files / "zh").glob("*.ipynb"))
    for name in names:
        english, chinese = (
            "".join(json.loads(path.read_text("utf-8"))["cells"][0]["source"])
            for path in (files / name, files / "zh" / name)
        )
        assert english.startswith("# Lab ") and chinese.startswith("# 实验 ")
    (note, *_) = json.loads((files / "zh" / f"{RECORDED}.ipynb").read_text("utf-8"))["cells"][1:]
    assert note["source"] == lite.NOTE.zh


def test_the_page_leads_to_each_lab(
    few_pages: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    monkeypatch.setattr("mqlab.site.pages.write_labs", lambda *paths: given.append(paths))
    folder, core = tmp_path / "site", pack_core(tmp_path / "core.tgz")
    write_site(folder, (SCENARIOS / "kafka/torn-read.scn",), core, tmp_path)
    assert given == [(folder / "labs", tmp_path, folder / "play" / "pyodide")]
    page = (folder / "learn.html").read_text("utf-8")
    names = sorted(path.stem for path in LABS.glob("*.ipynb"))
    assert re.findall(r"labs/lab/index\.html\?path=([\w-]+)\.ipynb", page) == names
    chinese = (folder / "zh" / "learn.html").read_text("utf-8")
    assert re.findall(r"labs/lab/index\.html\?path=zh/([\w-]+)\.ipynb", chinese) == names


def test_without_jupyterlite_a_site_is_written_without_labs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given: list[Any] = []

    def write_site(folder: Path, pyodide: Path | None, lite: Path | None) -> Built:
        given.append((pyodide, lite))
        return Built(folder, 0, 0)

    monkeypatch.setattr("mqlab.site.write_site", write_site)
    monkeypatch.setattr("mqlab.site.fetch_pyodide", lambda: tmp_path)
    monkeypatch.setattr(
        lite.venv, "create", lambda made, with_pip: (made / "bin").mkdir(parents=True)
    )
    monkeypatch.setattr(lite, "_find_tool", lambda made, name: "false")
    monkeypatch.setattr("mqlab.site.fetch_lite", lambda: lite.fetch_lite(tmp_path / "kept"))
    assert main(["site", "-o", str(tmp_path / "site")]) == 0
    assert given == [(tmp_path, None)]
    assert "without labs: JupyterLite cannot be built (exit code 1)" in capsys.readouterr().out
    with pytest.raises(NoLabs):  # what is half made is made again
        lite.fetch_lite(tmp_path / "kept")
