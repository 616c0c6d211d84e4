"""What a student's and a teacher's JupyterLab show, started by the commands that people type."""

from __future__ import annotations

import json
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
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell

from mqlab.lessons.course import classroom
from mqlab.lessons.course.classroom import fill_in
from mqlab.lessons.course.notebooks import read, text_of
from tests.lessons.course.test_course import WRONG, hand_in, write_lab

from .jupyter import any_port

pytestmark = [
    pytest.mark.needs("chromium"),
    pytest.mark.spread("mqlab/lessons/course", by="file"),
]

PICTURES = Path(__file__).parents[2] / ".cache" / "test" / "pictures"


@contextmanager
def mqlab(*words: str) -> Iterator[str]:
    """A command that becomes JupyterLab; the address it prints."""
    command = [sys.executable, "-m", "mqlab", *words, "--no-browser", "--port", str(any_port())]
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
        assert page.url.partition("?")[0].endswith("/formgrader/manage_assignments")
        row.get_by_role("link", name="2", exact=True).click()
        page.get_by_role("row", name="ben").wait_for()
        picture(page, "formgrader.png")
        page.get_by_role("row", name="ben").locator(".autograde a, .autograde span").first.click()
        page.get_by_text("Successfully autograded").wait_for(timeout=120_000)
        assert there.autograded("ben", "07-sample").exists()
        for service in ("lab", "api/terminals", "api/kernels", "api/contents", "files/x"):
            answered = page.goto(re.sub("/formgrader.*", f"/{service}", address))
            assert answered.status == 404, "nothing but the formgrader is served"


HIT = "document.title='hit'"
HOSTILE = (
    f"<script>{HIT}</script>",
    f'<img src=x onerror="{HIT}">',
    f'![x](x"onerror="{HIT})',
    f'<svg onload="{HIT}"></svg>',
    f"[a link](javascript:{HIT})",
    f'<iframe srcdoc="<script>parent.{HIT}</script>"></iframe>',
    '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/">',
    "<style>body {display: none}</style>",
    f"```\n```\n<img src=x onerror={HIT}>",
    f"</textarea></pre></div><script>{HIT}</script>",
)
MIME = ("text/html", "application/javascript", "image/svg+xml", "text/markdown", "text/latex")


def make_hostile(there: Any) -> None:
    """All that a notebook can hold for a page, in one that anna hands in."""
    hand_in(there, "anna", WRONG + f"print({HOSTILE[1]!r})\nraise ValueError({HOSTILE[0]!r})\n")
    path = there.submitted("anna", "07-sample")
    notebook = read(path)
    for text in HOSTILE:
        notebook.cells += [new_markdown_cell(text), new_raw_cell(text)]
        outputs = [new_output("display_data", {kind: text}) for kind in MIME]
        outputs.append(new_output("error", ename=text, evalue=text, traceback=[text]))
        cell = new_code_cell("1", outputs=outputs)
        cell.metadata["nbgrader"] = {"grade_id": text, "solution": True, "grade": False}
        cell.metadata["nbgrader"] |= {"locked": False, "schema_version": 3}
        cell.metadata["tags"] = [text]
        notebook.cells.append(cell)
    notebook.metadata["title"] = notebook.metadata["widgets"] = HOSTILE[0]
    path.write_text(json.dumps(notebook), "utf-8")
    path.with_name("page.html").write_text(HOSTILE[0], "utf-8")


def test_what_a_submission_shows_a_teacher_does_nothing(page: Any, tmp_path: Path) -> None:
    there = classroom.teach([write_lab(tmp_path)], tmp_path / "term", print)
    make_hostile(there)
    classroom.grade(there, print)
    with there.book() as book:
        (submission,) = book.notebook_submissions("07-sample", "07-sample")
        number = submission.id
    with mqlab("class", str(there.folder), "--open") as address:
        go(page, address)
        shown = re.sub("/formgrader.*", f"/formgrader/submissions/{number}/", address)
        for policy in (True, False):  # one wall is enough
            context = page.context.browser.new_context(bypass_csp=not policy)
            reader = context.new_page()
            reader.goto(address)
            reader.goto(shown)
            reader.locator(".nbgrader_cell").first.wait_for()
            reader.wait_for_timeout(1000)
            assert is_inert(reader), policy
            assert reader.locator("input.score").count() == 1
            context.close()
        page.goto(f"{shown}page.html")
        assert page.title() != "hit"
        picture(page, "hostile.png")
    for policy in (True, False):
        context = page.context.browser.new_context(bypass_csp=not policy)
        reader = context.new_page()
        reader.goto((there.folder / "feedback/anna/07-sample/07-sample.html").as_uri())
        reader.wait_for_timeout(1000)
        assert is_inert(reader), policy
        assert "everything below the high watermark is replicated" in reader.content()
        context.close()


def is_inert(page: Any) -> bool:
    """No script of the submission ran, and none of its markup has become part of the page."""
    found = "iframe, svg, meta[http-equiv=refresh], [onerror], [onload], a[href^=javascript]"
    inside = page.locator("#notebook").locator(found).count()
    return page.title() != "hit" and inside == 0 and page.locator("body").is_visible()


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
