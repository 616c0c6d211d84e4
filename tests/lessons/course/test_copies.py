"""A student's own copies: what `make lab` opens, and that nothing of theirs is ever lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mqlab.cli import lab_server, main
from mqlab.lessons.course import notebooks
from mqlab.lessons.course.notebooks import labs_in

from .sample_lab import SAMPLE

Open = Callable[..., Path]


@pytest.fixture
def labs(tmp_path: Path) -> Path:
    """A folder with three labs, built, and all that a student should not see."""
    folder = tmp_path / "labs"
    for name in ("source", "images", "solutions", "instructor"):
        (folder / name).mkdir(parents=True)
    (folder / "images" / "strip.png").write_bytes(b"a picture")
    (folder / "images" / "other.png").write_bytes(b"no lab shows it")
    (folder / "instructor" / "07.md").write_text("answers")
    for name in ("05-first", "07-second", "08-third"):
        (folder / "source" / f"{name}.py").write_text(SAMPLE, "utf-8")
    for lab in labs_in(folder):
        notebooks.build(lab, print, student_only=True, force=False)
    return folder


@pytest.fixture
def opened(labs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """`mqlab labs open`, up to the moment it becomes JupyterLab; the folder that would show."""

    def open_labs(*options: str) -> Path:
        started: list[list[str]] = []
        monkeypatch.setattr(lab_server.os, "execve", lambda _, words, env: started.append(words))
        copies = tmp_path / "my-labs"
        args = ["labs", "--folder", str(labs), "--copies", str(copies), "open", "--no-browser"]
        assert main([*args, *options]) == 0
        (root,) = [word for word in started[0] if word.startswith("--ServerApp.root_dir=")]
        return Path(root.partition("=")[2])

    return open_labs


def worked(path: Path, text: str = "def lso(first_offsets, high_watermark): return 0") -> None:
    notebook = notebooks.read(path)
    notebook.cells[5].source = text
    path.write_text(notebooks.text_of(notebook), "utf-8")


def change(labs: Path) -> None:
    for source in (labs / "source").iterdir():
        source.write_text(SAMPLE.replace("done", "well done"), "utf-8")


def test_a_student_sees_the_labs_and_nothing_else(
    opened: Open, labs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = opened()
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        "05-first.ipynb", "07-second.ipynb", "08-third.ipynb", "images", "images/strip.png",
    ]  # fmt: skip
    everything = "".join(path.read_text("utf-8") for path in folder.glob("*.ipynb"))
    assert "BEGIN SOLUTION" not in everything and "BEGIN HIDDEN" not in everything
    assert f"your copies of the labs are in {folder}" in capsys.readouterr().out
    assert opened("--teacher") == labs


def test_copies_are_laid_out_without_a_server(
    labs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    for _ in range(2):
        assert main(["labs", "--folder", str(labs), "--copies", str(mine), "copy"]) == 0
        assert f"your copies of the labs are in {mine}" in capsys.readouterr().out
        assert len(list(mine.glob("*.ipynb"))) == 3
        worked(mine / "05-first.ipynb")
    assert "return 0" in (mine / "05-first.ipynb").read_text("utf-8"), (
        "a second time changes nothing"
    )


def test_what_one_writes_stays_and_what_one_did_not_touch_is_renewed(
    opened: Open, labs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = opened()
    worked(folder / "05-first.ipynb")
    run = json.loads((folder / "07-second.ipynb").read_text("utf-8"))
    run["cells"][1]["execution_count"] = 1
    (folder / "07-second.ipynb").write_text(json.dumps(run))
    mine = [(folder / name).read_bytes() for name in ("05-first.ipynb", "07-second.ipynb")]
    change(labs)
    capsys.readouterr()
    opened()
    assert [(folder / name).read_bytes() for name in ("05-first.ipynb", "07-second.ipynb")] == mine
    assert "well done" in (folder / "08-third.ipynb").read_text("utf-8")
    said = capsys.readouterr().out
    assert "kept 05-first.ipynb: you have worked in it; the lab has changed since" in said
    assert "kept 07-second.ipynb" in said and "08-third" not in said.replace("wrote labs/08", "")


def test_a_new_copy_leaves_the_old_one(
    opened: Open, labs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = opened()
    command = ["labs", "--folder", str(labs), "--copies", str(folder), "renew", "05"]
    for text in ("first = 1", "second = 2"):
        worked(folder / "05-first.ipynb", text)
        assert main(command) == 0
    kept = [folder / f"05-first.kept-{n}.ipynb" for n in (1, 2)]
    assert "first = 1" in kept[0].read_text() and "second = 2" in kept[1].read_text()
    assert "first = 1" not in (folder / "05-first.ipynb").read_text()
    assert "yours is now 05-first.kept-1.ipynb" in capsys.readouterr().out
    assert main([*command[:-1], "99"]) == 2


def test_a_damaged_notebook_is_named_and_the_others_open(
    opened: Open, labs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for damage in ("", "{", "[]", '{"cells": 5}', "\ufeff<html>"):
        (labs / "05-first.ipynb").write_text(damage, "utf-8")
        folder = opened()
        said = capsys.readouterr().out
        assert "kept 05-first.ipynb: it cannot be read (--force sets it aside" in said, damage
        assert f"{labs / '05-first.ipynb'} cannot be read" in said
        assert not (folder / "05-first.ipynb").exists()
        assert (folder / "07-second.ipynb").exists()
    (folder / "07-second.ipynb").write_text("{", "utf-8")
    opened()
    assert f"{folder / '07-second.ipynb'} cannot be read and stays" in capsys.readouterr().out
    assert (folder / "07-second.ipynb").read_text("utf-8") == "{"


def test_building_by_force_sets_aside_what_one_wrote(labs: Path) -> None:
    worked(labs / "05-first.ipynb", "mine = 1")
    command = ["labs", "--folder", str(labs), "build", "--student", "--force"]
    assert main(command) == 0
    assert "mine = 1" in (labs / "05-first.kept-1.ipynb").read_text("utf-8")
    assert "mine = 1" not in (labs / "05-first.ipynb").read_text("utf-8")
    assert not (labs / "07-second.kept-1.ipynb").exists(), "nobody had worked in it"
    assert "05-first.kept-1.ipynb" not in [path.name for path in notebooks.notebooks_in(labs)]


def test_a_package_without_sources_opens_and_says_what_it_cannot_do(
    opened: Open, labs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (labs / "source").rename(labs.parent / "elsewhere")
    assert (opened() / "05-first.ipynb").exists()
    assert main(["labs", "--folder", str(labs), "check"]) == 2
    assert "no lab sources" in capsys.readouterr().err
