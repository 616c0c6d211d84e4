"""What a player shows, as one dictionary: its panels, the narration, its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from mqlab.kernel.text import BadValue, Lang, Words, say_unknown, spoken, tr
from mqlab.kernel.trace import Fact, Trace

from .encoding import encode
from .legend import SHAPES, explain_evidence, find_kind, list_signs, list_terms
from .scene import Scene
from .views import HALF, LEVELS, MOST_ROWS, PANELS, WIDE, Level, Panel, has_story, say_money
from .views.common import say_words

HERE = Path(__file__).parent

WINDOW = 200
"""Facts that a picture of something that goes on holds; earlier ones are left out."""

JOIN = Words("{story} {why}")
"""Where money moves, what a step means comes before how it works."""
MOST_SAID = {"en": 160, "zh": 80}
"""Letters of both: two lines, which captions have in any case."""

LONG = 1_000
"""Facts above which no panel is drawn twice for more room: the page of a long trace stays small."""

CALM = 2
"""Panels up to which a picture has no chips."""

SHORT = {"diagram": "space-time"}
"""Other words for panels."""

FOLDED = {
    "→": tr("Folded: every execution sends this here; the rows below show what follows."),
    "⇒": tr("Folded: an answer that says no more than that the row above is done."),
    "☞": tr("Folded: the call returns what the rows above have decided."),
    "▮": tr("Folded: it is written on the way; no reader and no decision waits for it here."),
    "": tr("Folded: it happens in every execution and changes nothing here."),
}
"""Why a step without a reason of its own is folded, by its glyph."""

WORDS = {
    "player": tr("run of a system"),
    "first": tr("First step"),
    "back": tr("Back (arrow left)"),
    "play": tr("Play (space)"),
    "pause": tr("Pause (space)"),
    "next": tr("Forward (arrow right)"),
    "last": tr("Last step"),
    "speed": tr("Speed of playing"),
    "slider": tr("Step"),
    "place": tr("step {n} of {of}"),
    "folded": tr("{n} folded"),
    "fold": tr("fold {n} again"),
    "red": tr("No longer true: {what}"),
    "start": tr("before the first step"),
    "begin": tr("Press ▶, or click the picture and use the arrow keys."),
    "empty": tr("Nothing has happened yet."),
    "evidence": tr("this step: "),
    "now": tr("At this step"),
    "panels": tr("panels"),
    "news": tr("changed at this step"),
    "whole": tr("Whole window (f)"),
    "part": tr("Leave the whole window (f, Escape)"),
    "legend": tr("Legend (?)"),
    "levels": tr("How much is shown"),
}


def tail(trace: Trace, most: int = WINDOW) -> Trace:
    """The last facts of a trace, with their numbers."""
    if len(trace) <= most:
        return trace
    return replace(trace, facts=trace.facts[-most:], snapshots=trace.snapshots[-most - 1 :])


def words(lang: Lang) -> dict[str, str]:
    return {name: text.of(lang) for name, text in WORDS.items()}


def position(trace: Trace, step: int | None) -> int:
    """A position of the slider; None is the last one, negative ones count from the end."""
    last = len(trace)
    if step is None:
        return last
    if not -last - 1 <= step <= last:
        raise BadValue("step={} is outside the trace; it has positions 0 to {}", step, last)
    return step % (last + 1)


@dataclass(frozen=True, slots=True)
class Look:
    """How a trace is shown: what all players and widgets take as keyword arguments. `lang`: its
    language; `scale`: px per px of a drawing; `panels`: which ones, None: all; `level`: how much is
    shown; `half`: it takes half a page."""

    title: str | None = None
    lang: Lang = "en"
    scale: float = 1.0
    panels: tuple[str, ...] | None = None
    level: Level = "everything"
    half: bool = False  # beside another trace

    @property
    def calm(self) -> bool:
        """A picture of at most two panels is one idea: no chips around it."""
        return self.panels is not None and len(self.panels) <= CALM

    @staticmethod
    def of(
        title: str | None,
        lang: Lang | None,
        scale: float,
        panels: Sequence[str] | None,
        level: str = "everything",
    ) -> Look:
        """Make a Look, how a trace is shown, of a widget's keyword arguments; ValueError for a
        wrong one, checked here, so that a mistake is reported in the cell that made it. A `lang` of
        None is the language that this process has set, a `title` of None the trace's own, `panels`
        of None all."""
        lang = lang or spoken()
        if lang not in ("en", "zh"):
            raise ValueError(f"lang={lang!r}: the pictures speak 'en' and 'zh'")
        if not 0.25 <= scale <= 4:
            raise BadValue("scale={!r}: 1 is normal, 1.5 suits a projector, 4 is the most", scale)
        panel_names = None if panels is None else tuple(SHORT.get(name, name) for name in panels)
        _check_panels(panel_names or ())
        for allowed in LEVELS:  # its own keys have the type that the field has
            if allowed == level:
                return Look(title, lang, scale, panel_names, allowed)
        raise BadValue(say_unknown("level", str(level), LEVELS))

    def heading(self, trace: Trace) -> str:
        return trace.title.of(self.lang) if self.title is None else self.title

    def names(self, trace: Trace) -> list[str]:
        """The panels to draw: all that have content, or those of the ones asked for."""
        return [
            name
            for name, panel in PANELS.items()
            if self._wants(name.partition("/")[0], panel.on_request)
            and (len(trace) <= LONG or not name.endswith("/wide"))
            and panel.shows(trace)
        ]

    def find_levels(self, name: str) -> tuple[Level, ...]:
        """The levels at which a panel is there: what is asked for by its name is at both of the
        protocol's."""
        levels = PANELS[name].levels
        named = self.panels is not None and levels == ("everything",)
        return ("protocol", "everything") if named else levels

    def _wants(self, name: str, on_request: bool) -> bool:
        return not on_request if self.panels is None else name in self.panels


def _check_panels(panels: Sequence[str]) -> None:
    known = [*SHORT, *(name for name in PANELS if "/" not in name)]
    for name in panels:
        if name not in known:
            raise BadValue(say_unknown("panel", name, known))


def build(
    trace: Trace,
    step: int,
    look: Look,
    first: int = 0,
    sizes: dict[str, tuple[float, float]] | None = None,
) -> dict[str, Any]:
    """The payload of a trace, opened at `step`: the encoded drawings of all panels, the narration
    and the words, as plain data that the browser's module plays. Positions before `first` are not
    drawn: the browser asks for them. `sizes`: by panel, width and height (px) so far; it is drawn
    at least so large again, and `sizes` gets what this payload needs."""
    trace = say_words(trace, look.lang)
    names = look.names(trace)
    wide = HALF if look.half else WIDE
    sizes = {} if sizes is None else sizes

    def draw(name: str) -> Iterator[Scene]:
        for scene in draw_steps(PANELS[name], trace, look.lang, wide, first):
            width, height = sizes.get(name, (0, 0))
            sizes[name] = max(width, scene.width), max(height, scene.height)
            yield scene

    data = encode({name: draw(name) for name in names})  # draws all, so `sizes` is complete now
    data["meta"] = {
        "title": look.heading(trace),
        "system": "" if look.calm else trace.label.of(look.lang) or trace.system,
        "calm": look.calm,  # so few panels are shown that the words around them are left out too
        "level": look.level if look.level in list_levels(trace) else "protocol",
        "levels": [[level, LEVELS[level].of(look.lang)] for level in list_levels(trace)],
        "lang": look.lang,
        "scale": look.scale,
        "step": step,
        "first": first,
        "facts": facts(trace, look.lang),
        "legend": list_signs(trace, look.lang),
        "terms": list_terms(trace, look.lang),
        "evidence": explain_evidence(look.lang),
        "words": words(look.lang),
        "panels": {
            name: describe(name, trace, look.lang, wide, sizes[name])
            | {"levels": look.find_levels(name)}
            for name in names
        },
    }
    return data


def list_levels(trace: Trace) -> list[Level]:
    """A trace of a system without a story has none."""
    return [level for level in LEVELS if level != "story" or has_story(trace)]


def is_told(trace: Trace, look: Look) -> bool:
    """If a trace is shown as a story."""
    return look.level == "story" and has_story(trace)


def draw_steps(
    panel: Panel, trace: Trace, lang: Lang, wide: int = WIDE, first: int = 0
) -> Iterator[Scene]:
    """A panel at each step; the very same Scene again where nothing that it draws has changed,
    and before `first`, which stands for all positions that are not drawn yet."""
    view = partial(panel.view, rows=MOST_ROWS, wide=wide) if panel.rows else panel.view
    drawn, scene = None, Scene()
    for step in range(first, len(trace) + 1):
        parts = panel.find_parts(trace, step)
        if parts is None or parts != drawn:
            drawn, scene = parts, view(trace, step, lang=lang)
        yield from repeat(scene, first + 1 if step == first else 1)


def describe(
    name: str, trace: Trace, lang: Lang, wide: int, size: tuple[float, float]
) -> dict[str, Any]:
    """A panel's size and place: all that the browser's layout asks of it."""
    panel = PANELS[name]
    return {
        "size": [round(x, 1) for x in size],
        "side": panel.side,
        "title": panel.title.of(lang),
        "tab": panel.tab.of(lang),
        "pinned": panel.pinned,
        "yields": panel.yields,
        "rows": panel.rows(trace, lang, wide) if panel.rows else None,
    }


def facts(trace: Trace, lang: Lang) -> list[dict[str, Any]]:
    """The narration for the browser: for each fact its line, its reason, its evidence, and its mark
    on the slider (durable, a crash, an invariant that breaks); where invariants turn red, their
    sentences. A fact of the story also has its sentence, and how the money has changed since the
    sentence before."""
    out: list[dict[str, Any]] = []
    # (a light shows an invariant: `ok` while it holds)
    broken_before = sum(not light.ok for light in trace.snapshots[0].lights)
    told = 0  # the position of the last fact that the story tells
    for i, fact in enumerate(trace.facts, 1):
        broken = sum(not light.ok for light in trace.snapshots[i].lights)
        entry: dict[str, Any] = {
            "index": fact.index,
            "line": fact.line(lang),
            "why": say_why(fact, lang),
            "evidence": chip(fact, lang),
            "kind": find_kind(fact),
            "mark": mark(fact, breaks=broken > broken_before),
        }
        if red := find_red(trace, i, lang):
            entry["red"] = red
        if fact.fold:
            entry["fold"] = 1
        if fact.story.en:
            money = say_money(trace.snapshots[told].money, trace.snapshots[i].money, lang)
            entry["story"], entry["money"], told = fact.story.of(lang), money, i
            joined = JOIN(story=fact.story, why=entry["why"]).of(lang)
            if money and len(joined) <= MOST_SAID[lang]:  # else it would be more than two lines
                entry["why"] = joined
        broken_before = broken
        out.append(entry)
    return out


def say_why(fact: Fact, lang: Lang) -> str:
    """Why it happens; of a folded step without a reason of its own: why it is folded."""
    if fact.why.en or not fact.fold:
        return fact.why.of(lang)
    return FOLDED.get(fact.glyph, FOLDED[""]).of(lang)


def find_red(trace: Trace, step: int, lang: Lang) -> str:
    """The sentences of the lights that turn red at this step."""
    before = {light.name for light in trace.snapshots[step - 1].lights if not light.ok}
    new = (x for x in trace.snapshots[step].lights if not x.ok and x.name not in before)
    return "; ".join(light.sentence.of(lang) for light in new)


def chip(fact: Fact, lang: Lang) -> str:
    """A fact's evidence, with its shape."""
    return f"{SHAPES[find_kind(fact)]} {fact.evidence.of(lang)}"


def mark(fact: Fact, breaks: bool) -> str:
    if breaks or (fact.glyph == "✗" and not fact.peer):
        return "crash"
    return "durable" if fact.glyph == "▮" else ""


def refuse(name: str, unknown: dict[str, object], known: Sequence[str]) -> None:
    """Raise TypeError for arguments that do not exist, with the one that was probably meant."""
    for argument in unknown:
        near = get_close_matches(argument, known, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise TypeError(f"{name} has no argument {argument!r}; {guess}It takes {', '.join(known)}.")
