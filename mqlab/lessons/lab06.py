"""Lab 06, Kafka's transaction coordinator: what its cells print, and its exercises.

The tables are read off traces: nothing here knows what a coordinator does. `recorded` shows
what a real broker said to the same requests (datasets/recordings).
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ..kafka import KafkaSystem
from ..kafka.config import java_hash, partition_for
from ..kafka.invariants import reads
from ..kafka.snapshot import view
from ..kafka.states import NUMBERS, PREVIOUS, PREVIOUS_V2, TxnState
from ..kernel import Fact, Property, System, Text, Trace, World
from ..kernel.world import NodeState
from ..scenario.language import ScenarioError
from .admit import ADMIT
from .check import Verdict
from .lab00 import broker_map, first
from .lab07 import END_TXN
from .parsons import Parsons, Piece
from .pictures import columns
from .systems import played, scenario

__all__ = [
    "ADMIT",
    "COMMIT",
    "answers",
    "broker_map",
    "check_kill",
    "coordinator_of",
    "due",
    "first",
    "heard",
    "latest",
    "never_unknown",
    "reading",
    "recorded",
    "records",
    "requests",
    "scenario",
    "table",
    "told",
    "transitions",
]

RECORDINGS = Path(__file__).parents[2] / "datasets" / "recordings"


def table(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    """Rows as plain text; `head` names the columns, separated by "|"."""
    names = tuple(name.strip() for name in head.split("|"))
    return columns([names, *(tuple(map(str, row)) for row in rows)])


# --- what a run shows ---------------------------------------------------------------------


def told(trace: Trace, *who: str) -> str:
    """What the calls of these applications gave, one a line; of none: of all."""
    rows = [(f.node, *f.text.en.split(": ", 1)) for f in trace if f.glyph == "☞"]
    return table("who | calls | and gets", (row for row in rows if not who or row[0] in who))


def reading(trace: Trace, position: int = -1) -> str:
    """What a reader of each kind is given, and why it waits."""
    return "\n".join(
        f"{r.name:<17} {' '.join(g.label for g in r.got) or 'nothing':<18} {r.note}".rstrip()
        for r in trace.snapshot(position).readers
    )


def answers(trace: Trace, who: str = "hand") -> str:
    """Requests sent by hand, and what came back."""
    rows = []
    for fact in trace:
        if fact.glyph == "☞" and fact.node == who:
            call, _, said = fact.text.en.partition(": ")
            rows.append((call, re.sub(r"^failed ", "", said)))
    return table("request | answer", rows)


def records(trace: Trace) -> list[tuple[str, ...]]:
    """Every record of `__transaction_state`, as (status number, state, transactional id,
    producer id, epoch, partitions), in the order in which they were written."""
    out: list[tuple[str, ...]] = []
    for fact in trace:
        if fact.glyph == "▮" and fact.text.en.split()[0] in list(TxnState):
            before = _rows(trace, fact.index - 1)
            for row in _rows(trace, fact.index):
                if row not in before:
                    out.append((str(NUMBERS[TxnState(row[1])]), *row[1:]))
    return out


def _rows(trace: Trace, position: int) -> list[tuple[str, ...]]:
    found = next(t for t in trace.snapshot(position).tables if t.columns[0] == "transactionalId")
    return [(row[0], row[3], *row[:3], row[4]) for row in found.rows]


def latest(trace: Trace, position: int = -1) -> str:
    """`__transaction_state` as its compaction leaves it: the latest record of each key."""
    found = next(t for t in trace.snapshot(position).tables if t.columns[0] == "transactionalId")
    return columns([found.columns, *found.rows])


def requests(trace: Trace, coordinator: str = "tc") -> str:
    """What each request to the coordinator writes, and what is done when it is answered."""
    rows = []
    for fact in trace:
        if fact.glyph == "→" and fact.peer == coordinator and fact.node != coordinator:
            wrote, said, later = _handled(trace, fact, coordinator)
            rows.append((f"{fact.node}: {_kind(fact)}", wrote or "–", said, later or "–"))
    return table("request | writes | answers | afterwards", rows)


def _kind(fact: Fact) -> str:
    """A request without what it carries, but with what it wants."""
    name, *rest = fact.text.en.split()
    return " ".join([name, *(word for word in rest if word in ("commit", "abort", "verify"))])


def _handled(trace: Trace, asked: Fact, coordinator: str) -> tuple[str, str, str]:
    """(written before the answer, the answer, what the coordinator does from then on until
    somebody asks it again)."""
    before: list[str] = []
    later: list[str] = []
    said = ""
    for fact in trace.facts[asked.index :]:
        if fact.peer == coordinator and fact.node != coordinator and fact.glyph == "→":
            break
        if fact.node == coordinator and fact.glyph == "⇒" and fact.peer == asked.node:
            said = fact.text.en
        elif fact.node == coordinator and (fact.glyph == "▮" or fact.peer not in ("", coordinator)):
            (later if said else before).append(fact.text.en.split()[0])
    return ", ".join(before), said, ", ".join(_counted(later))


def _counted(words: list[str]) -> Iterator[str]:
    for word in dict.fromkeys(words):
        times = words.count(word)
        yield word if times == 1 else f"{word} ×{times}"


def heard(trace: Trace, *words: str, width: int = 10) -> str:
    """The lines of a narration that hold one of these words."""
    return "\n".join(f.line(width=width) for f in trace if any(w in f.text.en for w in words))


def due(text: str) -> str:
    """When the timeout of a transaction that is open at the end of a run will run out."""
    run = played(text)
    begun = next(f.at_ms for f in run.trace if f.text.en.startswith("Ongoing"))
    _, timer, after_ms = run.world.nodes["tc"].timers[0]
    return f"{timer}: set at {begun / 1000:g} s, runs out at {(begun + after_ms) / 1000:g} s"


# --- tables of the protocol ---------------------------------------------------------------


def coordinator_of(*txn_ids: str) -> str:
    """Java's hash of each id, and the partition of `__transaction_state` that keeps it."""
    rows = [(i, java_hash(i), partition_for(i, 50)) for i in txn_ids]
    return table("transactional.id | hashCode | partition", rows)


def transitions(*traces: Trace, transaction_version: int = 2) -> str:
    """The table of states: from each line to each column, by the numbers in which the log
    keeps them. ● a run went that way, ○ it may be gone, · it may not. What is only ever
    pending, and never written, is in brackets."""
    seen = {step for trace in traces for step in _steps(trace)}
    previous: Mapping[TxnState, frozenset[TxnState]]
    previous = PREVIOUS_V2 if transaction_version >= 2 else PREVIOUS
    rows = [
        (
            f"{NUMBERS[old]} {_short(old)}",
            *(
                "●" if (old, new) in seen else "○" if old in previous[new] else "·"
                for new in TxnState
            ),
        )
        for old in TxnState
    ]
    return table(f"from ↓ to → | {' | '.join(str(n) for n in NUMBERS.values())}", rows)


def _short(state: TxnState) -> str:
    pending = state in (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE)
    return f"({state})" if pending else str(state)


def _steps(trace: Trace) -> Iterator[tuple[TxnState, TxnState]]:
    last: dict[str, TxnState] = {}
    for _, state, txn_id, *_ in records(trace):
        if txn_id in last:
            yield last[txn_id], TxnState(state)
        last[txn_id] = TxnState(state)


def recorded(profile: str, name: str, *words: str, kafka: str = "4.3.1") -> str:
    """What a real Kafka of this version answered: the lines of a recording that hold one of
    `words` (all of them, where there are none). `profile`: "tv2", "tv2-legacy" or "tv0"."""
    path = RECORDINGS / f"kafka-{kafka}" / profile / f"{name}.json"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in path.parent.glob("*.json")))
        raise ValueError(f"no recording {profile}/{name}; there are: {there}")
    seen = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        (who, asked, said)
        for who, _, asked, said in seen["observations"]
        if not words or any(word in f"{who} {asked} {said}" for word in words)
    ]
    return table(f"{seen['broker']}, {seen['profile']} | asked | answered", rows)


# --- the pieces of EndTxn -----------------------------------------------------------------

COMMIT: Parsons = replace(
    END_TXN,
    name="commit",
    question=Text(
        "EndTxn(commit) has come in. Put what the coordinator does into an order that keeps every "
        "promise, whenever it dies. Not every piece belongs into it.",
        "EndTxn(commit) 到了。把协调器要做的事排成一个顺序，使它无论何时崩溃都能遵守所有承诺。"
        "并非每一步都用得上。",
    ),
    pieces=(
        *(piece for piece in END_TXN.pieces if piece.belief is None),
        *(piece for piece in END_TXN.pieces if piece.key == "vote"),
        Piece(
            "producer",
            Text(
                "have the producer write its commit into __transaction_state",
                "让生产者把提交消息写入 __transaction_state",
            ),
            Text(
                "a producer never writes there: it sends one request, EndTxn, and the coordinator "
                "appends to its own log. Whoever could write into that topic could end the "
                "transactions of everybody",
                "生产者从不写那里：它只发一个 EndTxn 请求，由协调器追加到自己的日志。谁能写那个主题，"
                "谁就能结束所有人的事务",
            ),
            "109",
        ),
    ),
)

# --- a commit without an answer -----------------------------------------------------------

UNANSWERED = """
# A commit that nobody answered
system kafka partitions=1 retries=1 readers=reader
{kill}
run app: init, begin, send orders-0 a, commit
restart tc
run reader: poll orders-0
"""

KILLS = {
    "alive": Text(
        "the coordinator is alive: `when` names a message that it never sends. Ending a "
        "transaction, it writes PrepareCommit, answers (⇒EndTxn#1) and sends WriteTxnMarkers#1",
        "协调器还活着：`when` 指的是它从未发出的消息。结束事务时，它写 PrepareCommit，答复"
        "（⇒EndTxn#1），再发送 WriteTxnMarkers#1",
    ),
    "early": Text(
        "too early: the client had not asked to commit, so there was nothing to decide",
        "太早了：客户端还没有请求提交，没有什么可决定的",
    ),
    "answered": Text(
        "the client was answered after all. Either the answer had arrived when the coordinator "
        "died, or PrepareCommit was not in the log yet: then the transaction is still open, and "
        "the restarted coordinator takes the same request once more",
        "客户端最终得到了答复。要么协调器崩溃时答复已经到达，要么 PrepareCommit 还没写入日志：这时"
        "事务仍未结束，重启后的协调器会再次接受同一个请求",
    ),
    "right": Text(
        "the client has no answer, and the payment is committed: to try again with a new "
        "transaction would pay twice",
        "客户端没有得到答复，而付款已经提交：换一个新事务重试就会付两次",
    ),
}


def check_kill(kill: str) -> Verdict:
    """Judge a line that kills the coordinator so that a commit is decided and not answered."""
    words = kill.split()
    if words[:2] != ["kill", "tc"] or len(kill.splitlines()) != 1:
        return Verdict(
            False, Text("write one line: kill tc when=Kind#n after=K", "只写一行：kill tc when=…")
        )
    try:
        run = played(UNANSWERED.format(kill=kill))
    except ScenarioError as error:
        if "it is running" in str(error):  # nobody was killed, so there is none to restart
            return Verdict(False, KILLS["alive"], "alive")
        return Verdict(False, Text(str(error)))
    name = _killed(run.trace)
    right, schedule = name == "right", tuple(map(str, run.choices))
    return Verdict(right, KILLS[name], "" if right else name, schedule, run.system)


def _killed(trace: Trace) -> str:
    """Which of `KILLS` a run with a killed coordinator shows."""
    before = trace.facts[: first(trace, "killed")]
    if not any(fact.text.en.startswith("EndTxn") for fact in before):
        return "early"
    unknown = any(fact.text.en.startswith("commit: unknown") for fact in trace)
    return "right" if unknown and trace.snapshot(-1).readers[0].got else "answered"


def never_unknown(searched: System, outcome: str) -> Property:
    """That no commit ends “unknown” while its transaction has the outcome "COMMIT" or "ABORT".
    Kafka promises neither: a client without an answer cannot tell."""
    assert isinstance(searched, KafkaSystem)
    cluster = searched.cluster

    def holds(world: World) -> bool:
        apps = [world.nodes[name].app for name, _ in cluster.producers]
        given = [result for app in apps if app is not None for result in app.results]
        if not any(result.call == "commit" and result.status == "unknown" for result in given):
            return True
        return all(txn.outcome != outcome for txn in view(cluster, world).all_txns())

    def part(name: str, node: NodeState) -> Hashable:
        return reads(cluster, name, node), node.app.results if node.app is not None else ()

    sentence = Text(
        f"a commit without an answer does not end as {outcome}",
        f"没有得到答复的提交不会以 {outcome} 结束",
    )
    return Property(f"unknown, {outcome}", sentence, holds, "always", part)
