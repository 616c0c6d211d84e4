"""JupyterLab on this machine only, quiet, with one line that says where it is."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from ..kernel.text import Text, tr
from ..places import ROOT
from .errors import UserError
from .language import tell

HOST = "127.0.0.1"
TRIES = 50  # ports after the one asked for
LABS_AT, FORMGRADER_AT = tr("The labs are at"), tr("The formgrader is at")
LAB, FORMGRADER = "jupyterlab", "mqlab.lessons.course.formgrader"


def free_port(first: int) -> int:
    """The first port from `first` on that this process can listen on; UserError where none of TRIES
    ports is."""
    for port in range(first, first + TRIES):
        with socket.socket() as probe:
            if os.name != "nt":  # a port just left is free; there the flag means another thing
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise UserError(
        "ports {}–{} are all in use: name another, mqlab labs open --port N",
        first,
        first + TRIES - 1,
    )


def open_lab(folder: Path, port: int, browser: bool) -> NoReturn:
    """JupyterLab in `folder`, at its first notebook."""
    _become_server(LAB, folder, port, browser, f"/lab{_first_page(folder)}", LABS_AT)


def open_formgrader(course: Path, port: int, browser: bool) -> NoReturn:
    """nbgrader's formgrader in a course's folder, without JupyterLab around it."""
    os.chdir(course)  # nbgrader reads its settings from the current folder
    page = "/formgrader/manage_assignments"
    _become_server(FORMGRADER, course, port, browser, page, FORMGRADER_AT)


def _become_server(
    module: str, folder: Path, port: int, browser: bool, page: str, what: Text
) -> NoReturn:
    """Print the address of a Jupyter server in `folder`, and become that server (exec): Ctrl-C or a
    signal then ends one process and leaves none running. `module` is what `python -m` starts,
    `port` the first one to try, `browser` whether to open one, `page` the path of its first page,
    `what` the words before the address."""
    chosen = free_port(port)
    if chosen != port:
        tell("port {} is in use; using {}", port, chosen)
    token = secrets.token_urlsafe(24)
    tell("\n{}  http://{}:{}{}?token={}", what, HOST, chosen, page, token)
    tell("ready in a few seconds; Ctrl-C ends it", flush=True)
    options = {
        "ServerApp.root_dir": folder,
        "ServerApp.ip": HOST,
        "ServerApp.port": chosen,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": browser and has_screen(),
        "ServerApp.answer_yes": True,  # Ctrl-C ends it; the notebooks are saved as one goes
        "ServerApp.allow_root": True,  # in a container one is root
        ("LabApp" if module == LAB else "ServerApp") + ".default_url": page,
        "Application.log_level": "ERROR",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", module, *flags]
    if os.name == "nt":  # there the new process would not have this one's place
        raise SystemExit(subprocess.call(command, env=_environment(token)))
    os.execve(sys.executable, command, _environment(token))


def _environment(token: str) -> dict[str, str]:
    """The token goes this way, because everyone may read a command line."""
    return {
        **os.environ,
        "JUPYTER_TOKEN": token,
        # What `make setup` puts into .venv/etc: no news, no nbgrader but where it is asked for.
        "JUPYTER_CONFIG_PATH": os.pathsep.join(
            filter(None, [str(ROOT / ".ci/etc/jupyter"), os.environ.get("JUPYTER_CONFIG_PATH")])
        ),
        # nbgrader calls `alembic` by its bare name; it is beside this Python.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        # The debugger says at each kernel's start that the standard library is frozen.
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def _first_page(folder: Path) -> str:
    first = next(iter(sorted(folder.glob("[0-9][0-9]-*.ipynb"))), None)
    return f"/tree/{first.name}" if first else ""


def has_screen() -> bool:
    """Without one Python would open a browser for the terminal in the middle of the log."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
