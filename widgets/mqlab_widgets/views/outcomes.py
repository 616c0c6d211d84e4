"""What became of the last transactions: their records, and whether readers of committed data get
them. Read off the logs, in words that every broker shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mqlab.kernel.snapshot import Log
from mqlab.kernel.text import Lang, Text, Words, tr
from mqlab.kernel.trace import Trace

from ..scene import Scene
from ..widths import fit, width
from .common import NUMBERED, RIGHT, colour, draw_heading

TITLE = tr("What became of the last transactions")
NONE = tr("no transaction yet")
OPEN = tr("open: not read yet")
PARTLY = Words("marker in {n} of {of}")
COMMITTED = tr("committed: read")
ABORTED = tr("aborted: never read")
MOST = 4  # transactions
TRANSACTION_LOG = "__transaction"
"""How the name of a coordinator's own log begins: what it notes there is no record of a client."""
LINE, TOP = 23, 22
NAME, SAID = 34, 118  # px of a transaction's name and of its outcome
BOX, AIR = 19, 4  # px: height of a record, and between two
COUNT = 26  # px of the number of records that have no room
SIZE = 11.5  # of the letters


def outcomes(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    scene = Scene(RIGHT, TOP + MOST * LINE)
    draw_heading(scene, TITLE, lang)
    ends = find_outcomes(trace.snapshot(step).logs)
    last = sorted(ends, key=_number)[-MOST:]
    if not last:
        scene.text("none", 0, TOP + 15, NONE.of(lang), "lab quiet")
    for row, name in enumerate(reversed(last)):
        with scene.group(f"txn:{name}", f"cell {colour(trace, name)}", at=(0, TOP + row * LINE)):
            _draw_outcome(scene, name, ends[name], lang)
    return scene


def _number(name: str) -> int:
    """By which transactions are in order; those without a number are as the logs have them."""
    numbered = NUMBERED.fullmatch(name)
    return int(numbered[1]) if numbered else 0


def _draw_outcome(scene: Scene, name: str, outcome: Ended, lang: Lang) -> None:
    """Draw a transaction in a row: its name, as many of its records as there is room for, then how
    many are left out, and at the right its outcome."""
    scene.text(f"name:{name}", 0, 14, fit(name, NAME - 4, SIZE, bold=True), "tag")
    x, right = float(NAME), RIGHT - SAID
    for i, label in enumerate(outcome.shown):
        wide = round(width(label, SIZE, bold=True) + 10)
        remaining = len(outcome.shown) - i
        if x + wide > right - COUNT * (remaining > 1):  # the last one needs no room for a count
            scene.text(f"more:{name}", x, 14, f"+{remaining}", "offset start")
            break
        key = f"{name}:{i}"
        scene.rect(f"box:{key}", x + 0.5, 0.5, wide - 1, BOX - 1, "record", rx=4)
        scene.text(f"text:{key}", x + wide / 2, 14, label, "cell-text")
        if outcome.aborted:
            scene.line(f"struck:{key}", x + 4, BOX / 2, x + wide - 4, BOX / 2, "struck")
        x += wide + AIR
    text, cls = outcome.tell()
    scene.text(f"said:{name}", RIGHT, 14, text.of(lang), f"{cls} end")
    scene.title(f"all:{name}", f"{name}: {', '.join(outcome.shown)}: {text.of(lang)}")


@dataclass
class Ended:
    """A transaction as far as the logs show it: its records, the logs of them that await a control
    record, and those that have one; whether they can be read, and whether they were aborted.
    `staged`: its records in a log from which a commit copies them."""

    records: list[str] = field(default_factory=list)
    staged: list[str] = field(default_factory=list)
    logs: set[str] = field(default_factory=set)
    marked: set[str] = field(default_factory=set)
    readable: bool = True
    aborted: bool = False

    @property
    def shown(self) -> list[str]:
        return self.records or self.staged

    def tell(self) -> tuple[Text, str]:
        """What became of it, and the class of these words."""
        if self.aborted:
            return ABORTED, "lab quiet"
        if not self.records:
            return OPEN, "lab"
        if self.readable and self.marked >= self.logs:
            return COMMITTED, "lab strong"
        if self.marked:
            return PARTLY(n=len(self.marked & self.logs), of=len(self.logs)), "lab"
        return OPEN, "lab"


def find_outcomes(logs: Iterable[Log]) -> dict[str, Ended]:
    """What became of the transactions that have records in these logs, by name; a coordinator's own
    log is left out. Where the control records of one log end what is staged in another (half
    messages), a record in a third log is the committed copy and awaits no control record."""
    known = [log for log in logs if not log.name.startswith(TRANSACTION_LOG)]
    staging = {log.ends for log in known if log.ends}  # logs from which a commit copies
    out: dict[str, Ended] = {}
    for log in known:
        for cell in log.cells:
            if not cell.txn or cell.kind == "copy":  # a copy: of a record earlier in the log
                continue
            ended = out.setdefault(cell.txn, Ended())
            if cell.kind == "control":
                ended.marked.add(log.ends or log.name)  # `ends`: the log of which it speaks
                continue
            ended.aborted = ended.aborted or cell.aborted
            if log.name in staging:
                ended.staged.append(cell.label)
                continue
            ended.records.append(cell.label)
            ended.readable = ended.readable and cell.readable
            if not staging:
                ended.logs.add(log.name)
    return {name: ended for name, ended in out.items() if ended.shown}
