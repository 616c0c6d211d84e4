"""A site in a browser that reaches nothing else, and an archive that stands for Pyodide's."""

from __future__ import annotations

import functools
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqlab.site import play


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
