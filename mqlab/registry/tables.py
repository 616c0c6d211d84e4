"""Text tables: the same as a picture, for screen readers, diffs and nbval."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..kernel import Outcome, Trace, Words, spoken, translate
from ..kernel.text import Said, count_columns, match_words, say_both

CJK = "\u2e80-\u9fff\uff00-\uffef"
CLOSING = "，。：；？！、）》”…"
WORD = rf"[^\s{CJK}]+?(?:(?<=\w-)(?=[a-z])|(?=[\s{CJK}]|$))"
#: what stays in one line: a word up to its hyphen, or a Chinese character with the signs about it
PIECE = re.compile(rf"\s*(?:[“（《]*(?:(?![{CLOSING}])[{CJK}]|{WORD}))[{CLOSING}]*|\s*\S")

#: cells that are made of others
CELLS = (
    Words("{}, until told"), Words("{}, until seen"), Words("{}, until forgotten"),
    Words("{} choices"), Words("{} counted {}×"),
    Words("{} lost, {} twice"), Words("{} lost"),
    Words("commit marker of {}"), Words("abort marker of {}"), Words("{}, fatal"),
    Words("{}, abortable"), Words("{} lost, up to 120 ms"),
    Words("without {}"), Words("with all safeguards: {}"),
    Words("refused: {}"), Words("{}, {} of {} twice"), Words("{} → {}, no answer"),
    Words("{} → {}, unknown"),
)  # fmt: skip


class Name(str):
    """A cell with a name of the system's own: said alike in every language."""


def table(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    """Rows as plain text; `head` names the columns, separated by "|"."""
    names = tuple(name.strip() for name in head.split("|"))
    cells = (tuple(one if isinstance(one, str) else str(one) for one in row) for row in rows)
    return columns([names, *cells])


def columns(rows: list[tuple[str, ...]]) -> str:
    """Rows as text whose columns are aligned; the first row is the head. A cell that
    the catalogue has (context "cell") is said in the language that is spoken; names of the
    systems' own things, answers of recordings and code stay as they are."""
    rows = [tuple(map(in_words, row)) for row in rows]
    wide = [max(count_columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = [pad(cell, w) for cell, w in zip(row, wide, strict=True)]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * w for w in wide))
    return "\n".join(lines)


def in_words(cell: str) -> str:
    """A cell of a table, or a name in a plot, in the language that is spoken: what the catalogue
    has in the contexts "cell" and "claim"."""
    if spoken() == "en" or isinstance(cell, Name):
        return cell
    if said := translate(cell, "cell") or translate(cell, "claim"):
        return Said(said)
    made = match_words(cell, CELLS)
    return Said(made.of()) if made else cell


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of so many columns; `first`, `rest`: what they begin with. Chinese breaks
    after any character that no closing sign follows."""
    lines = [first]
    for piece in PIECE.findall(text):
        if count_columns(lines[-1] + piece) > width:
            lines.append(rest + piece.lstrip())
        else:
            lines[-1] += piece
    return lines


def pad(cell: str, width: int, right: bool = False) -> str:
    """The cell with blanks up to so many columns of a terminal; `right`: they precede it."""
    blanks = " " * (width - count_columns(cell))
    return blanks + cell if right else cell + blanks


ROOM = 91  # columns for a call and its answer: JupyterLab shows 106 beside its files at 1280 px


def say_result(outcome: Outcome) -> str:
    """What a call gave, in the language that is spoken: "ok @7", "failed …"."""
    return Name(say_both(lambda: outcome.result))


def list_calls(trace: Trace, *nodes: str) -> str:
    """What the calls of these applications gave, one after the other; of none: of all. An answer
    for which a line has no room goes on below."""
    given = ((Name(f.node), f.body) for f in trace if isinstance(f.body, Outcome))
    made = [(node, got) for node, got in given if not nodes or node in nodes]
    rows = [(node, Name(got.call), say_result(got)) for node, got in made]
    room = ROOM - max((len(call) for _, call, _ in rows), default=0)
    lines: list[tuple[str, ...]] = []
    for node, call, result in rows:
        begin, *rest = wrap(result, room)
        lines += [(node, call, Name(begin)), *(("", "", Name(line)) for line in rest)]
    return table("application | calls | and gets", lines)


def find_lines(trace: Trace, *words: str, width: int = 10) -> str:
    """The lines of a narration that hold one of these words; ⋮ where others are left out."""
    lines: list[str] = []
    for fact in trace:
        if any(word in fact.text.en for word in words):
            lines.append(fact.line(width=width))
        elif not lines or lines[-1] != "⋮":
            lines.append("⋮")
    return "\n".join(lines)
