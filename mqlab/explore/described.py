"""The list of a folder's levels (`shelf.py`): which search it is, and what is in which file."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ..kernel.play import digest
from ..kernel.system import System
from ..kernel.text import BadValue
from .budget import Budget

LIST = "levels.json"


class Damaged(BadValue):
    """A folder that no search can go on from; the message says what to do."""


def describe(system: System, budget: Budget) -> dict[str, Any]:
    """What must be the same where a search goes on."""
    claims = [f"{prop.kind} {prop.name}" for prop in system.properties()]
    bounds = {name: getattr(budget, name) for name in budget.__dataclass_fields__}
    bounds.pop("states")  # more of them may be looked at
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(
            {"system": system.line(), "bounds": bounds, "claims": claims, "made": made(system)}
        )
    )


def made(system: System) -> str:
    """A digest of all that decides which numbers things get: the engine and this package."""
    here = Path(__file__).parent
    own = "\n".join(path.read_text("utf-8") for path in sorted(here.glob("*.py")))
    return digest(system) + hashlib.sha256(own.encode()).hexdigest()[:12]


def read_search(folder: Path) -> tuple[str, Budget]:
    """The system line and the bounds of the search in a folder. Damaged where it holds none."""
    head, _ = read_list(folder)
    bounds: dict[str, Any] = head["bounds"]
    bounds |= {k: tuple(v) for k, v in bounds.items() if isinstance(v, list)}
    return head["system"], Budget(**bounds)


def read_list(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Which search a folder holds, and its levels. Damaged where it holds none."""
    try:
        text = (folder / LIST).read_text("utf-8")
        body, _, sha256 = text.rpartition("\n")
        if hashlib.sha256(body.encode()).hexdigest() != sha256:
            raise BadValue("its digest does not match")
        listed = json.loads(body)
        return listed["search"], listed["levels"]
    except FileNotFoundError:
        raise Damaged("{} holds no search: {} is missing", folder, LIST) from None
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(
            "{} is damaged ({}): begin the search again in an empty folder", folder / LIST, error
        ) from error


def write_list(folder: Path, head: dict[str, Any], levels: list[dict[str, Any]]) -> None:
    """Replaces the list as a whole."""
    body = json.dumps({"search": head, "levels": levels}, indent=1)
    new = folder / f"{LIST}.new"
    with new.open("w", encoding="utf-8") as file:
        file.write(f"{body}\n{hashlib.sha256(body.encode()).hexdigest()}")
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / LIST)
