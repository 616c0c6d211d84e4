"""A run's folder: what the run is called, whose orders it counts, and who is working in it.

    run.json    the run's name, its sink, a digest of its orders, and the times that the broker
                took when it began; written once, whole or not at all
    lock        held by the process that works here; the system frees it when that process dies
    income/     Spark's checkpoint

Two processes in one folder would both feed the topic, and neither could know it: each line would
be there twice. So a second one is refused. The lock is the operating system's (`flock`), not a
file that exists: kill -9 leaves nothing to tidy up.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from ..kernel.text import say_cause, tr
from .errors import IncomeError
from .topics import ANY, Span


@contextmanager
def open_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint's folder while the `with` block runs; the folder is made unless
    it is there.

    Raises IncomeError that names the process which holds it, or why nothing can be written.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise IncomeError(
                "{} is a file: give --checkpoint a new folder, or one that the job used before",
                folder,
            )
        folder.mkdir(parents=True, exist_ok=True)
        # "a+": what its holder has written into it is there to be read
        file = (folder / "lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise IncomeError(
                "{} is using this checkpoint: wait until it ends, or give another --checkpoint",
                file.read().strip() or tr("another process"),
            ) from None
        _sign(file.fileno(), folder)  # the next one reports who holds it
        yield


def _sign(lock: int, folder: Path) -> None:
    """Who holds the lock, for those who are refused."""
    now = datetime.now().strftime("%H:%M:%S")
    text = f"process {os.getpid()} on {socket.gethostname()} (since {now})\n"
    try:
        os.ftruncate(lock, 0)
        os.write(lock, text.encode())
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(folder: Path, error: OSError) -> IncomeError:
    """A full disk, a missing right: what to do."""
    return IncomeError(
        "cannot write the checkpoint {} ({}): free some space, or give another --checkpoint",
        folder,
        say_cause(error),
    )


def read_span(folder: Path) -> Span | None:
    """The times that count in the run of this folder; None in a new folder. An order an hour ahead
    of its time stays a dead letter when the run goes on an hour later."""
    note = folder / "run.json"
    if not note.exists():
        return None
    span = _read_note(note).get("span")
    try:
        return Span(*map(int, span)) if span else None
    except (TypeError, ValueError) as error:
        raise _damaged(note, error) from error


def name_of(folder: Path, digest: str, sink: str, wanted: str = "", span: Span = ANY) -> str:
    """The name of the job whose checkpoint is in this folder. A new folder's job is called
    `wanted`, or at random if that is "", which `run.json` keeps with the other arguments.

    `digest`: of the orders; `span`: the times that the broker takes. Raises IncomeError if the
    folder is of a job over other orders or with another sink, or its note is damaged. A sink that
    keeps no progress record would write batches again that another one has committed, and no error
    would show it.
    """
    file = folder / "run.json"
    if not file.exists():
        name = wanted or uuid.uuid4().hex[:8]
        return _new(file, {"run": name, "orders": digest, "sink": sink, "span": span})
    try:
        noted = _read_note(file)
        run, noted_digest, noted_sink = str(noted["run"]), noted["orders"], noted["sink"]
    except (KeyError, TypeError) as error:
        raise _damaged(file, error) from error
    if noted_digest != digest:
        raise IncomeError(
            "this checkpoint belongs to a job with other orders: give those, or a fresh "
            "--checkpoint"
        )
    if noted_sink != sink:
        raise IncomeError(
            "this checkpoint belongs to a job with --sink {}: continue with that sink, "
            "or give a fresh --checkpoint for {}",
            noted_sink,
            sink,
        )
    return run


def _read_note(note: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(note.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise _damaged(note, error) from error


def _damaged(note: Path, error: Exception) -> IncomeError:
    return IncomeError(
        "{} is damaged ({}), so the job cannot continue: start with a fresh --checkpoint",
        note,
        error,
    )


def _new(note: Path, noted: dict[str, Any]) -> str:
    draft = note.with_suffix(".new")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(noted, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(note)
    except OSError as error:
        raise unwritable(note.parent, error) from error
    return str(noted["run"])
