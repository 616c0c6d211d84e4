"""What lab 14 shows: a run that may be true, one program at two brokers, two releases, a loss."""

from __future__ import annotations

from textwrap import fill

from mqlab_widgets import Compare, Player

from ..kernel import Trace, spoken, tr, translate
from ..places import LABS, SCENARIOS
from ..real.kafka.differences import IGNORED
from ..registry import scenario
from ..registry.tables import columns
from ..serve.kafka import serve as serve
from .beside import put_beside
from .excuses import EXCUSES as EXCUSES
from .laid import ask_both as ask_both
from .laid import read_laid as read_laid
from .lost import LOST as LOST
from .lost import RUN, list_recorded
from .steps import first as first

REPORT = LABS / "reports" / "kafka-lost-marker" / "REPORT.md"
KILLED = """\
# {title.en}
system rocketmq {release} check_interval_ms=7000
run app: send-in-transaction orders-0 o1
---

kill broker
restart broker
fire app heartbeat
---

at 7000
fire broker check
"""
OLDER = KILLED.format(title=tr("4.9 writes an op record at once"), release="release=4.9")
NEWER = KILLED.format(title=tr("5.5 keeps op records in memory"), release="release=5.5")
RECORDING = tr("recording")


def play_file(story: str, recorded: str = "") -> Player:
    """The run of a file in datasets/scenarios, open at its end. `recorded`: the name of the
    recording of a real broker that tells the same."""
    text = (SCENARIOS / f"{story}.scn").read_text("utf-8")
    trace = scenario(text, recorded=recorded)
    return Player(trace, step=len(trace))


def play_lost() -> Player:
    """The engine's run of a commit that is acknowledged and lost."""
    return play_file(RUN, recorded="leaderless-marker")


def kill_newer() -> Trace:
    """RocketMQ 5.5: killed right behind a commit, started again, and a check."""
    return scenario(NEWER.replace("---\n", ""), recorded="op-lost-by-a-kill")


def compare_kills() -> Compare:
    """The same kill of two releases, open at its end."""
    return put_beside(OLDER, NEWER, at=3)


def list_told() -> str:
    """What the rule is told: a moment of each kind in which readers wait or a commit is complete,
    the loss first."""
    kinds: dict[tuple[object, ...], tuple[str, ...]] = {}
    for one in list_recorded():
        commit, state, hw, lso, open_since = one.given
        kind = commit == "ok", state, lso < hw, open_since >= 0
        if lso == hw and state != "CompleteCommit":
            continue
        kinds.setdefault(kind, (one.name.rpartition("/")[2], *map(str, one.given)))
    return columns(
        [(str(RECORDING), "commit", "state", "hw", "lso", "open_since"), *kinds.values()]
    )


def list_ignored() -> str:
    """In what two answers may differ without being different, and why."""
    told = [f"{what}: {why}" for what, why in IGNORED]
    if spoken() == "zh":
        return "\n".join(translate(one, "page") or one for one in told)
    return "\n".join(fill(one, 88, subsequent_indent="    ") for one in told)


def read_report() -> str:
    """The page for upstream."""
    return REPORT.read_text("utf-8")
