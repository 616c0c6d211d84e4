"""What the stories of transactions leave behind, partition by partition.

The real broker, 4.2.4, was recorded in those that need no death of a single node, and agrees. In a
log: a value is a plain message, a value with ' one of a transaction, C and A are markers. Of
each row: what lies in `orders-0`, what each client received, and the states of its transactions as
their clients see them. Positions, conflicts and watermarks stand in the scenarios' own narration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mqlab.kernel import Outcome, Run
from mqlab.pulsar.client.calls import GetState, Receive
from mqlab.pulsar.messages import LedgerEntry
from mqlab.pulsar.states import MarkerType
from mqlab.registry import SYSTEMS
from mqlab.scenario import load

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios" / "pulsar"


@dataclass(frozen=True)
class Left:
    """What a story leaves behind."""

    log: str
    received: dict[str, str] = field(default_factory=dict)
    states: list[str] = field(default_factory=list)


def spell(entry: LedgerEntry) -> str:
    if entry.marker is not None:
        return "C" if entry.marker is MarkerType.TXN_COMMIT else "A"
    return "+".join(entry.values) + ("'" if entry.txn is not None else "")


def outcomes(run: Run, node: str) -> list[Outcome]:
    app = run.world.nodes[node].app
    return [] if app is None else list(app.results)


def read_left(run: Run) -> Left:
    log = " ".join(map(spell, run.world.disk("orders-0").log("orders-0").read(0)))
    received, states = {}, []
    for node in run.world.nodes:
        found = [o for o in outcomes(run, node) if isinstance(o.call, Receive)]
        texts = [word.split(" ")[0] for o in found for word in o.detail.split(", ")]
        if found:
            received[node] = " ".join(text for text in texts if text != "nothing")
        states += [o.detail for o in outcomes(run, node) if isinstance(o.call, GetState)]
    return Left(log, received, states)


ROWS = {
    "commit": Left("a' b' c' C", {"worker": "a b c"}),
    "abort": Left("a' b' A", {"worker": ""}),
    "open-transaction-blocks-plain": Left("n0 t' n2 C", {"worker": "n0 t n2"}),
    "abort-releases-plain": Left("n0 t' n2 A", {"worker": "n0 n2"}),
    "two-transactions": Left("a' b' c' C C", {"worker": "a b c"}),
    "two-topics": Left("a' C", {"worker": "a p"}),
    "recovery-then-commit": Left("a' b' c C C", {"worker": "a b c"}),
    "recovery-then-abort": Left("a' b' c C A", {"worker": "a c"}),
    "max-read-position": Left("n0 t' n2 C n4"),
    "readers": Left("n0 a' b' c' A d' e' A", {"worker": "n0", "other": "n0"}),
    "first-snapshot": Left("n0 t' A n3", {"worker": "n0 n3"}),
    "delete-topic": Left("b"),
    "another-client-commits": Left("a' b' C", {"worker": "a b"}, ["OPEN", "ERROR"]),
    "registered-and-never-sent": Left("n0 C"),
    "deduplication": Left("a' A b' C", {"worker": "b"}),
    "batch-of-a-transaction": Left("a+b+c' C d+e' A", {"worker": "a b c"}),
    "late-write-refused": Left("a' b' C C"),
    "late-write-hides-committed": Left("a' C late' n b' C A", {"worker": "a n b", "other": "n b"}),
    "late-writes-cascade": Left("a' b' C C late' later' c' C A A"),
    "watermark-held-back": Left("a' C late' b' C c' C A"),
    "watermark-is-forgotten": Left("a' C b' C late' c d' C A", {"worker": "a b b c d"}),
    "late-write-of-an-aborted": Left("a' A late' n", {"worker": "n"}),
    "timeout": Left("a' b A", {"worker": "b"}, ["ERROR"]),
    "client-timeout": Left("a", {"app": "a"}, ["TIME_OUT"]),
    "closed-by-commit": Left("a", {"app": "a"}, ["COMMITTED", "COMMITTED"]),
    "closed-by-abort": Left("a", {"app": "a"}, ["ABORTED", "ABORTED"]),
    "failed-operation": Left("a' A", {"worker": ""}, ["ABORTED"]),
    "admin-abort": Left("a' A", {}, ["OPEN", "ERROR"]),
    "missing-topic": Left(""),
    "missing-subscription": Left("a", {"app": "a", "admin": "a"}),
    "ended-twice": Left("a' C", {}, ["COMMITTED"]),
    "commit-frozen": Left("a' C C C C", {"worker": "a"}, ["COMMITTING"]),
    "abort-frozen": Left("a' A b A A", {"worker": "b"}, ["ERROR"]),
    "kill-while-open": Left("a b c' d C", {"app": "a b b c d"}),
    "kill-and-nobody-comes": Left("a b' c A", {"observer": "a c"}),
    "kill-before-the-deadline": Left("a' b A", {"worker": "b"}),
    "kill-after-commit": Left("a' C", {"worker": "a"}),
    "kill-after-abort": Left("a' b A", {"worker": "b"}),
    "kill-forgets-watermarks": Left("a' C b' C late' c d' C A", {"worker": "a b b c d"}),
    "frozen-blocks-nobody-else": Left("a' C b' C C", {"worker": "a b"}, ["COMMITTED"]),
    "killed-between-markers": Left("a' C C C", {"worker": "a p"}),
    "killed-before-the-answer": Left("a' C", {"worker": "a"}, ["ERROR"]),
    "marker-answer-lost": Left("a' C C", {"worker": "a"}),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_story_leaves_behind_what_the_real_broker_does(name: str) -> None:
    assert read_left(load(FOLDER / f"{name}.scn", SYSTEMS).run) == ROWS[name]
