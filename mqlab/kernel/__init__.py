"""Layer 0: the kernel. Systems of pure roles, and the drivers that move them.

A role is a frozen dataclass: an event and a read-only disk go in, a new role and an
*ordered* list of effects come out. Nothing else moves the world, so one and the same role
is replayed from a list, played by a learner, searched exhaustively and put on a real socket, and no
role can detect which.

Read on in this order: `role.py` (events and effects), `disk.py`, `world.py` (one step of
one node, the network), `moves.py` (one choice), `run.py` (facts), `play.py`; `system.py` and
`options.py` say what a broker brings along, `Outcome` in `role.py` is what is reported to an
application.
"""

from .catalogue import translate
from .choice import Choice, parse
from .disk import MemoryDisk, Single
from .maps import Map, frozen, replace
from .offers import Gap, Option
from .play import Play
from .role import (
    FAILED,
    OK,
    UNKNOWN,
    Append,
    Appended,
    AppendFailed,
    AppState,
    Asking,
    Call,
    Caller,
    CancelTimer,
    Config,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Fired,
    Flush,
    Outcome,
    Program,
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    Truncate,
    build_failure,
    build_success,
)
from .run import Run, replay, run_choices
from .simulate import simulate
from .snapshot import (
    Cell,
    Frontier,
    Got,
    Graph,
    GraphState,
    Lane,
    Light,
    Log,
    Money,
    Progress,
    Reader,
    Snapshot,
    Stretch,
    Table,
    Word,
)
from .stops import Named, name_plainly
from .story import Stage
from .system import Property, System, Telling
from .text import (
    LANGUAGES,
    NOTHING,
    Lang,
    Made,
    Text,
    Words,
    escape_unseen,
    phrase,
    phrase_word,
    pick,
    say,
    shorten,
    speak,
    speaking,
    spoken,
    tr,
)
from .trace import Fact, FactKind, Trace
from .worded import worded
from .world import NodeSpec, World

__all__ = [
    "FAILED", "NOTHING", "OK", "UNKNOWN", "AppState", "Append", "AppendFailed", "Appended",
    "Asking", "Call", "Caller", "CancelTimer", "Cell", "Choice", "Config", "ConnectionLost",
    "Disk", "Effect", "Effects", "Event", "Fact", "FactKind", "Fired", "Flush", "Frontier",
    "LANGUAGES", "Gap", "Got", "Graph", "GraphState", "Lane", "Lang", "Light", "Log", "Made", "Map",
    "MemoryDisk", "Money", "Named", "NodeSpec", "Option", "Outcome", "Play", "Program",
    "Progress", "Property", "Put", "Quiet", "Reader", "Reply", "Request", "Response",
    "Return", "Run", "Send", "SetTimer", "Single", "Snapshot", "Stage", "Stretch", "System",
    "Table", "Telling", "Text", "Trace", "Truncate", "Word", "Words", "World", "build_failure",
    "build_success", "escape_unseen", "frozen", "name_plainly", "parse", "phrase",
    "phrase_word", "pick", "replace", "replay", "run_choices",
    "say", "shorten", "simulate", "speak", "speaking", "spoken", "tr", "translate", "worded",
]  # fmt: skip
