"""The legend: what each sign of the picture means, one sentence each, in both languages.

A row is the sign's CSS class, as the views draw it, and its sentence. Views know no broker, so
neither does the legend: the flags of a run and its words come from the trace, which has them
from its system (`System.terms`).
"""

from __future__ import annotations

from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Fact, Trace

from .views.logs import flag_colours

SIGNS: dict[str, Text] = {
    "sent": Text("a message leaves; its head shows where it goes", "发出一条消息，箭头指向去处"),
    "reply": Text("dashed: an answer leaves", "虚线：发出一个应答"),
    "late": Text(
        "dash-dot, with a bar: a request drawn above arrives only now, after its connection broke",
        "点划线加竖杠：上面画过的请求在连接断开之后才到达",
    ),
    "lost": Text("a connection broke: nobody answers on it any more", "连接断开：上面不再有应答"),
    "block": Text(
        "filled block: written to the node's log; a power cut may take what is not flushed",
        "实心块：已写入该节点的日志；没有刷盘的，断电可能丢失",
    ),
    "change": Text("something changes in memory only", "只有内存中的变化"),
    "call": Text("a call of the application returns", "应用程序的一次调用返回"),
    "crash": Text("red disc: the node stops, its memory is gone", "红色圆盘：节点停止，内存丢失"),
    "dead": Text("red lane: the node is down", "红色泳道：节点已停止"),
    "ring": Text("open ring: it starts again from its disk", "空心圆环：从磁盘重新启动"),
    "clock": Text("a timer runs out", "定时器到时"),
    "span": Text(
        "bar on a lane: this transaction is open there, in the transaction's colour",
        "泳道上的长条：事务在这里未结束，颜色属于该事务",
    ),
    "fold": Text(
        "+3: three steps that teach nothing here are folded; a click shows them",
        "+3：折叠了三个在这里没有新内容的步骤；点击展开",
    ),
    "record": Text(
        "square: a record; paler and dashed, a copy of one that stands earlier in the log",
        "方块：一条记录；浅色虚线框：日志中前面某条记录的副本",
    ),
    "diamond": Text(
        "diamond: a control record; C ends a transaction by commit, A by abort, a number says "
        "where the half message lies that has ended",
        "菱形：控制记录；C 表示提交，A 表示中止，数字指明已结束的半消息的位置",
    ),
    "hatch": Text(
        "hatched: written, but readers of committed data may not see it yet",
        "斜线：已写入，但只读已提交数据的读者还看不到",
    ),
    "struck": Text(
        "struck through: aborted; it stays in the log and is never read committed",
        "划掉：已中止；它留在日志里，但不会作为已提交数据被读到",
    ),
}

#: of runs that have money
MONEY_SIGNS: dict[str, Text] = {
    "money": Text(
        "bar: the money that is; dashed, it is not settled yet; red, it is lost or counted twice",
        "长条：实际金额；虚线表示尚未结清；红色表示丢失或多计",
    ),
    "due": Text("mark across the bar: the money that should be", "长条上的竖线：应有的金额"),
}

#: of runs with logs that know how far each reader has come
READER_SIGNS: dict[str, Text] = {
    "passed": Text(
        "filled bar below a log: this reader is done with it; the small flag stands behind what "
        "it is done with without a gap",
        "日志下方的实心条：这个读者已处理完；小旗立在连续处理完的部分之后",
    ),
    "taken": Text(
        "outlined, with a name: that transaction has taken it for the reader until it ends",
        "带名字的框：该事务替读者占用它，直到事务结束",
    ),
    "refused": Text(
        "red cross: another transaction asked for it too and was refused",
        "红叉：另一个事务也想要它，被拒绝",
    ),
}

#: what a step rests on, by the kind of its evidence: told by shape and words, colour repeats it
SHAPES = {"recorded": "●", "model": "○", "contradicts": "≠"}
EVIDENCE: dict[str, Text] = {
    "recorded": Text(
        "recorded: a real broker was asked the same and gave this answer",
        "有录制：真实的 broker 被问过同样的问题，给出同样的应答",
    ),
    "model": Text(
        "model: a step of this program; no recording of a real broker shows it",
        "模型：本程序的一步；真实 broker 的录制中没有它",
    ),
    "contradicts": Text(
        "otherwise than many articles say: the sentence below the step tells what they say",
        "与许多文章的说法不同：这一步下面的句子说明文章怎么说",
    ),
}


def find_kind(fact: Fact) -> str:
    """The kind of a fact's evidence: its first word."""
    first = fact.evidence.en.partition(" ")[0]
    return first if first in SHAPES else "model"


def list_signs(trace: Trace, lang: Lang) -> list[list[str]]:
    """[[class of a sign, its sentence], …], the flags of this run's logs behind the cells; the
    last rows are the kinds of evidence that its steps have."""
    colon = "：" if lang == "zh" else ": "
    means = {name.en: text for name, text in trace.terms}
    signs = SIGNS | (MONEY_SIGNS if any(s.money is not None for s in trace.snapshots) else {})
    if any(log.progress for s in trace.snapshots for log in s.logs):
        signs |= READER_SIGNS
    rows = [[sign, text.of(lang)] for sign, text in signs.items()]
    for name, colour in flag_colours(trace).items():
        meaning = means.get(name)
        rows.append([f"flag {colour}", f"{name}{colon}{meaning.of(lang)}" if meaning else name])
    kinds = {find_kind(fact) for fact in trace.facts}
    for kind, text in EVIDENCE.items():
        if kind in kinds:
            rows.append([f"evidence {kind}", f"{SHAPES[kind]} {text.of(lang)}"])
    return rows


def list_terms(trace: Trace, lang: Lang) -> dict[str, str]:
    """The broker's words as the picture writes them, with a sentence each: its tooltips."""
    return {name.of(lang): means.of(lang) for name, means in trace.terms}


def explain_evidence(lang: Lang) -> dict[str, str]:
    """For each kind of evidence the sentence that its chip says when one points at it."""
    return {kind: text.of(lang) for kind, text in EVIDENCE.items()}
