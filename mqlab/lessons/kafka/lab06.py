"""Lab 06, Kafka's transaction coordinator: what its cells print.

The tables are read off traces: nothing here knows what a coordinator does. `read_recording` shows
what a real broker said to the same requests (datasets/recordings).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ...kafka.config import java_hash, partition_for
from ...kafka.coordinator.entry import StateRecord
from ...kafka.messages import AddPartitionsToTxn, EndTxn, outcome
from ...kafka.states import NUMBERS, PREVIOUS, PREVIOUS_V2, TxnState
from ...kernel import FAILED, Fact, FactKind, Outcome, Trace
from ...registry import run_scenario
from ...registry import scenario as scenario
from ...registry.cases.kafka import SAFEGUARD_CASES as SAFEGUARD_CASES
from ...registry.tables import columns
from ...registry.tables import find_lines as find_lines
from ...registry.tables import list_calls as list_calls
from ...registry.tables import table as table
from .. import java
from ..atlas.data_flow import data_flow as data_flow
from ..atlas.map_panel import broker_map as broker_map
from ..atlas.map_panel import map_table as map_table
from ..menus import list_kills as list_kills
from ..menus import list_safeguards as list_safeguards
from ..steps import find_red_step as find_red_step
from ..steps import first as first
from .exercises.admit import ADMIT as ADMIT
from .exercises.commit import COMMIT as COMMIT
from .exercises.commit import UNANSWERED as UNANSWERED
from .exercises.commit import never_unknown as never_unknown

if TYPE_CHECKING:
    from .released import HeldPayment


# --- what a run shows ---------------------------------------------------------------------


def list_reads(trace: Trace, position: int = -1) -> str:
    """What a reader of each kind is given, and why it waits."""
    return "\n".join(
        f"{r.name:<17} {' '.join(g.label for g in r.got) or 'nothing':<18} {r.note}".rstrip()
        for r in trace.snapshot(position).readers
    )


def answers(trace: Trace, who: str = "hand") -> str:
    """Requests sent by hand, and what came back."""
    rows = []
    for fact in trace:
        if isinstance(fact.body, Outcome) and fact.node == who:
            refused = fact.body.status == FAILED
            rows.append((str(fact.body.call), fact.body.detail if refused else fact.body.result))
    return table("request | answer", rows)


def records(trace: Trace) -> list[tuple[str, ...]]:
    """Every record of `__transaction_state`, as (status number, state, transactional id,
    producer id, epoch, partitions), in the order in which they were written."""
    out: list[tuple[str, ...]] = []
    for fact in trace:
        if isinstance(fact.body, StateRecord):
            before = _rows(trace, fact.index - 1)
            for row in _rows(trace, fact.index):
                if row not in before:
                    out.append((str(NUMBERS[TxnState(row[1])]), *row[1:]))
    return out


def _rows(trace: Trace, position: int) -> list[tuple[str, ...]]:
    records = next(t for t in trace.snapshot(position).tables if t.columns[0] == "transactionalId")
    return [(row[0], row[3], *row[:3], row[4]) for row in records.rows]


def latest(trace: Trace, position: int = -1) -> str:
    """`__transaction_state` as its compaction leaves it: the latest record of each key."""
    records = next(t for t in trace.snapshot(position).tables if t.columns[0] == "transactionalId")
    return columns([records.columns, *records.rows])


def requests(trace: Trace, coordinator: str = "coordinator") -> str:
    """What each request to the coordinator writes, and what is done when it is answered."""
    rows = []
    for fact in trace:
        if _asks(fact, coordinator):
            wrote, answer, later = _handled(trace, fact, coordinator)
            rows.append((f"{fact.node}: {_wish(fact.body)}", wrote or "–", answer, later or "–"))
    return table("request | writes | answers | afterwards", rows)


def _asks(fact: Fact, coordinator: str) -> bool:
    """Whether somebody else asks the coordinator something."""
    return fact.kind is FactKind.SEND and fact.peer == coordinator and fact.node != coordinator


def _wish(request: object) -> str:
    """A request without what it carries, but with what it wants."""
    match request:
        case EndTxn(commit=commit):
            return f"EndTxn {outcome(commit)}"
        case AddPartitionsToTxn(verify_only=True):
            return "AddPartitionsToTxn verify"
    return type(request).__name__


def _handled(trace: Trace, request: Fact, coordinator: str) -> tuple[str, str, str]:
    """(written before the answer, the answer, what the coordinator does from then on until
    somebody asks it again)."""
    before: list[str] = []
    later: list[str] = []
    answer = ""
    for fact in trace.facts[request.index :]:
        if _asks(fact, coordinator):
            break
        if fact.node != coordinator:
            continue
        if fact.kind is FactKind.REPLY and fact.peer == request.node:
            answer = fact.text.en
        elif fact.peer not in ("", coordinator):
            (later if answer else before).append(fact.text.en.split()[0])
    return ", ".join(before), answer, ", ".join(_counted(later))


def _counted(words: list[str]) -> Iterator[str]:
    for word in dict.fromkeys(words):
        times = words.count(word)
        yield word if times == 1 else f"{word} ×{times}"


def find_timeout(text: str) -> str:
    """When the timeout of a transaction that is open at the end of a run will run out."""
    run = run_scenario(text)
    begun = next(f.at_ms for f in run.trace if _begins(f.body))
    _, timer, after_ms = run.world.nodes["coordinator"].timers[0]
    return f"{timer}: set at {begun / 1000:g} s, runs out at {(begun + after_ms) / 1000:g} s"


def _begins(body: object) -> bool:
    return isinstance(body, StateRecord) and body.entry.state is TxnState.ONGOING


def costs(sizes: Iterable[tuple[int, int]]) -> str:
    """What transactions leave in the logs. `sizes`: (partitions, records in each of them)."""
    rows = [_cost(partitions, each) for partitions, each in sizes]
    head = "partitions | records | markers | offsets taken | records of the coordinator"
    return table(head, rows)


def _cost(partitions: int, each: int) -> tuple[int, ...]:
    """Counted in the logs after one transaction of a v2 client."""
    names = [f"charges-{p}" for p in range(partitions)]
    sends = [f"send {name} order-{n}, flush" for n in range(each) for name in names]
    calls = ", ".join(["init", "begin", *sends, "commit"])
    trace = scenario(f"system charges partitions={partitions}\nrun app: {calls}")
    kinds = [cell.kind for log in trace.snapshot(-1).logs for cell in log.cells]
    markers = kinds.count("control")
    begun = [row for row in records(trace) if row[1] != TxnState.EMPTY]
    return partitions, len(kinds) - markers, markers, len(kinds), len(begun)


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


def read_recording(profile: str, name: str, *words: str, kafka: str = "4.3.1") -> str:
    """What a real Kafka of this version answered: the lines of a recording that hold one of
    `words` (all of them, where there are none). `profile`: "tv2", "tv2-legacy" or "tv0"."""
    return java.read_recording(f"kafka-{kafka}/{profile}", name, *words)


def fence_a_zombie() -> str:
    """As `released.fence_a_zombie`; a server is loaded only when this is called."""
    from . import released

    return released.fence_a_zombie()


def hold_a_payment() -> HeldPayment:
    """As `released.HeldPayment()`; a server is loaded only when this is called."""
    from .released import HeldPayment

    return HeldPayment()
