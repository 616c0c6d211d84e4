"""What a run shows of a check round, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from ....kernel import Run, Text, Words, World
from ....rocketmq.broker.checking import read_progress
from ....rocketmq.claims.promises import is_lost
from ....rocketmq.claims.records import list_records
from ....rocketmq.config import HALF_TOPIC
from ....rocketmq.picture.view import read_world
from ..explain import BROKEN
from .sittings import CheckRoundSystem

BREAKS = Words("the check round breaks: {broken}", "回查这一轮的代码出错：{broken}")
LEFT = Words(
    "The half of {txn} at {at} has no end, and the half offset is {offset}: {why}",
    "{txn} 在 {at} 处的半消息没有结束，半消息的进度是 {offset}：{why}",
)
SPENT = Words(
    "A half was put back with {spent} checks, and {most} are allowed: it is parked then, and "
    "nobody asks any more",
    "一条半消息放回去时已回查 {spent} 次，而只允许 {most} 次：它随即转存，再没有人询问",
)
TO_PARK = Words(
    "it was asked about {times} times and is dropped, where it is to be parked",
    "它已回查 {times} 次，却被丢掉，本该转存",
)
TO_THE_END = Text("Play the run to its end", "请把执行播放到底")


def explain(system: CheckRoundSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this run."""
    world = play(system, schedule)
    broken = getattr(world.role(system.config.broker), "broken", "")
    if broken:
        return BREAKS(broken=broken)
    sentence = next(one.sentence for one in system.properties() if one.name == claim)
    return BROKEN(sentence=sentence, why=_explain(system, world, claim))


def explain_missing(system: CheckRoundSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why nothing is ever committed, by a run after which nothing more can happen."""
    world = play(system, schedule)
    broken = getattr(world.role(system.config.broker), "broken", "")
    if broken:
        return BREAKS(broken=broken)
    return Text(
        "no run commits anything: the local transaction said UNKNOW, and nobody asks its producer "
        "again. `PutBack` only writes a copy; `Ask` is the question",
        "没有一次执行提交过什么：本地事务答了 UNKNOW，却没有人再问它的生产者。`PutBack` 只写一份副本；"
        "`Ask` 才是询问",
    )


def play(system: CheckRoundSystem, schedule: tuple[str, ...]) -> World:
    run = Run(system)
    for choice in schedule:
        run.do(choice)
    return run.world


def _explain(system: CheckRoundSystem, world: World, claim: str) -> Text:
    seen = read_world(system.cluster, world)
    half_at, op_at = read_progress(seen.offsets)
    lost = [txn for txn in seen.book.txns.values() if is_lost(seen, txn)]
    if claim in ("no half lost", "row with message") and lost:
        txn = lost[0]
        why = _explain_lost(system, txn.times)
        return LEFT(txn=txn.name, at=max(txn.halves), offset=half_at, why=why)
    if claim == "ends":
        spent = max(
            one.message.check_times
            for one in list_records(system.cluster, world)
            if one.message.topic == HALF_TOPIC
        )
        return SPENT(spent=spent, most=system.check_max)
    if claim not in REASONS:
        return TO_THE_END
    return REASONS[claim](half=half_at, op=op_at, most=system.check_max)


def _explain_lost(system: CheckRoundSystem, times: int) -> Text:
    if times >= system.check_max:
        return TO_PARK(times=times)
    if system.timeout_ms:
        return Text(
            "it is young, and a round ends at the first young one and stays before it",
            "它还太新，而一轮遇到第一条太新的就结束，停在它前面",
        )
    return Text(
        "a question leaves nothing to find; before a round passes over it, it puts it back",
        "询问本身不会留下可查的东西；一轮在越过它之前，要先把它放回去",
    )


REASONS = {
    "ended for good": Words(
        "A half is put back although an op record before it says that it has ended: read all op "
        "records of the round before you ask",
        "一条半消息被放回去，而前面已有 op 记录说明它结束了：询问之前先读完这一轮的所有 op 记录",
    ),
    "names the copy": Words(
        "The question names a half that is passed over, and its answer would end that one: put "
        "the half back first, then ask, so that the question names the copy",
        "询问指的是已经越过的那条半消息，应答结束的也会是它：先把半消息放回去，再询问，这样指的就是副本",
    ),
    "young": Words(
        "A half is asked about while its producer is still at work: at the first young one the "
        "round ends, and its offset stays there",
        "生产者还在工作，半消息就受到回查：遇到第一条太新的，这一轮就结束，进度停在那里",
    ),
    "needed": Words(
        "The op offset is {op}, the half offset {half}: an op record before that names a half "
        "that is still to come, and the next round will not know that it has ended",
        "op 的进度是 {op}，半消息的进度是 {half}：前面有一条 op 记录指向后面才轮到的半消息，下一轮不会知道它已结束",
    ),
    "parked when spent": Words(
        "A half is parked before it was asked about {most} times: `times` says how often it was",
        "一条半消息还没回查满 {most} 次就转存了：`times` 是已回查的次数",
    ),
}
