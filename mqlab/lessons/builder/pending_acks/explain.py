"""What a run shows of pending acks, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from ....kernel import Run, Text, Words, World
from ....pulsar.claims.promises import list_topics
from ....pulsar.pending_ack.records import ACK
from ..explain import BROKEN
from .hosting import BuiltSubscription, BuiltTopic
from .sittings import Held, PendingAckSystem, list_held

BREAKS = Words("the code of the pending acks breaks: {broken}", "待定确认的代码出错：{broken}")
NOTHING_DONE = Text("no run commits anything", "没有一次执行提交过什么")
UNLIKE = Words(
    "The subscription holds {held}, and a load would find {loaded}: each record of the log is "
    "taken as it was the first time, refusals, too",
    "订阅占着 {held}，重新加载却会得到 {loaded}：日志的每条记录都要照第一次那样处理，拒绝也一样",
)
ENDED = Words(
    "{has} has ended, and still holds message {at}: an end, either one, lets go of all that the "
    "transaction had",
    "{has} 已经结束，却还占着消息 {at}：不管提交还是中止，结束都要放开事务占有的一切",
)
ACKED = Words(
    "Message {at} is acknowledged for good, and {has} holds it: what the cursor has is held by "
    "nobody, and nobody may acknowledge it again",
    "消息 {at} 已最终确认，{has} 却占着它：游标已有的，谁也不占，也不许再确认",
)
FREE = Words(
    "{should} has acknowledged message {at}, which was free, and does not hold it: it is held "
    "until this transaction ends, whatever others do",
    "{should} 确认了没有人占的消息 {at}，却没有占住它：不管别人做什么，都要占到这个事务结束",
)
PARTLY = Words(
    "{has} holds message {at} of a request that was to be refused: a request is granted whole or "
    "not at all",
    "{has} 占着消息 {at}，而那个请求本该拒绝：一个请求要么全部准许，要么全不准许",
)
TAKEN = Words(
    "{should} has message {at}, and {has} has taken it over: until a transaction ends, nobody else "
    "may acknowledge what it has",
    "消息 {at} 属于 {should}，{has} 却把它占了过去：事务结束之前，别人不许确认它占着的",
)
HELD = Words("message {at} for {txn}", "{txn} 的消息 {at}")
NONE_HELD = Text("nothing", "空")
TO_THE_END = Text("Play the run to its end", "请把执行播放到底")


def explain(system: PendingAckSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this run."""
    world = play(system, schedule)
    if broken := find_broken(system, world):
        return BREAKS(broken=broken)
    sentence = next(one.sentence for one in system.properties() if one.name == claim)
    why = REASONS.get(claim) or _explain_held(system, world, claim)
    return BROKEN(sentence=sentence, why=why)


def explain_missing(system: PendingAckSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why no transaction ever commits, by a run after which nothing more can happen."""
    broken = find_broken(system, play(system, schedule))
    return BREAKS(broken=broken) if broken else NOTHING_DONE


def play(system: PendingAckSystem, schedule: tuple[str, ...]) -> World:
    run = Run(system)
    for choice in schedule:
        run.do(choice)
    return run.world


def find_broken(system: PendingAckSystem, world: World) -> str:
    """What has broken: in a step, or in a load that was tried only."""
    for topic in list_topics(system.cluster, world):
        if isinstance(topic, BuiltTopic) and topic.broken:
            return topic.broken
        for sub in topic.subs.values():
            fresh = topic.begin_subscription(sub.name)
            assert isinstance(fresh, BuiltSubscription)
            pending, _ = fresh.replay_log(sub.cursor, world.disk(topic.name), topic.lac)
            if broken := getattr(pending, "broken", ""):
                return str(broken)
    return ""


def _explain_held(system: PendingAckSystem, world: World, claim: str) -> Text:
    for sub, held, granted in list_held(system, world):
        if claim == "granted":
            records = world.disk(sub.partition).log(sub.log).read(0)
            ended = {str(one.txn) for one in records if one.op != ACK}
            acked = {at for at in held if sub.cursor.is_deleted(at)}
            return _explain_difference(held, granted, acked, ended)
        if claim == "pending kept":
            topic = world.role(sub.partition)
            fresh = topic.begin_subscription(sub.name)
            pending, _ = fresh.replay_log(sub.cursor, world.disk(topic.name), topic.lac)
            return UNLIKE(held=_name(held), loaded=_name(getattr(pending, "held", held)))
    return TO_THE_END


def _explain_difference(held: Held, granted: Held, acked: set[int], ended: set[str]) -> Text:
    at = min(at for at in {*held, *granted} if held.get(at) != granted.get(at))
    has, should = held.get(at), granted.get(at)
    if has in ended:
        sentence = ENDED
    elif at in acked:
        sentence = ACKED
    elif has is None:
        sentence = FREE
    else:
        sentence = PARTLY if should is None else TAKEN
    return sentence(at=at, has=has, should=should)


def _name(held: Held) -> Text:
    each = [HELD(at=at, txn=txn) for at, txn in held.items()]
    if not each:
        return NONE_HELD
    return Text(", ".join(one.en for one in each), "、".join(one.zh for one in each))


REASONS = {
    "committed acks kept": Text(
        "A transaction has committed, and the cursor does not have what it had acknowledged: "
        "`commit` gives these messages, and `load` gives those of each commit in the log",
        "事务已经提交，游标里却没有它确认过的消息：`commit` 给出这些消息，`load` 给出日志里每次提交的消息",
    ),
    "nothing passed over": Text(
        "A message is held by nobody, acknowledged by nobody, and will not be delivered: `abort` "
        "gives the messages that the transaction had, and they are delivered again",
        "有一条消息谁也不占，谁也没有确认，却不会再投递：`abort` 给出事务占有的消息，它们会重新投递",
    ),
    "acked is let go": Text(
        "A consumer is sent a message that is acknowledged: `abort` gives the messages of its own "
        "transaction, and no others",
        "已确认的消息又发给了消费者：`abort` 只给出自己事务的消息，不给别的",
    ),
}
