"""What lab 13 shows: the role to read first, a learner's own file, and its check."""

from __future__ import annotations

from pathlib import Path

from ..kernel import Text
from ..places import LABS
from ..serve.kafka import serve
from .builder.api import __doc__ as PAGE
from .builder.checking import IT_WORKS, NOBODY_COMES_BACK, check_source
from .builder.host import BuildError
from .builder.lights import LIGHTS
from .verdict import Verdict

__all__ = [
    "IT_WORKS",
    "LIGHTS",
    "NOBODY_COMES_BACK",
    "PAGE",
    "check_mine",
    "read_begin",
    "read_mine",
    "read_right",
    "serve",
]
FOLDER = LABS / "coordinator"


def read_begin() -> str:
    """The file that everybody begins with."""
    return (FOLDER / "begin.py").read_text("utf-8")


def read_mine(file: str = "coordinator.py") -> str:
    """The file beside the notebook; the one to begin with where there is none yet."""
    path = Path(file)
    return path.read_text("utf-8") if path.is_file() else read_begin()


def read_right(sitting: int) -> str:
    """A right coordinator of a sitting, from a clone. FileNotFoundError where there is none."""
    return (FOLDER / f"sitting-{sitting}.py").read_text("utf-8")


def check_mine(sitting: int = 1, file: str = "coordinator.py") -> Verdict:
    """Search every run of the file beside the notebook, in the trials up to this sitting's."""
    try:
        return check_source(read_mine(file), sitting)
    except BuildError as error:
        return Verdict(False, Text(str(error)))
