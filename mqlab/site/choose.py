"""The page for an engineer who must decide: words in Markdown, tables and pictures from runs.

Its source is a template. What it says of a run leads there: `story:NAME` to the page of a scenario,
`way:ROLE-STAGE` to the four ways side by side with that node killed at the end of that stage, or
between writing and sending the decision (`unsent`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from mqlab_widgets import Compare, Player
from mqlab_widgets.player import host

from ..kernel import Lang, Run, Text, spoken, tr
from ..places import LABS, SCENARIOS
from ..recordings.costs import load_costs
from ..registry import SYSTEMS, with_evidence
from ..registry.cases.anomalies import MATRIX
from ..registry.cases.prices import BULK
from ..registry.cases.ways import ORDER
from ..registry.matrix import ANOMALIES, WAYS, Cell, Found, Told
from ..registry.prices import tabulate_bulk, tabulate_prices, tabulate_real
from ..registry.ways import MOMENTS, ROLES, UNSENT, find_stage, tabulate_kills
from ..scenario import perform_in_blocks
from .catalogue import find_source, translate
from .documents import dress
from .stories import list_stories

SOURCE = LABS / "choose" / "choose.md"
LINK = re.compile(r"\b(story|way):([\w/-]+)")
NO_KILL = "none"
PICTURE = "<!-- the four ways -->"
LINKED = "<!-- linked -->"
RECORDED = "<!-- recorded -->"


@dataclass(frozen=True, slots=True)
class Beside:
    """The four ways on one clock. `name`: of its page; `picture`: its HTML."""

    name: str
    title: str
    picture: str
    narration: str


def list_linked() -> tuple[Path, ...]:
    """The scenarios that the page leads to. FileNotFoundError where one is not there."""
    names = {name for kind, name in LINK.findall(_fill(SOURCE, "en")) if kind == "story"}
    paths = [SCENARIOS / f"{name}.scn" for name in sorted(names)]
    if gone := [path for path in paths if not path.is_file()]:
        raise FileNotFoundError(f"{SOURCE.name} leads to {gone[0]}, which is not there")
    return tuple(paths)


def render_choice() -> str:
    """The page's content as HTML, its links as addresses beside it."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = LINK.sub(_lead, _fill(find_source(SOURCE), spoken()))
    linked, recorded = _count_recorded()
    text = text.replace(LINKED, str(linked)).replace(RECORDED, str(recorded))
    tokens = markdown.parse(text.replace(PICTURE, next(list_beside()).picture))
    dress(tokens)
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def list_beside() -> Iterator[Beside]:
    """Without a kill first, then a kill of each role at each moment."""
    yield _put_beside(
        NO_KILL, translate("One order, four ways"), [way.text for way in ORDER.values()]
    )
    for role in ROLES:
        for moment in MOMENTS:
            killed = [way.kill_at(moment, role) for way in ORDER.values()]
            title = translate(f"The {role} dies after:") + f" {translate(moment)}"
            yield _put_beside(_name(role, moment), title, killed, find_stage(moment) + 1)


def _name(role: str, moment: str) -> str:
    return f"{role}-{'unsent' if moment == UNSENT else find_stage(moment)}"


def _put_beside(name: str, title: str, texts: Sequence[str], at: int = 0) -> Beside:
    runs, ends = zip(*map(_perform, texts), strict=True)
    players = [Player(with_evidence(run.trace, ""), step=0) for run in runs]
    compare = Compare(players, list(zip(*ends, strict=True)), at)
    picture = f'<div class="runs">{host("", compare.payload, "h2", "picture")}</div>'
    return Beside(name, title, picture, compare.narration())


@cache
def _perform(text: str) -> tuple[Run, tuple[int, ...]]:
    """The run of a story and the ends of its blocks, once for all languages."""
    return perform_in_blocks(text, SYSTEMS)


@cache
def _fill(source: Path, lang: Lang) -> str:
    """The page in Markdown, without its picture: sixty runs are behind its tables."""
    template = Environment(undefined=StrictUndefined).from_string(source.read_text("utf-8"))
    return template.render(
        picture=PICTURE,
        linked=LINKED,
        recorded=RECORDED,
        kills=_kills,
        prices=_prices,
        bulk=_bulk,
        real=_real,
        anomalies=_anomalies,
    )


@cache
def _count_recorded() -> tuple[int, int]:
    """How many stories the page leads to, and how many of them have a recorded step."""
    stories = [story.recorded for story in list_stories(list_linked())]
    return len(stories), sum(stories)


def _lead(match: re.Match[str]) -> str:
    folder = "stories" if match[1] == "story" else "ways"
    return f"{folder}/{match[2]}.html"


def _kills(role: str) -> str:
    head, *rows = tabulate_kills(ORDER, role)
    linked = [
        (f"[{translate(moment)}](way:{_name(role, moment)})", *map(_translate_end, cells))
        for moment, *cells in rows
    ]
    return _table([(translate(head[0]), *head[1:]), *linked])


def _prices() -> str:
    head, *rows = tabulate_prices(ORDER)
    return _table([tuple(map(translate, head)), *rows])


def _bulk() -> str:
    head, *rows = tabulate_bulk(BULK, 2, 3)
    return _table(
        [tuple(map(_translate_if, head[1:])), *(row[1:] for row in rows if row[0] == "forgotten")]
    )


COUNTED = tr("model"), tr("real")


def _real() -> str:
    """The totals of each broker; kind by kind would be longer than the page."""
    head, *rows = tabulate_real(BULK, load_costs(), 2, 3)
    totals = [
        (_translate_end(name), model, real.removesuffix(" *"))
        for name, model, real in rows if "," in name
    ]  # fmt: skip
    return _table([(head[0], *map(str, COUNTED)), *totals])


def _anomalies() -> str:
    rows = [
        (translate(anomaly), *(_cell(MATRIX[way][anomaly]) for way in WAYS))
        for anomaly in ANOMALIES
    ]
    return _table([("", *WAYS), *rows])


def _cell(cell: Cell) -> str:
    """Its verdict, which leads to the first run that shows it, if one does, and what that covers,
    which leads to a run beyond."""
    said = cell.outcome.of()
    for proof in cell.proofs:
        if isinstance(proof, Told):
            said = f"[{said}](story:{proof.story})"
            break
        if isinstance(proof, Found):
            name = proof.case.name.replace("_", "-")
            said = f"[{said}](story:{proof.broker}/counterexamples/{name})"
            break
    for beyond in cell.beyond[:1]:
        covers = f"[{cell.covers}](story:{beyond.story})"
        said += Text(f" ({covers})", f"（{covers}）").of()
    return said


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Markdown; the first row is the head."""
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _translate_end(words: str) -> str:
    """What stands behind the comma, in the language that is spoken."""
    first, _, end = words.partition(", ")
    return first + translate(", ") + translate(end)


def _translate_if(words: str) -> str:
    """The words in the language that is spoken; a formula, such as n=2, stays as it is."""
    return words if "=" in words else translate(words)
