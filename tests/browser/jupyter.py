"""A JupyterLab of the test's own, on a copy of the labs, and what to do with it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.widgets.test_browser import settle

ROOT = Path(__file__).parents[2]
SETTINGS = {
    # Every cell stays in the page, so that the whole notebook can be looked at.
    "@jupyterlab/notebook-extension/tracker.jupyterlab-settings": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false"},
}


def any_port() -> int:
    """One that the system has just given, so that no two who ask at once get the same."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """Start JupyterLab on a copy of `labs/` in `folder`; gives its address with the token and two
    gaps: a workspace and a notebook."""
    labs = folder / "labs"
    shutil.copytree(ROOT / "labs", labs)
    settings = folder / "settings"
    for name, values in SETTINGS.items():
        path = settings / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), "utf-8")
    port, token = any_port(), secrets.token_urlsafe(16)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
        f"--ServerApp.root_dir={labs}", "--allow-root", "--expose-app-in-browser",
        "--ServerApp.port_retries=0", "--LabApp.news_url=",
    ]  # fmt: skip
    env = {
        **os.environ,
        "JUPYTER_TOKEN": token,
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
    }
    log = (folder / "jupyter.log").open("w")
    server = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(f"http://127.0.0.1:{port}/api/status?token={token}", server, folder / "jupyter.log")
        yield f"http://127.0.0.1:{port}/lab/workspaces/{{}}/tree/{{}}?token={token}"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:  # a kernel that is just starting
            server.kill()
        log.close()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab has ended:\n{log.read_text()}")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab does not answer:\n{log.read_text()}")


@contextmanager
def notebook(
    browser: Any, address: str, name: str, heard: Callable[[str], None] | None = None
) -> Iterator[Any]:
    """A page on a notebook whose kernel is ready; afterwards neither is left. `heard` is called
    with the address of each request."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(120_000)  # a search may share the processor with much else
    if heard:
        page.on("request", lambda request: heard(request.url))
    open_notebook(page, address, name)
    yield page
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.close()


def open_notebook(page: Any, address: str, name: str) -> None:
    """Open a notebook, and nothing that stood open before, and wait until its kernel is ready."""
    page.goto(address.format(secrets.token_hex(4), name))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(
        "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"
        " === 'idle'"
    )
    # The parts that are folded are looked at like the others.
    page.evaluate("() => jupyterapp.commands.execute('notebook:expand-all-headings')")


def run_all(page: Any) -> None:
    """Run every cell and wait for the last; the page's timeout is the test's own."""
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
    # Asked of the model, not of the prompts: a cell whose source is hidden shows none.
    page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.content.widgets.every("
        "(cell) => cell.model.type !== 'code' || cell.model.executionCount)",
        timeout=300_000,
    )


def set_theme(page: Any, dark: bool) -> None:
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    page.evaluate(
        "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
    )
    page.wait_for_selector(f'[data-jp-theme-light="{str(not dark).lower()}"]', state="attached")
    settle(page)  # the colours change in a transition


def errors(page: Any) -> list[str]:
    """The text of every traceback in the notebook."""
    found: list[str] = page.evaluate(
        "() => [...document.querySelectorAll("
        '\'.jp-RenderedText[data-mime-type="application/vnd.jupyter.stderr"],'
        " .jp-OutputArea-output[data-mime-type*=error]')].map((el) => el.textContent)"
    )
    return found
