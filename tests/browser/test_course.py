"""What a student's and a teacher's JupyterLab show, started by the commands that people type."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mqlab.lessons.course import classroom
from mqlab.lessons.course.classroom import fill_in
from mqlab.lessons.course.notebooks import read, text_of
from tests.lessons.course.test_course import WRONG, hand_in, write_lab

pytestmark = pytest.mark.needs("chromium")

PICTURES = Path(__file__).parents[2] / ".cache" / "test" / "pictures"


@contextmanager
def mqlab(*words: str) -> Iterator[str]:
    """A command that becomes JupyterLab; the address it prints."""
    command = [sys.executable, "-m", "mqlab", *words, "--no-browser", "--port", "8930"]
    with TemporaryDirectory() as workspaces:  # or JupyterLab opens what the last run left open
        server = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={**os.environ, "JUPYTERLAB_WORKSPACES_DIR": workspaces},
        )
        try:
            assert server.stdout is not None
            found = (re.search(r"http://\S+", line) for line in server.stdout)
            yield next(match[0] for match in found if match)
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:  # a kernel that is just starting
                server.kill()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    yield page
    page.close()


def go(page: Any, address: str) -> None:
    """As soon as the server listens."""
    for _ in range(120):
        try:
            page.goto(address)
            return
        except Exception as error:
            if "ERR_CONNECTION_REFUSED" not in str(error):
                raise
            page.wait_for_timeout(500)
    pytest.fail(f"nobody listens at {address}")


def picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / name))


def test_a_teacher_reads_what_was_handed_in(page: Any, tmp_path: Path) -> None:
    there = classroom.teach([write_lab(tmp_path)], tmp_path / "term", print)
    for student in ("anna", "ben"):
        hand_in(there, student, WRONG)
    with mqlab("class", str(there.folder), "--open") as address:
        go(page, address)
        row = page.get_by_role("row", name="07-sample")
        row.wait_for()
        assert page.url.endswith("/formgrader/manage_assignments")
        row.get_by_role("link", name="2", exact=True).click()
        page.get_by_role("row", name="ben").wait_for()
        picture(page, "formgrader.png")
        page.get_by_role("row", name="ben").locator(".autograde a, .autograde span").first.click()
        page.get_by_text("Successfully autograded").wait_for(timeout=120_000)
        assert there.autograded("ben", "07-sample").exists()
        page.goto(re.sub("/login.*", "/lab", address))  # signed in there too
        page.get_by_text("Nbgrader", exact=True).wait_for()


def test_a_student_sees_copies_and_follows_links_between_them(page: Any, tmp_path: Path) -> None:
    copies = tmp_path / "my-labs"
    with mqlab("labs", "--copies", str(copies), "open") as address:
        go(page, address)
        page.get_by_role("listitem", name=re.compile("^Name: 11-order-to-income")).wait_for()
        names = set(page.locator(".jp-DirListing-itemText").all_inner_texts())
        assert names == {path.name for path in copies.glob("[!.]*")}
        assert not {"solutions", "source", "instructor"} & names
        page.locator(".jp-Notebook").wait_for()
        picture(page, "student.png")
        link = page.locator(".jp-Notebook a[href*='07-markers-and-lso']").first
        link.scroll_into_view_if_needed()
        link.click()
        page.get_by_role("heading", name=re.compile("^Lab 07")).wait_for()
    notebook = fill_in(read(copies / "07-markers-and-lso.ipynb"), {})
    assert "BEGIN SOLUTION" not in text_of(notebook)
