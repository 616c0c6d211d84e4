"""One client program asked of two brokers, and their answers side by side.

The left broker is a real one: its recording, or one that is started here and now. The right one is
another release's recording, or this project's own server. What only a broker's files show (the
index of aborted transactions) is left out, since no client sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

from ..kernel import FactKind, Outcome, Words, tr
from ..places import RECORDINGS
from ..recordings.recording import Observation, Recording, load
from ..registry import run_scenario
from ..registry.tables import columns
from ..serve.process import RunningBroker

VERSION = "4.3.1"
IN_FILES = "txnindex"
WIDEST = 60  # characters of a cell, in the text
LINES = Words("{name}: {count} lines")
DIFFER = Words("{lines}, {count} of them differ")
HEAD = tr("who → whom"), tr("asked")
STYLE = """\
<style>
.mqlab-laid { max-height: 34em; overflow: auto; }
.mqlab-laid table.answers { border-collapse: collapse; margin: 0; }
.mqlab-laid table.answers :is(th, td) { padding: 0.15em 0.7em; text-align: left;
  vertical-align: top; border-bottom: 1px solid light-dark(#e2e5e9, #3a3f46);
  overflow-wrap: anywhere; max-width: 24em; }
.mqlab-laid table.answers th { position: sticky; top: 0; background: light-dark(#f3f5f7, #24282d); }
.mqlab-laid table.answers td:nth-child(-n+2) { white-space: nowrap; max-width: none; }
.mqlab-laid table.answers td:first-child { color: light-dark(#57606a, #9aa4af); }
.mqlab-laid table.answers tr.differs td { background: light-dark(#fff1dd, #4a3517); }
</style>"""


@dataclass(frozen=True, slots=True)
class Row:
    """`left`, `right`: what each answered; "" where that one was not asked. `who` asked the
    `question`."""

    who: str
    question: str
    left: str
    right: str

    @property
    def mark(self) -> str:
        return "" if self.left == self.right else "≠"


@dataclass(frozen=True)
class Laid:
    """Recordings of one program, one or two: a table in a notebook, and its text. `only`: without
    the lines in which they agree. `left`, `right`: the recordings."""

    left: Recording
    right: Recording | None = None
    only: bool = False

    @property
    def rows(self) -> list[Row]:
        """Line by line, in the order in which they were asked."""
        left = _of_clients(self.left)
        right = _of_clients(self.right) if self.right else left
        one, other = ([(o.who, o.to, o.asked) for o in side] for side in (left, right))
        rows: list[Row] = []
        for _, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if one[a:b] == other[c:d]:
                pairs = zip(left[a:b], right[c:d], strict=True)
                rows += [_row(x, x.answered, y.answered) for x, y in pairs]
            else:
                rows += [_row(x, x.answered, "") for x in left[a:b]]
                rows += [_row(y, "", y.answered) for y in right[c:d]]
        return rows

    @property
    def sentence(self) -> str:
        """How many lines there are, and how many of them differ."""
        lines = LINES(name=self.left.scenario, count=len(self.rows))
        differ = sum(bool(row.mark) for row in self.rows)
        return str(DIFFER(lines=lines, count=differ) if self.right else lines)

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The table, its head first."""
        head, left = map(str, HEAD), self.left.broker
        if self.right is None:
            return [(*head, left), *((r.who, r.question, r.left) for r in self.rows)]
        right = self.right.broker
        if left == right:  # two programs at one broker
            left, right = self.left.scenario, self.right.scenario
        shown = [row for row in self.rows if row.mark or not self.only]
        both = [(r.who, r.question, r.left, r.mark, r.right) for r in shown]
        return [(*head, left, "", right), *both]

    def __str__(self) -> str:
        rows = [tuple(_cut(cell) for cell in row) for row in self.cells]
        return f"{self.sentence}\n\n{columns(rows)}"

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        head, *rows = self.cells
        body = "".join(
            f"<tr{' class=differs' if '≠' in row else ''}>{_html('td', row)}</tr>" for row in rows
        )
        table = f"<thead><tr>{_html('th', head)}</tr></thead><tbody>{body}</tbody>"
        table = f"<div class=mqlab-laid><table class=answers>{table}</table></div>"
        html = f"<p>{escape(self.sentence)}</p>{table}"
        return {"text/html": STYLE + html, "text/plain": str(self)}


def _cut(cell: str) -> str:
    return cell if len(cell) <= WIDEST else cell[: WIDEST - 1] + "…"


def _html(tag: str, cells: tuple[str, ...]) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)


def _of_clients(recording: Recording) -> list[Observation]:
    return [one for one in recording.observations if one.asked != IN_FILES]


def _row(seen: Observation, left: str, right: str) -> Row:
    return Row(f"{seen.who} → {seen.to}", seen.asked, left, right)


def read_laid(*names: str, only: bool = False) -> Laid:
    """One recording, or two of them side by side, by names as "kafka-4.3.1/tv2/basic-commit".
    `only`: where they differ."""
    left, *right = (load(RECORDINGS / f"{name}.json") for name in names)
    return Laid(left, right[0] if right else None, only)


def ask_both(
    *scenarios: str, engine: RunningBroker | None = None, real: bool = False
) -> list[Laid]:
    """Run the recorded Kafka scenarios of these names against the engine's server, and pair each
    outcome with the recording of a real Kafka. `engine`: a server that runs already, else one is
    started; `real`: start a real Kafka in place of the recordings (Java 17; its jars come by
    Maven, 45 MB, the first time). RealBrokerError where that cannot be."""
    from . import asking  # with kio, which a browser's Python has not

    programs = asking.find_programs(scenarios)
    ours = asking.ask_engine(programs, engine)
    if real:
        theirs = asking.ask_real(programs, VERSION)
    else:
        folder = RECORDINGS / f"kafka-{VERSION}"
        theirs = [load(folder / p.profiles[0] / f"{p.name}.json") for p in programs]
    return [Laid(recorded, answered) for recorded, answered in zip(theirs, ours, strict=True)]


# One silence, three brokers: what each does about an application that never says how it ended

#: an application has done its work, and dies before it says how its transaction ends; its
#: broker's timers then run, and accounting reads
SILENCE = {
    "RocketMQ": """
system order_service producers=app:order-service,twin:order-service early=on consumers=accounting
kill app when=EndTransaction#1
run app: send-in-transaction orders-0 580538
at 30000
fire broker check
run accounting: consume
""",
    "Kafka": """
system kafka partitions=1 producers=app readers=accounting
kill app when=EndTxn#1 after=0
run app: init, begin, send orders-0 580538, commit
at 60000
fire coordinator
run accounting: poll orders-0
""",
    "Pulsar": """
system pulsar clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
kill app when=EndTxn#1 after=0
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
at 60100
fire tc-0 timeout (0,0)
run accounting: receive books
""",
}
DONE = (FactKind.SEND, FactKind.APPEND)


def compare_silence() -> str:
    """What each broker does about an application that says nothing, and what a consumer gets."""
    rows = []
    for broker, story in SILENCE.items():
        facts = list(run_scenario(story).trace)
        does = next(str(f.text) for f in facts if f.kind in DONE and _decides(f.body))
        got = next(f.body.detail for f in facts if isinstance(f.body, Outcome) and _reads(f.body))
        rows.append((broker, does, got))
    return columns([("broker", "when nothing is heard", "accounting gets"), *rows])


def _decides(body: object) -> bool:
    """Whether it is what a broker does about a silent application: it asks, or aborts."""
    from ..kafka.coordinator.entry import StateRecord
    from ..kafka.states import TxnState
    from ..pulsar.messages import TransactionMetadataEntry
    from ..pulsar.states import TxnStatus
    from ..rocketmq.messages import CheckTransactionState

    match body:
        case StateRecord(entry=entry):
            return entry.state is TxnState.PREPARE_ABORT
        case TransactionMetadataEntry(status=status):
            return status is TxnStatus.ABORTING
    return isinstance(body, CheckTransactionState)


def _reads(outcome: Outcome) -> bool:
    from ..kafka.clients.calls import Poll
    from ..pulsar.client.calls import Receive
    from ..rocketmq.consumer import Consume

    return outcome.ok and isinstance(outcome.call, Consume | Poll | Receive)
