"""A site in a browser that reaches nothing else, and an archive that stands for Pyodide's."""

from __future__ import annotations

import functools
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mqlab.site import NoLabs, NoPlay, fetch_lite, fetch_pyodide, pages, play, stories, write_site


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """The address, without a slash at its end, at which this machine serves a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """A test says what went wrong."""

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def pack_core(path: Path) -> Path:
    """An archive with the names of Pyodide's files, for pages whose Python nobody starts."""
    with tarfile.open(path, "w:gz") as packed:
        for name in play.CORE:
            packed.addfile(tarfile.TarInfo(f"package/{name}"), io.BytesIO())
    return path


class Links(HTMLParser):
    """The addresses in a page, and what stands in it as text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of the longest stories, and of those that a claim leads to."""
    folder = tmp_path_factory.mktemp("site") / "below"
    pyodide = pack_core(folder.parent / "pyodide.tgz")
    longest = sorted(stories.SCENARIOS.rglob("*.scn"), key=lambda path: -path.stat().st_size)[:6]
    paths = {*longest, *pages.list_linked()}
    paths.add(stories.SCENARIOS / "kafka/counterexamples/lso.scn")
    built = write_site(folder, tuple(sorted(paths)), pyodide)
    assert built.stories == len(paths)
    assert built.bytes == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return folder


@pytest.fixture
def few_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site without the pages that take most of the time: the lecture's, the ways beside each
    other, and what the choice says."""
    monkeypatch.setattr(pages, "write_lecture", lambda write: 0)
    monkeypatch.setattr(pages, "list_beside", tuple)
    monkeypatch.setattr(pages, "render_choice", str)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a site of two stories in `below`, with Play, and with labs where JupyterLite
    can be had; without Pyodide the test is skipped."""
    folder = tmp_path_factory.mktemp("whole")
    try:
        archive = fetch_pyodide()
    except NoPlay as error:
        pytest.skip(str(error))
    lite = None
    with suppress(NoLabs):
        lite = fetch_lite()
    longest = max(stories.SCENARIOS.rglob("*.scn"), key=lambda path: len(str(path)))
    paths = (stories.SCENARIOS / "kafka/torn-read.scn", longest)
    write_site(folder / "below", paths, archive, lite)
    return folder


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of 1280 by 800; a request that fails and an error in a script fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.failed = []
    page.on("requestfailed", lambda request: page.failed.append(request.url))
    page.on("pageerror", lambda error: page.failed.append(str(error)))
    yield page
    assert page.failed == []
    context.close()
