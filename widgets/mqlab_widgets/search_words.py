"""A search in words: its panel, its verdict, what a choice is, and what its bounds are."""

from __future__ import annotations

from collections.abc import Mapping

from mqlab.explore import Budget
from mqlab.kernel.choice import Choice
from mqlab.kernel.moves import initial
from mqlab.kernel.offers import HEARD
from mqlab.kernel.stops import join_names
from mqlab.kernel.system import System
from mqlab.kernel.text import Lang, Text, Words

Names = Mapping[str, str]

WORDS = {
    "title": Text("Every schedule", "所有可能的执行"),
    "start": Text("Search", "开始搜索"),
    "again": Text("Search again", "重新搜索"),
    "stop": Text("Stop", "停止"),
    "states": Text("states", "个状态"),
    "depth": Text("choices deep", "步深"),
    "rate": Text("states/s", "个状态/秒"),
    "tree": Text(
        "{shown} of {n} states as a tree. States after 0, 1, 2 … choices: {levels}.",
        "{n} 个状态中的 {shown} 个，画成树。经 0、1、2…步到达的状态数：{levels}。",
    ),
    "hint": Text(
        "Dots: {shown} of {n} states, by number of choices; below, how many there are. "
        "Click a dot to play the run to it.",
        "圆点：{n} 个状态中的 {shown} 个，按步数排列；下方是实际个数。单击圆点可播放到达它的运行。",
    ),
    "initial": Text("The first state: nothing was chosen yet.", "初始状态：尚未作任何选择。"),
    "state": Text(
        "After {n} choices. The last one: {choice}.", "第 {n} 步之后。最后一步：{choice}。"
    ),
    "refutes": Text("Here “{name}” is refuted.", "在此推翻“{name}”。"),
    "reaches": Text("Here “{name}” is reached.", "在此到达“{name}”。"),
    "claims": Text("Claims", "命题"),
    "claim": Text("claim", "命题"),
    "sentence": Text("what it says", "内容"),
    "kind": Text("must be true", "要求"),
    "result": Text("result", "结果"),
    "always": Text("in every state", "在每个状态"),
    "sometimes": Text("in some state", "在某个状态"),
    "can_always": Text("later on, from every state", "从每个状态都能到达"),
    "show": Text("show the run", "显示这次运行"),
}
SHOWN = Words("The shortest run that breaks “{name}”:", "推翻“{name}”的最短运行：")
VISITED = Words("A run that leads to the state you chose:", "到达所选状态的一次运行：")
READY = Text("Nothing has been searched yet.", "尚未搜索。")
RUNNING = Text("Searching …", "正在搜索 …")
COMPLETE = Words(
    "Complete: nothing is violated in any of {n} states.", "已搜完：{n} 个状态中没有发现违反。"
)
VIOLATED = {
    True: Words(
        "1 of {all} claims is violated; {n} states were searched.",
        "{all} 个命题中有 1 个被违反；搜索了 {n} 个状态。",
    ),
    False: Words(
        "{broken} of {all} claims are violated; {n} states were searched.",
        "{all} 个命题中有 {broken} 个被违反；搜索了 {n} 个状态。",
    ),
}
STOPPED = Words(
    "Not exhaustive: no violation in the {n} states that were searched.",
    "未搜完：已搜索的 {n} 个状态中没有违反。",
)
WITHIN = Words("It tries {bounds}.", "搜索范围：{bounds}。")
RESULTS = {
    "open": Words("not violated so far", "目前未被违反"),
    "held": Words("held", "成立"),
    "violated": Words("violated in {n} choices", "{n} 步内被违反"),
    "reached": Words("reached in {n} choices", "{n} 步内到达"),
    "unreached": Words("not reached so far", "目前未到达"),
    "never": Words("never reached", "从未到达"),
    "later": Words("known at the end", "搜完才知道"),
}
CHOICES = {
    "call": Words("{a} makes its next call", "{a}发出下一个调用"),
    "request": Words("a request of {a} reaches {b}", "{a} 的请求到达 {b}"),
    "response": Words("an answer of {b} reaches {a}", "{b} 的应答到达 {a}"),
    "local": Words("{a} does what it has still to do", "{a} 做自己尚未做完的事"),
    "fire": Words("a timer of {a} runs out", "{a} 的一个定时器到时"),
    "break": Words("the connection of {a} and {b} breaks", "{a} 与 {b} 的连接断开"),
    "kill": Words("{a} is killed", "{a} 被杀"),
    "power": Words("{a} loses its power", "{a} 断电"),
    "restart": Words("{a} starts again", "{a} 重新启动"),
}
INSIDE = {
    "kill": Words(
        "{what}; {who} is killed after effect {n} of this",
        "{what}；其间 {who} 在第 {n} 个效果之后被杀",
    ),
    "power": Words(
        "{what}; {who} loses its power after effect {n} of this",
        "{what}；其间 {who} 在第 {n} 个效果之后断电",
    ),
}
EVERY = Words("every order of all messages, {bounds}", "所有消息的每一种顺序，{bounds}")
CALLS = {
    True: Words(
        "every order of 1 call and all messages, {bounds}",
        "1 次调用与所有消息的每一种顺序，{bounds}",
    ),
    False: Words(
        "every order of {n} calls and all messages, {bounds}",
        "{n} 次调用与所有消息的每一种顺序，{bounds}",
    ),
}
FAULTLESS = Words("without faults and timers", "没有故障，也没有定时器到时")
UP_TO = Words("with up to {faults}", "最多有 {faults}")
FAULTS = {
    "kills": Words("{n} kill{s}{of}", "{n} 次进程被杀{of}"),
    "power_cuts": Words("{n} power cut{s}{of}", "{n} 次断电{of}"),
    "breaks": Words("{n} lost connection{s}", "{n} 次连接断开"),
    "timers": Words("{n} timer{s} running out", "{n} 次定时器到时"),
}
ONLY = Words(" (only of {nodes})", "（只限 {nodes}）")
RETRIES = Words("each retry timer runs out up to {n} ×", "每个重试定时器最多到时 {n} 次")
RESTARTS = Words("only {nodes} may start again", "只有 {nodes} 会重新启动")
FINAL = Words("what has stopped stays stopped", "停止的不会再启动")


def name_nodes(system: System, lang: Lang) -> dict[str, str]:
    """Nodes and roles, named as their lanes are."""
    lanes = system.snapshot(initial(system)).lanes
    return {lane.name: lane.title.of(lang) for lane in lanes}


def describe_choice(choice: Choice, names: Names, lang: Lang) -> str:
    """A choice of a search, as a whole clause."""
    a, b = names.get(choice.a, choice.a), names.get(choice.b, choice.b)
    what = CHOICES[choice.kind](a=a, b=b)
    if choice.stop >= 0:
        who = b if choice.kind == "request" else a
        what = INSIDE[choice.how](what=what, who=who, n=choice.stop)
    if choice.answers:
        clients = join_names(tuple(names.get(name, name) for name in choice.answers))
        what = HEARD(what=what, clients=clients)
    return what.of(lang)


def describe_bounds(system: System, budget: Budget, names: Names, lang: Lang) -> str:
    """What a search has tried, or will."""
    comma = ", " if lang == "en" else "，"

    def told(nodes: tuple[str, ...]) -> str:
        return comma.join(names.get(node, node) for node in nodes)

    of = ONLY(nodes=told(budget.killable)).of(lang) if budget.killable is not None else ""
    faults = [
        words(n=n, s="" if n == 1 else "s", of=of).of(lang)
        for kind, words in FAULTS.items()
        if (n := getattr(budget, kind))
    ]
    bounds = [UP_TO(faults=comma.join(faults)).of(lang) if faults else FAULTLESS().of(lang)]
    if budget.retries:
        bounds.append(RETRIES(n=budget.retries).of(lang))
    if budget.restartable is not None and (budget.kills or budget.power_cuts):
        nodes = told(budget.restartable)
        bounds.append((RESTARTS(nodes=nodes) if nodes else FINAL()).of(lang))
    calls = sum(len(s.program) for s in system.nodes() if isinstance(s.program, tuple))
    words = CALLS[calls == 1] if calls else EVERY
    return words(n=calls, bounds=comma.join(bounds)).of(lang)
