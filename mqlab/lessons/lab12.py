"""What lab 12 shows: one order four ways, kills, prices, anomalies, the exercise's runs."""

from __future__ import annotations

import re
from typing import Any

from IPython.display import Markdown
from mqlab_widgets import Compare, Player

from ..kernel import Trace, tr
from ..registry.cases.anomalies import MATRIX
from ..registry.cases.prices import ORDER
from ..registry.matrix import tabulate
from ..registry.prices import tabulate_prices
from ..registry.tables import columns
from ..registry.ways import MOMENTS as MOMENTS
from ..registry.ways import STAGES, find_stage, tabulate_kills
from .beside import put_beside
from .choice import CHOICE as CHOICE
from .choice import RUNS as RUNS
from .decision import advise, ask_questions, lead_to_command
from .steps import first as first

#: what a counterexample's title begins with
SAFEGUARD = re.compile("^(Without .+?|With everything on): |^(没有 .+?|保护措施全开)：")
HEADS = tr("example"), tr("what happens")


def list_menus() -> dict[str, list[tuple[str, str]]]:
    """The six questions, each with its answers in words."""
    return {
        str(one.says): [(str(words), name) for name, words in one.options.items()]
        for one in ask_questions().values()
    }


def advise_me(**answers: str) -> Any:
    """What follows from answers to the six questions, in their order."""
    given = dict(zip(ask_questions(), answers.values(), strict=True))
    show: Any = Markdown  # IPython does not say its type
    return show(advise(given, lead_to_command))


def kill_ways(moment: str = "", role: str = "coordinator") -> Compare:
    """The four ways on one clock, open at their end; with a moment of `MOMENTS`, each with a kill
    there. `role`: the one that dies, "sender" or "coordinator". ValueError for a moment that there
    is not."""
    if not moment:
        return put_beside(*(way.text for way in ORDER.values()), at=len(STAGES) + 1, level="story")
    killed = (way.kill_at(moment, role) for way in ORDER.values())
    return put_beside(*killed, at=find_stage(moment) + 1, level="story")


def compare_stages(role: str) -> str:
    """Moment × way: orders at stock while the node is dead → in the end, what was reported to the
    caller."""
    return columns(tabulate_kills(ORDER, role))


def compare_prices() -> str:
    """Way × moment: messages / writes / flushes of one order so far."""
    return columns(tabulate_prices(ORDER))


def compare_anomalies(*ways: str) -> str:
    """Anomaly × way, as `mqlab matrix` prints it, of one or two ways: a notebook wraps more."""
    return tabulate(MATRIX, ways)


def list_runs() -> str:
    """The examples that an answer may name, and what happens in each; its picture names a
    safeguard."""
    titles = {name: SAFEGUARD.sub("", str(one.title())) for name, one in RUNS.items()}
    rows = [(name, title[0].upper() + title[1:]) for name, title in titles.items()]
    return columns([(str(HEADS[0]), str(HEADS[1])), *rows])


def play_run(example: str) -> Player:
    """One of them."""
    trace = RUNS[example].play().trace
    return Player(trace, step=len(trace))


def die_after_deciding(way: str) -> Trace:
    """The execution of a way in which the node carrying out the decision dies right after it."""
    return ORDER[way].play_kill(STAGES.index("decide") + 1, "coordinator")
