"""What lab 14 shows: a run that may be true, one program at two brokers, two releases, a loss."""

from __future__ import annotations

from textwrap import fill

from mqlab_widgets import Compare, Player

from ..kernel import Trace, spoken, tr
from ..places import LABS, SCENARIOS
from ..real.kafka.differences import IGNORED
from ..registry import scenario
from ..registry.tables import columns
from ..serve.kafka import serve
from .beside import put_beside
from .excuses import EXCUSES
from .laid import ask_both, read_laid
from .lost import LOST, RUN, list_moments
from .steps import first

__all__ = [
    "EXCUSES",
    "LOST",
    "ask_both",
    "compare_kills",
    "first",
    "kill_newer",
    "list_ignored",
    "list_told",
    "play_file",
    "play_lost",
    "read_laid",
    "read_report",
    "serve",
]
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
#: `IGNORED` in Chinese, by what it is about
IN_CHINESE = {
    "producer ids": "生产者 ID：按程序遇到的先后改为 P、Q、R……：broker 每次分出一段，共 1,000 个，"
    "重启之后另起一段",
    "timestamps": "时间戳：略去，除非是程序自己设定的",
    "names": "名字：主题、组、事务 ID 和成员的名字都是程序自己取的；实际发送时，每次执行都加上前缀，"
    "使各个程序互不干扰",
    "the number of CONCURRENT_TRANSACTIONS": "CONCURRENT_TRANSACTIONS 的次数：同一个问题会一直问到"
    "应答变为别的，只记下最后那个；如果要看的就是第一个应答，程序会记下它",
    "PrepareAbort or CompleteAbort": "PrepareAbort 或 CompleteAbort：紧跟在隔离时的第一个 "
    "InitProducerId 之后，两者都对，控制消息可能比问题更快；程序会等到第二个",
    "the order of partitions": "分区的顺序：broker 返回的列表都先排序",
    "the time until a timeout abort": "距超时中止的时间：不记录，定期检查什么时候来就什么时候来",
    "error messages in words": "错误的文字说明：只记下错误的名字",
}


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
    for one in list_moments():
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
    if spoken() == "zh":
        return "\n".join(IN_CHINESE[what] for what, _ in IGNORED)
    return "\n".join(fill(f"{what}: {why}", 88, subsequent_indent="    ") for what, why in IGNORED)


def read_report() -> str:
    """The page for upstream."""
    return REPORT.read_text("utf-8")
