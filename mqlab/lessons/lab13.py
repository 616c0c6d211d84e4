"""What lab 13 shows: the file to read first, a learner's own, and its check."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..kernel import LANGUAGES, Text, Words
from ..places import LABS
from ..serve.kafka import serve as serve
from .builder import api
from .builder.byhand import begin
from .builder.check_round import api as round_api
from .builder.checking import IT_DIES as IT_DIES
from .builder.checking import IT_WORKS as IT_WORKS
from .builder.checking import NOBODY_COMES_BACK as NOBODY_COMES_BACK
from .builder.checking import NOT_ALONE as NOT_ALONE
from .builder.checking import check_source
from .builder.clients import ask_clients
from .builder.host import BuildError, FileHost
from .builder.lights import LIGHTS as LIGHTS
from .builder.pending_acks import api as acks_api
from .builder.right import read_right as read_right_of
from .verdict import Verdict

if TYPE_CHECKING:
    from mqlab_widgets import Playground

COORDINATOR = "coordinator.py"
#: the process of each file that is played, by its name: a cell that is run again ends the old one
_played: dict[str, FileHost] = {}


def _read_page(page: ModuleType) -> Text:
    """What a file is written with: what its module says of itself, and `api.zh.txt` beside it."""
    chinese = Path(str(page.__file__)).with_name("api.zh.txt")
    return Text(str(page.__doc__), chinese.read_text("utf-8"))


FIELDS = Words("what each holds, and the value that a field has where you give none:")


def _list_fields() -> str:
    """The classes that come in and go out, each as one calls it."""
    shown = [
        f"{kind.__name__}({', '.join(f'{field}' for field in map(_show_field, fields(kind)))})"
        for kind in api.SHOWN
    ]
    return "\n".join(f"    {line}" for line in shown)


def _show_field(field: Any) -> str:
    if field.default is MISSING:
        return str(field.name)
    default = field.default
    return f"{field.name}={default.name if isinstance(default, Enum) else repr(default)}"


PAGE, ROUND_PAGE, ACKS_PAGE = map(_read_page, (api, round_api, acks_api))
EN, ZH = (f"{PAGE.of(one)}\n{FIELDS().of(one)}\n\n{_list_fields()}" for one in LANGUAGES)
PAGE = Text(EN, ZH)


def read_begin(file: str = COORDINATOR) -> str:
    """The file that every learner begins with, by its usual name."""
    return (LABS / Path(file).stem / "begin.py").read_text("utf-8")


def read_mine(file: str = COORDINATOR) -> str:
    """The file beside the notebook; the one to begin with where there is none yet."""
    path = Path(file)
    return path.read_text("utf-8") if path.is_file() else read_begin(file)


def read_right(sitting: int) -> str:
    """A right coordinator of a sitting, from a clone. FileNotFoundError where there is none."""
    return read_right_of(LABS / "coordinator", sitting)


SEEN = Words("{searched}; {seen}")


def check_mine(sitting: int = 1, file: str = COORDINATOR, clients: bool = True) -> Verdict:
    """Search every run of the file beside the notebook, in the trials up to this sitting's. From
    sitting 3 on, a coordinator that no trial breaks is used by released `clients` too."""
    try:
        card = check_source(read_mine(file), sitting)
    except BuildError as error:
        return Verdict(False, error.args[0])
    if not card.ok or not clients:
        return card
    seen = ask_clients(Path(file), sitting)
    if not seen.message.en:
        return card
    message = SEEN(searched=card.message, seen=seen.message) if seen.ok else seen.message
    return replace(card, ok=seen.ok, message=message)


def play_mine(sitting: int = 1, file: str = COORDINATOR, system: str = "") -> Playground | Verdict:
    """The file beside the notebook by hand: a playground of its part in the system that the line
    describes, in that of the sitting's first trial where none does. ValueError for what is no
    system line."""
    from mqlab_widgets import Playground

    try:
        play, host = begin(read_mine(file), system, sitting)
    except BuildError as error:
        return Verdict(False, error.args[0])
    if file in _played:
        _played[file].close()
    _played[file] = host
    return Playground(play)
