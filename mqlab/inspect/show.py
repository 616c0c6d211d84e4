"""A report for a terminal, as one page, in a notebook, and as data.

The logs are drawn by the view that draws them in the labs. What came from outside is escaped here:
for a terminal by `escape_unseen`, for a page by `xml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mqlab_widgets.player import Player, document
from mqlab_widgets.scene import xml
from mqlab_widgets.style import css, page_css
from mqlab_widgets.views.common import say_words
from mqlab_widgets.views.logs import logs as draw_logs

from ..brokers import find_broker
from ..kernel import Frontier, Log, Snapshot, Text, Words, escape_unseen, frozen, replace
from ..kernel.text import spoken, tr
from ..kernel.trace import Trace
from ..registry.tables import columns, wrap
from .play import IDLE, Answer, Future, list_rows
from .reading import Finding, Gap, LogRead, Reading, Txn

if TYPE_CHECKING:
    from mqlab_widgets import Playground

ROOM = 100  # columns of a terminal
APART = 4  # places without a record that a strip still shows
PLACES = (42, 72)  # px of a record with a short label, and with a long one
SHORT = 5  # letters
BESIDE = 150  # px of a strip that no record has
ABOVE = 20  # px of the view's own heading, which a report has already

NOTHING_FOUND = tr("Nothing found in what was examined.")
LOOKED = Words("Examined: logs {n}, transaction rows {txns}, positions {groups}.")
FOUND = Words("Findings: {n}.")
HEADING = Words("{broker} at {source}")
ITEM = Words("{what}: {says}")
#: mqlab's own words in a Reading, by their English; a broker's own stay as they are
OWN_WORDS = {
    word.en: word
    for word in (
        tr("records"), tr("markers"), tr("aborted", "count"), tr("read", "count"), tr("undecided"),
        tr("set aside"), tr("messages"), tr("open", "count"), tr("committed", "count"),
        tr("hanging"), tr("checks"), tr("consumers"), tr("backlog"), tr("would become"),
        tr("coordinator"), tr("check cursor"), tr("op cursor"),
    )
}  # fmt: skip
TAKEN = Words("As of {time}.")
RISK, DO, SEE, SHOWS = tr("risk"), tr("what to do"), tr("see"), tr("shown by")
LOGS, TXNS, GROUPS, GAPS = (
    tr("Logs"), tr("Transactions"), tr("Groups"), tr("Not examined, or not readable")
)  # fmt: skip
TXN_HEAD = (
    tr("txn"), tr("id"), tr("state"), tr("as seen by"), tr("participants"), tr("producer"),
    tr("open for"), tr("timeout"),
)  # fmt: skip
GROUP_HEAD = (
    tr("group"), tr("log"), tr("reads next"), tr("end"), tr("lag"), tr("waits for"), tr("state")
)  # fmt: skip
NEXT, TAKEN_OVER, LEFT_OUT = (
    tr("What happens next?"), tr("Imported"), tr("Not imported")
)  # fmt: skip
NEXT_HEAD = (tr("what should happen"), tr("what happens"), tr("whether it can, by search"))
FROM_HERE = tr("The engine continues from these records, as after a restart of all brokers.")
RUN = Words("{wish}: {way}")
MOST_RUNS = 3  # that a page plays
SIGNS = tr(
    "Square: a record. Diamond: a control record, such as a marker. Hatched: not yet visible to "
    "read_committed consumers. Struck through: aborted. One colour: one transaction."
)
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


@frozen
class Report:
    """A reading, what was found in it, and, where that was asked, what may happen next; as text it
    is for a terminal, in a notebook a picture."""

    reading: Reading
    findings: tuple[Finding, ...] = ()
    future: Future | None = None

    @property
    def exit_code(self) -> int:
        """0: nothing found; 1: findings; 2: none, but something could not be read."""
        if self.findings:
            return 1
        return 2 if any(gap.failed for gap in self.reading.gaps) else 0

    def playground(self) -> Playground:
        """The broker by hand, from what was read. Raises ValueError where it was not read to be
        played (`play=True`)."""
        from mqlab_widgets import Playground

        if self.future is None:
            raise ValueError("read it with play=True first")
        return Playground(self.future.play(), level="protocol")

    def __str__(self) -> str:
        return write_text(self)

    def _repr_html_(self) -> str:
        return write_html(self)


def say_age(ms: int) -> str:
    """A length of time in its two largest units, `3 h 12 min`; milliseconds only below 10 s."""
    ms -= ms % 1_000 if ms >= 10_000 else 0
    parts: list[str] = []
    for size, unit in UNITS:
        if ms >= size and len(parts) < 2:
            parts.append(f"{ms // size} {unit}")
            ms %= size
        elif parts:
            break
    return " ".join(parts) or "0 s"


def say_time(ms: int) -> str:
    """A moment, in UTC; as a number where it is none of this calendar."""
    try:
        return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OSError, OverflowError, ValueError):
        return f"{ms} ms"


def cut_strips(log: LogRead) -> tuple[Log, ...]:
    """The log as strips that a view can draw: one for the records around each frontier, with the
    frontiers that are there."""
    cuts = [i for i, (a, b) in enumerate(pairwise(log.cells), 1) if b.offset - a.offset > APART]
    parts = [log.cells[a:b] for a, b in pairwise((0, *cuts, len(log.cells)))]
    strips: list[Log] = []
    for part in parts:
        start = part[0].offset if part else log.end
        end = part[-1].offset + 1 if part else log.end
        flags = tuple(f for f in log.frontiers if start <= f.at <= end)
        name = log.name if not strips else f"{log.name} @{start}"
        strips.append(Log(name, part, flags, start))
    return tuple(strips)


# ---- tables ------------------------------------------------------------------------------


def list_txns(reading: Reading) -> list[tuple[str, ...]]:
    """The rows of the transactions, the head first."""
    return [tuple(map(str, TXN_HEAD)), *(_txn_row(txn, reading.at_ms) for txn in reading.txns)]


def _txn_row(txn: Txn, now_ms: int) -> tuple[str, ...]:
    age = say_age(max(now_ms - txn.since_ms, 0)) if txn.since_ms >= 0 else ""
    owner = f"{txn.owner} / {txn.epoch}" if txn.epoch >= 0 else txn.owner
    timeout = say_age(txn.timeout_ms) if txn.timeout_ms >= 0 else ""
    state, seen = _say_state(txn.state, txn.more), _say_own(txn.seen)
    return (txn.label, txn.name, state, seen, _join(txn.where), owner, age, timeout)


def list_positions(reading: Reading) -> list[tuple[str, ...]]:
    """The rows of the groups, the head first."""
    rows = [tuple(map(str, GROUP_HEAD))]
    for one in reading.positions:
        ends = (str(one.end), str(one.end - one.at)) if one.end >= 0 <= one.at else ("", "")
        at = str(one.at) if one.at >= 0 else ""
        state = _say_state(one.state, one.more)
        rows.append((one.group, one.log, at, *ends, _join(one.pending), state))
    return rows


def _say_own(text: str) -> str:
    """A word of mqlab's own, or such a word and a number, in the language that is spoken."""
    word, blank, number = text.rpartition(" ") if text[-1:].isdecimal() else (text, "", "")
    return f"{OWN_WORDS.get(word, word)}{blank}{number}"


def _say_flag(frontier: Frontier) -> str:
    """A name without a blank is a group's, or the broker's own."""
    return _say_own(frontier.name) if " " in frontier.name else frontier.name


def _say_state(state: str, more: Iterable[tuple[str, str]]) -> str:
    return "; ".join(filter(None, map(_say_own, [state, *map(" ".join, more)])))


def _join(names: Sequence[str], most: int = 4) -> str:
    more = f" +{len(names) - most}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# ---- the terminal ------------------------------------------------------------------------


def write_text(report: Report) -> str:
    """The report in lines of a terminal; nothing in it that a terminal would obey."""
    return "\n".join(map(escape_unseen, _text_lines(report)))


def _text_lines(report: Report) -> Iterator[str]:
    """The report as lines of text for a terminal: heading, findings, then what was read (logs,
    transactions, groups), what was not, and what may happen next; a part that is empty is left
    out."""
    reading = report.reading
    yield " · ".join(filter(None, (_heading(reading), _say_when(reading))))
    yield ""
    for number, finding in enumerate(report.findings, 1):
        yield from _finding_lines(number, finding, reading)
        yield ""
    if not report.findings:
        yield str(NOTHING_FOUND)
    yield _say_looked_at(reading)
    for title, lines in (
        (LOGS, [line for log in reading.logs for line in _log_lines(log)]),
        (TXNS, _table_lines(list_txns(reading))),
        (GROUPS, _table_lines(list_positions(reading))),
        (GAPS, _gap_lines(reading.gaps)),
        *_next_lines(report.future),
    ):
        if lines:
            yield from ("", str(title), *(f"  {line}" for line in lines))


def _gap_lines(gaps: Iterable[Gap]) -> list[str]:
    return [line for gap in gaps for line in _wrapped(_say_gap(gap))]


def _say_gap(gap: Gap) -> str:
    return str(ITEM(what=gap.what, says=gap.why))


def _next_lines(future: Future | None) -> Iterator[tuple[Text, list[str]]]:
    if future is not None:
        lines = _wrapped(str(FROM_HERE)) + [str(IDLE)] * (not future.answers)
        for wish, way, answer in list_rows(future):
            lines += _wrapped(wish) if wish else []
            lines += _wrapped(str(ITEM(what=way, says=answer)), "  ", "    ")
        yield NEXT, lines
        yield TAKEN_OVER, [line for one in future.taken.took for line in _wrapped(str(one))]
        yield LEFT_OUT, _gap_lines(future.taken.left)


def _heading(reading: Reading) -> str:
    title = find_broker(reading.broker).title
    return str(HEADING(broker=title, source=reading.source))


def _say_when(reading: Reading) -> str:
    """As of when; a store that was never written to does not say."""
    return str(TAKEN(time=say_time(reading.at_ms))) if reading.at_ms else ""


def _say_looked_at(reading: Reading) -> str:
    txns, groups = len(reading.txns), len(reading.positions)
    return str(LOOKED(n=len(reading.logs), txns=txns, groups=groups))


def _finding_lines(number: int, finding: Finding, reading: Reading) -> Iterator[str]:
    yield f"{number}  {finding.kind.title} · {finding.where}"
    yield from _wrapped(str(finding.says), "   ")
    for one in finding.evidence:
        yield from _wrapped(f"▸ {one.line}  [{one.source}]", "   ", "     ")
    yield from _wrapped(str(ITEM(what=RISK, says=finding.kind.risk)), "   ")
    if finding.advice.en:
        yield from _wrapped(str(ITEM(what=DO, says=finding.advice)), "   ")
    yield from (f"     {command}" for command in finding.commands)
    if finding.kind.see:
        see = ", ".join(map(_say_reference, finding.kind.see))
        yield from _wrapped(str(ITEM(what=SEE, says=see)), "   ")


def _say_reference(name: str) -> str:
    """What explains it, as one finds it: a scenario by the command that opens it."""
    return f"mqlab view {name}" if "/" in name else name


def _wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    return wrap(escape_unseen(text), ROOM, first, first if rest is None else rest)


def _table_lines(rows: list[tuple[str, ...]]) -> list[str]:
    if len(rows) < 2:
        return []
    return columns([tuple(map(escape_unseen, row)) for row in rows]).splitlines()


def _log_lines(log: LogRead) -> Iterator[str]:
    """A log as lines of text: its offsets and frontiers (LSO, high watermark …), then each strip of
    records that it was cut into, with each frontier as |NAME| before the record at its offset."""
    # an inclusive frontier is printed at the last record before it
    flags = " ".join(f"{_say_flag(f)} {f.at - f.inclusive}" for f in log.frontiers)
    counts = ", ".join(f"{_say_own(what)} {number:,}" for what, number in log.counts)
    span = f"{log.start} … {log.end - 1}"
    yield "  ".join(filter(None, (log.name, span, flags, counts)))
    for strip in cut_strips(log):
        flags_at: dict[int, str] = {}  # by offset, the names of all frontiers that are there
        for f in strip.frontiers:
            flags_at[f.at] = "|".join(_say_flag(g) for g in strip.frontiers if g.at == f.at)
        words = []
        for cell in strip.cells:
            words += [f"|{flags_at.pop(cell.offset)}|"] if cell.offset in flags_at else []
            txn_mark = (f"/{cell.txn}" if cell.txn else "") + ("✗" if cell.aborted else "")
            words.append(f"{cell.offset}:{'◆' * (cell.kind == 'control')}{cell.label}{txn_mark}")
        # frontiers after the strip's last record, or where no record was read
        words += [f"|{name}|" for _, name in sorted(flags_at.items())]
        if strip.cells:
            yield from _wrapped(" ".join(words), "    ")


# ---- the page ----------------------------------------------------------------------------


def write_page(report: Report) -> str:
    """One page that needs nothing else."""
    body = f"<style>{page_css('report.css')}</style>{_html(report, 'h1', 'h2')}"
    return document(escape_unseen(_heading(report.reading)), spoken(), body, "")


def write_html(report: Report) -> str:
    """The same below a cell of a notebook."""
    return f"<style>{css('report.css')}</style>{_html(report, 'h3', 'h4')}"


def _html(report: Report, *tags: str) -> str:
    return f'<div class="mqlab report">{"".join(_html_pieces(report, *tags))}</div>'


def _html_pieces(report: Report, title_tag: str, heading_tag: str) -> Iterator[str]:
    """The report as HTML, piece by piece: each finding with its picture, evidence and commands,
    then what was read, what was not, and what may happen next. `title_tag`, `heading_tag`: the HTML
    elements of its title and headings ("h1", "h2" on a page, smaller ones in a notebook)."""
    reading = report.reading
    yield _tag(title_tag, _heading(reading))
    summary = FOUND(n=len(report.findings)) if report.findings else NOTHING_FOUND
    yield _tag("p", f"{summary} {_say_looked_at(reading)} {_say_when(reading)}".strip(), "note")
    logs = {log.name: log for log in reading.logs}
    for finding in report.findings:
        yield f"<section>{_tag(heading_tag, f'{finding.kind.title} · {finding.where}')}"
        yield _tag("p", str(finding.says))
        yield _draw_strips([logs[name] for name in finding.logs if name in logs])
        # what is said of the finding: (heading, HTML)
        rows = [(RISK, _tag("span", str(finding.kind.risk)))]
        advice = [_tag("span", str(finding.advice))] if finding.advice.en else []
        advice += [_tag("pre", command) for command in finding.commands]
        rows += [(DO, "".join(advice))] if advice else []
        evidence = (f"{_tag('code', e.line)} {_tag('small', e.source)}" for e in finding.evidence)
        rows += [(SHOWS, "<br>".join(evidence))] if finding.evidence else []
        rows += [(SEE, ", ".join(_tag("code", _say_reference(name)) for name in finding.kind.see))]
        body = "".join(f"<dt>{xml(str(what))}</dt><dd>{inner}</dd>" for what, inner in rows)
        yield f"<dl>{body}</dl></section>"
    if reading.logs:
        yield _tag(heading_tag, str(LOGS)) + _tag("p", str(SIGNS), "note")
        yield _draw_strips(reading.logs)
    for title, rows_of in ((TXNS, list_txns(reading)), (GROUPS, list_positions(reading))):
        if len(rows_of) > 1:  # the first row is the head
            yield _tag(heading_tag, str(title)) + _html_table(rows_of)
    if reading.gaps:
        yield _tag(heading_tag, str(GAPS)) + _list(map(_say_gap, reading.gaps))
    if report.future is not None:
        yield from _next_html(report.future, heading_tag)


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(_tag('li', line) for line in lines)}</ul>"


def _next_html(future: Future, heading_tag: str) -> Iterator[str]:
    """What may happen next as HTML: a table of the searches' answers, players, what was taken over
    from the broker, and what was left out. Of each wish (what a client waits for) that may come
    true, the first schedule found that is not empty is played, for the first MOST_RUNS wishes."""
    yield _tag(heading_tag, str(NEXT)) + _tag("p", str(FROM_HERE), "note")
    rows = [tuple(map(str, NEXT_HEAD)), *list_rows(future)]
    yield _html_table(rows, "rows next") if future.answers else _tag("p", str(IDLE))
    first_of_wish: dict[str, Answer] = {}
    for answer in future.answers:
        if answer.schedule:  # None: it was not found; empty: it is true already
            first_of_wish.setdefault(answer.wish.en, answer)
    for answer in list(first_of_wish.values())[:MOST_RUNS]:
        if answer.trace is not None:  # as it is of each schedule that a search has found
            title = escape_unseen(str(RUN(wish=answer.wish, way=answer.way.says)))
            yield Player(answer.trace, title=title, lang=spoken(), level="protocol").html("h3")
    yield _tag("h3", str(TAKEN_OVER)) + _list(map(str, future.taken.took))
    yield _tag("h3", str(LEFT_OUT)) + _list(map(_say_gap, future.taken.left))


def _tag(name: str, text: str, cls: str = "") -> str:
    opening = f'{name} class="{cls}"' if cls else name
    return f"<{opening}>{xml(escape_unseen(text))}</{name}>"


def _draw_strips(logs: Iterable[LogRead]) -> str:
    """The logs as an SVG figure in a box that scrolls, drawn as the labs draw them, with the same
    in words as its label; "" where there is nothing to draw."""
    strips = [_escape_strip(strip) for log in logs for strip in cut_strips(log)]
    if not strips:
        return ""
    most_offsets = max(len(_offsets(strip)) for strip in strips)
    longest = max((len(cell.label) for strip in strips for cell in strip.cells), default=0)
    trace = Trace(system="", choices=(), facts=(), snapshots=(Snapshot(logs=tuple(strips)),))
    # width: the strip with the most offsets (room for 4 at least), each wide enough for the longest
    # label; the trace has no step but this one picture, number 0
    scene = draw_logs(
        say_words(trace, spoken()),
        0,
        spoken(),
        BESIDE + PLACES[longest > SHORT] * max(most_offsets, 4),
    )
    inner = "".join(node.svg() for node in scene.nodes)
    size = (scene.width, scene.height - ABOVE)
    words = xml(escape_unseen("; ".join(line for log in logs for line in _log_lines(log))))
    return (
        f'<div class="strips" tabindex="0"><svg width="{size[0]:g}" height="{size[1]:g}" '
        f'viewBox="0 {ABOVE} {size[0]:g} {size[1]:g}" role="img" aria-label="{words}">{inner}'
        "</svg></div>"
    )


def _offsets(strip: Log) -> range:
    return range(strip.start, strip.cells[-1].offset + 1 if strip.cells else strip.start)


def _escape_strip(strip: Log) -> Log:
    """With its names and labels as they may be shown."""
    cells = tuple(replace(cell, label=escape_unseen(cell.label)) for cell in strip.cells)
    flags = tuple(replace(f, name=escape_unseen(_say_flag(f))) for f in strip.frontiers)
    return replace(strip, name=escape_unseen(strip.name), cells=cells, frontiers=flags)


def _html_table(rows: list[tuple[str, ...]], cls: str = "rows") -> str:
    head = "".join(_tag("th", cell) for cell in rows[0])
    body = "".join(f"<tr>{''.join(_tag('td', cell) for cell in row)}</tr>" for row in rows[1:])
    return f'<div class="{cls}" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'


# ---- data --------------------------------------------------------------------------------


def to_json(report: Report) -> dict[str, Any]:
    """The report as data; texts in the language that is spoken."""
    found: dict[str, Any] = _plain(report)
    found.pop("future")
    if report.future is not None:
        found["next"] = [
            {"wish": str(one.wish), "way": one.way.name, "answer": str(one.says),
             "run": one.schedule, "states": one.states, "complete": one.complete}
            for one in report.future.answers
        ]  # fmt: skip
    return found | {"exit": report.exit_code}


def _plain(value: Any) -> Any:
    if isinstance(value, Text):
        return value.of()
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.compare}
    return list(map(_plain, value)) if isinstance(value, tuple) else value
