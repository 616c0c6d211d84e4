"""Lab 02, who decides: what its cells import."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...explore import Verdict
from ...kernel import FactKind, Trace, Words, tr
from ...registry.cases.patterns import message_transaction, saga, tcc, three_phase, two_phase
from ...registry.searches import Case, search
from ...registry.tables import columns, in_words
from ..steps import find_red_step as find_red_step
from ..steps import first as first
from .exercises.effects import EFFECTS as EFFECTS
from .exercises.fence import FENCE as FENCE
from .two_files import ONE_PHASE as ONE_PHASE
from .two_files import TWO_PHASES as TWO_PHASES
from .two_files import TwoFiles as TwoFiles
from .two_files import kill_after

#: model → what it gives up, as a claim that a search refutes
GIVEN_UP: dict[str, Case] = {
    "two-phase commit": two_phase.CLAIMS[0],
    "three-phase commit": three_phase.CLAIMS[0],
    "TCC": tcc.CLAIMS[0],
    "saga": saga.CLAIMS[0],
    "message transaction": message_transaction.CLAIMS[0],
}
#: what a service of TCC must be written for
TRAPS = tuple(
    case
    for case in tcc.SAFEGUARDS
    if case.off in ("idempotent_confirm", "idempotent_cancel", "empty_cancel", "suspended_try")
)
BREAKS = Words("“{light}” breaks in {n} choices")
NOT_KILLED = Words("{last} (not killed)")


def open_bank(folder: str, name: str = "bank") -> sqlite3.Connection:
    """A connection to a bank in an SQLite file: accounts A and B, neither below 0."""
    bank = sqlite3.connect(Path(folder) / f"{name}.db", isolation_level=None, timeout=0)
    bank.execute(
        "CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, pounds INT CHECK (pounds >= 0))"
    )
    bank.execute("INSERT OR IGNORE INTO account VALUES ('A', 100), ('B', 0)")
    return bank


def kill_everywhere(effects: Sequence[str]) -> str:
    """The coordinator in a process of its own, killed with -9 after each of its effects; what the
    two files hold then, and when it was started again."""
    rows: list[tuple[str, ...]] = [("killed after", "the files", "after the restart")]
    for count in range(len(effects) + 1):
        with tempfile.TemporaryDirectory(prefix="mqlab-") as folder:
            files = kill_after(Path(folder), effects, count)
            before = files.describe()
            files.recover()
            last = effects[count - 1] if count else "nothing"
            name = last if count < len(effects) else str(NOT_KILLED(last=last))
            rows.append((name, before, files.describe()))
    return columns(rows)


def list_told(trace: Trace, node: str = "app") -> list[str]:
    """What was reported to an application in an execution."""
    return [f.text.en for f in trace if f.node == node and f.kind is FactKind.RETURN]


def describe_red(verdict: Verdict) -> str:
    """Which lights a search found red, and in how few choices."""
    examples = verdict.counterexamples.values()
    red = [str(BREAKS(light=in_words(one.property), n=len(one.schedule))) for one in examples]
    return str(tr("; ")).join(red) or str(tr("nothing breaks"))


def compare_models() -> str:
    """What each model gives up, by a search: the claim, and the shortest execution that breaks
    it."""
    rows: list[tuple[str, ...]] = [("model", "one might expect", "refuted in", "by")]
    for model, case in GIVEN_UP.items():
        example = search(case)
        faults = re.split("[,，]", case.budget.text.of())[0]
        rows.append((model, case.broken, f"{len(example.schedule)} choices", faults))
    return columns(rows)


def tabulate_traps() -> str:
    """The traps of TCC, by a search."""
    rows: list[tuple[str, ...]] = [("a service without", "what happens", "in choices")]
    for case in TRAPS:
        rows.append((case.off, case.title.en, str(len(search(case).schedule))))
    return columns(rows)
