"""What the scenarios of Pulsar leave behind: of transactions, and of acknowledgements.

The real broker, 4.2.4, was recorded in those that need no death of a single node, and agrees. This
is not read from the narration, so that a narration that is written again by mistake is noticed.

A row of `transactions.txt`: what lies in `orders-0` (a value is a plain message, a value with ' one
of a transaction, C and A are markers), what each client received, and the states of its
transactions as their clients see them. A row of `acknowledgements.txt`: what each client received,
each cursor of `orders-0` (mark-delete and what is acknowledged behind it), the calls that failed,
and the entries that open transactions hold back. Between two receives is a comma; `b+1`: its
redelivery count was 1.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.kernel import Outcome, Run
from mqlab.pulsar.client.calls import GetState, Receive
from mqlab.pulsar.messages import LedgerEntry
from mqlab.pulsar.states import MarkerType
from mqlab.registry import SYSTEMS
from mqlab.scenario import load

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios" / "pulsar"


def spell(entry: LedgerEntry) -> str:
    if entry.marker is not None:
        return "C" if entry.marker is MarkerType.TXN_COMMIT else "A"
    return "+".join(entry.values) + ("'" if entry.txn is not None else "")


def list_outcomes(run: Run) -> list[tuple[str, list[Outcome]]]:
    """By client, sorted by name."""
    apps = ((name, node.app) for name, node in sorted(run.world.nodes.items()))
    return [(name, list(app.results)) for name, app in apps if app is not None]


def spell_received(detail: str) -> str:
    """`a @0, b @1 again 2` as `a b+2`."""
    return re.sub(r" @\S+", "", detail.replace(",", " ,")).replace(" again ", "+").replace(" ,", "")


def tell_received(run: Run) -> str:
    told = []
    for name, outcomes in list_outcomes(run):
        if came := [o.detail for o in outcomes if isinstance(o.call, Receive)]:
            texts = (spell_received(detail) for detail in came if detail != "nothing")
            told.append(f"{name}: {', '.join(texts)}".rstrip())
    return "; ".join(told)


def tell_transactions(run: Run) -> str:
    log = " ".join(map(spell, run.world.disk("orders-0").log("orders-0").read(0)))
    asked = (o for _, outcomes in list_outcomes(run) for o in outcomes)
    states = " ".join(o.detail for o in asked if isinstance(o.call, GetState))
    return f"{log} | {tell_received(run)} | {states}"


def tell_acknowledgements(run: Run) -> str:
    subs = run.world.role("orders-0").subs.items()
    cursors = "; ".join(
        f"{name}: {' '.join(map(str, (sub.cursor.mark_delete, *sub.cursor.list_individual())))}"
        for name, sub in subs
    )
    failed = " ".join(o.detail for _, found in list_outcomes(run) for o in found if not o.ok)
    pending = " ".join(map(str, sorted({at for _, sub in subs for at in sub.pending.positions})))
    return f"{tell_received(run)} | {cursors} | {failed} | {pending}"


TABLES = {"transactions": tell_transactions, "acknowledgements": tell_acknowledgements}
ROWS = {
    (table, row.partition(" | ")[0]): row.partition(" | ")[2]
    for table in TABLES
    for row in Path(__file__).with_name(f"{table}.txt").read_text("utf-8").splitlines()
}


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_a_story_leaves_behind_what_the_real_broker_does(table: str, name: str) -> None:
    run = load(FOLDER / f"{name}.scn", SYSTEMS).run
    assert TABLES[table](run).rstrip(" |") == ROWS[table, name]
