"""The legend: what each sign of the picture means, one sentence each, in both languages.

A row is the sign's CSS class, as the views draw it, and its sentence. Views know no broker, so
neither does the legend: the flags of a trace and its words come from the trace, which has them
from its system (`System.terms`).
"""

from __future__ import annotations

from mqlab.kernel.text import Lang, Text, tr
from mqlab.kernel.trace import Fact, Trace

from .views.logs import flag_colours
from .views.readers import find_again

SIGNS: dict[str, Text] = {
    "sent": tr("a message leaves; its head shows where it goes"),
    "reply": tr("dashed: an answer leaves"),
    "late": tr(
        "dash-dot, with a bar: a request drawn above arrives only now, after its connection broke"
    ),
    "lost": tr("a connection broke: nobody answers on it any more"),
    "block": tr(
        "filled block: written to the node's log; a power cut may take what is not flushed"
    ),
    "change": tr("something changes in memory only"),
    "call": tr("a call of the application returns"),
    "crash": tr("red disc: the node stops, its memory is gone"),
    "dead": tr("red lane: the node is down"),
    "ring": tr("open ring: it starts again from its disk"),
    "clock": tr("a timer runs out"),
    "span": tr("bar on a lane: this transaction is open there, in the transaction's colour"),
    "fold": tr("+3: three steps that teach nothing here are folded; a click shows them"),
    "record": tr("square: a record; paler and dashed, a copy of one earlier in the log"),
    "diamond": tr(
        "diamond: a control record; C ends a transaction by commit, A by abort, a number is "
        "the offset of a half message that has ended"
    ),
    "hatch": tr("hatched: written, but readers of committed data may not see it yet"),
    "struck": tr("struck through: aborted; it stays in the log and is never read committed"),
}

#: of traces that have money
MONEY_SIGNS: dict[str, Text] = {
    "money": tr(
        "bar: the money that is; dashed, it is not settled yet; red, it is lost or counted twice"
    ),
    "due": tr("mark across the bar: the money that should be"),
}

#: of traces with logs that know how far each reader has come
READER_SIGNS: dict[str, Text] = {
    "passed": tr(
        "filled bar below a log: this reader is done with it; the small flag marks how far it "
        "is done without a gap"
    ),
    "taken": tr(
        "outlined, with a name: that transaction has taken it for the reader until it ends"
    ),
    "refused": tr("red cross: another transaction asked for it too and was refused"),
}

#: of traces in which a reader is given a record twice
AGAIN = {"again": tr("two red lines around a record: this reader was given the same one before")}

#: what a step rests on, by the kind of its evidence: shown by shape and words, colour repeats it
SHAPES = {"recorded": "●", "model": "○", "contradicts": "≠"}
EVIDENCE: dict[str, Text] = {
    "recorded": tr("recorded: a real broker was asked the same and gave this answer"),
    "model": tr("model: a step of this program; no recording of a real broker shows it"),
    "contradicts": tr(
        "otherwise than many articles say: the sentence below the step tells what they say"
    ),
}


def find_kind(fact: Fact) -> str:
    """The kind of a fact's evidence: its first word."""
    first = fact.evidence.en.partition(" ")[0]
    return first if first in SHAPES else "model"


def list_signs(trace: Trace, lang: Lang) -> list[list[str]]:
    """The rows of a trace's legend, each [CSS class of the sign, sentence]: first the signs that
    may be drawn, then the flags at its logs' frontiers (high watermark …), then the kinds of its
    steps' evidence."""
    colon = "：" if lang == "zh" else ": "
    terms = trace.terms  # the system's own words
    meanings = {said: text for name, text in terms for said in (name.en, name.of(lang))}
    signs = SIGNS | (MONEY_SIGNS if any(s.money is not None for s in trace.snapshots) else {})
    if any(log.progress for s in trace.snapshots for log in s.logs):
        signs |= READER_SIGNS
    deliveries = {reader.got for snapshot in trace.snapshots for reader in snapshot.readers}
    if any(map(find_again, deliveries)):
        signs |= AGAIN
    rows = [[sign, text.of(lang)] for sign, text in signs.items()]
    for name, colour in flag_colours(trace).items():
        meaning = meanings.get(name)
        # A flag that is none of the system's terms has only its name.
        rows.append([f"flag {colour}", f"{name}{colon}{meaning.of(lang)}" if meaning else name])
    kinds = {find_kind(fact) for fact in trace.facts}
    for kind, text in EVIDENCE.items():
        if kind in kinds:
            rows.append([f"evidence {kind}", f"{SHAPES[kind]} {text.of(lang)}"])
    return rows


def list_terms(trace: Trace, lang: Lang) -> dict[str, str]:
    """The broker's words as the picture writes them, with a sentence each: its tooltips."""
    return {name.of(lang): means.of(lang) for name, means in trace.terms}


def explain_evidence(lang: Lang) -> dict[str, str]:
    """For each kind of evidence the sentence that its chip says when one points at it."""
    return {kind: text.of(lang) for kind, text in EVIDENCE.items()}
