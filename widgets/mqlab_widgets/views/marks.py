"""One row of the space-time diagram: a message, a durable block, a crash, a timer …

Drawn once for a fact, in coordinates of its own row, and used again at every step.
"""

from __future__ import annotations

from functools import lru_cache

from mqlab.kernel.text import Lang
from mqlab.kernel.trace import Fact, Trace

from ..scene import Part, Scene
from ..widths import fit, fit_apart, halve, width
from .common import ROW, SLOTS, Plan

MID = ROW / 2
LABEL = 11.5
SMALL, LEADING = 10.5, 11  # of a label in two lines, and px from one to the next
NUMBER = 27  # px: where the number of a step ends; it begins in the picture
GAP = 7  # between a lane and the end of an arrow
HEAD_LENGTH = 10
EDGE = 14  # between a label and what is beside it, or the picture's end
SIZE = 10.5  # of a number and of a transaction's name
TAG = 26  # px: the name of a transaction, right of the number
START = NUMBER + 2 + TAG + 3  # where labels may begin: numbers and names are left of it
PADDING = 14  # of a label on a line, to each side: some of the line must stay visible


def place_number(index: int) -> float:
    """Where the number of a step ends: one of many digits is whole, and the name of the transaction
    gives way."""
    return max(NUMBER, width(str(index), SIZE))


def row(trace: Trace, position: int, plan: Plan, lang: Lang) -> Part:
    """The row of a fact; its caller puts it in place and says if it is past, now or future."""
    fact = trace.facts[position - 1]
    here, there = plan.x.get(fact.node), plan.x.get(fact.peer)
    x = None if here is None else _slot_x(plan, fact, position, here)
    return _draw_row(fact, position, here, there, x, plan.txn[position], plan.width, lang)


@lru_cache(maxsize=4_096)
def _draw_row(
    fact: Fact,
    position: int,
    here: float | None,
    there: float | None,
    slot: float | None,
    cls: str,
    total: float,
    lang: Lang,
) -> Part:
    """Draw the row of a fact: its number, its transaction, and its arrow or mark with a label.
    `position`: the fact's place in the trace, from 1; `here`, `there`: x of the lanes of its node
    and its peer, None for one that is not shown (without `here` only the label is drawn); `slot`: x
    of its mark, on its transaction's span or else on the lane; `cls`: class of its transaction's
    colour; `total`: the diagram's width. Cached by these values, so that a longer trace of the same
    execution draws only its new rows."""
    scene = Scene()
    key = f"{position}"
    scene.rect(f"hit:{key}", 0, 0, total, ROW, "hit")
    end = place_number(fact.index)
    scene.text(f"num:{key}", end, MID + 4, str(fact.index), "num")
    if fact.txn:
        name = fit(fact.txn, START - end - 3, SIZE, bold=True)
        scene.text(f"txn:{key}", end + 2, MID + 4, name, f"tag {cls}")
    text = (fact.label if fact.label.en else fact.text).of(lang)
    # the node has no lane in this picture
    if here is None or slot is None:
        _draw_label(scene, key, total / 2, _fit_label(text, total - 90), "lab mid", share=0.5)
    # a message: sent, late, answered or lost
    elif there is not None and there != here and fact.glyph in "→⇥⇒✗":
        _draw_message(scene, key, fact.glyph, here, there, text, cls, total)
    else:
        draw_mark(scene, key, fact, slot, cls)
        _label_beside(scene, key, max(slot, here), text, _tone(fact.glyph), total, min(slot, here))
    return scene.seal()


def _slot_x(plan: Plan, fact: Fact, position: int, x: float) -> float:
    """A durable block is on its own transaction's span, which may be beside the lane."""
    if fact.glyph == "▮" and fact.txn:
        for span in plan.spans:
            if span.lane == fact.node and span.first <= position <= span.last:
                if span.cls == plan.txn[position]:
                    return x + SLOTS[span.slot]
    return x


def _tone(glyph: str) -> str:
    return {"✗": "lab bad", "·": "lab quiet"}.get(glyph, "lab")


def _draw_message(
    scene: Scene, key: str, glyph: str, x1: float, x2: float, text: str, cls: str, total: float
) -> None:
    tail, tip = draw_arrow(scene, key, glyph, x1, x2, cls)
    _label_arrow(scene, key, tail, tip, text, _tone(glyph), total)


def draw_arrow(
    scene: Scene, key: str, glyph: str, x1: float, x2: float, cls: str
) -> tuple[float, float]:
    """Draw a message from the lane at `x1` to the lane at `x2`, by its glyph: "⇒" answered, "⇥"
    late, "✗" lost (it ends before it arrives), else sent. `key` names its elements, `cls` is the
    class of its colour. Returns the x of its tail and of its tip."""
    way = 1 if x2 > x1 else -1
    tail, tip = x1 + GAP * way, x2 - GAP * way
    if glyph == "✗":  # lost: it ends before it arrives
        tip = tail + (tip - tail) * 0.7
    back = tip - HEAD_LENGTH * way
    kind = {"⇒": "reply", "⇥": "late", "✗": "lost"}.get(glyph, "sent")
    with scene.group(f"msg:{key}", f"msg {kind} {'ltr' if way > 0 else 'rtl'} {cls}"):
        scene.line(f"shaft:{key}", tail, MID, tip if glyph == "✗" else back, MID, "shaft")
        if glyph == "⇥":
            scene.line(f"bar:{key}", tail, MID - 5, tail, MID + 5, "shaft solid")
        if glyph == "✗":
            scene.path(f"head:{key}", _cross(tip, 5), "cross")
        else:
            scene.path(
                f"head:{key}", f"M{tip:g} {MID:g}L{back:g} {MID - 5.5:g}V{MID + 5.5:g}Z", "head"
            )
    return tail, tip


def _label_arrow(
    scene: Scene, key: str, tail: float, tip: float, text: str, cls: str, total: float
) -> None:
    """Write `text` at an arrow between x `tail` and x `tip` in a diagram `total` px wide. Three
    places are tried: from the picture's edge over the arrow's tail, if it is cut less or takes
    fewer lines there; in the arrow's middle, if that hides neither end; else beside the arrow. The
    head stays in sight, and what fits nowhere is cut."""
    bold, head = "bad" in cls, HEAD_LENGTH + PADDING
    left, right = min(tail, tip) - GAP, max(tail, tip) + GAP
    within = abs(tip - tail) - HEAD_LENGTH - 2 * PADDING  # px for a label in the middle
    lines = _fit_label(text, max(within, total - right - EDGE, left - EDGE - START), bold)
    over = _fit_label(text, total - EDGE - (tip + head) if tip < tail else tip - head - START, bold)
    # Less is better: whether something is cut, then how many lines.
    if ("…" in str(over), len(over)) < ("…" in str(lines), len(lines)):
        x, end = (total - EDGE, " end") if tip < tail else (START, "")
        _draw_label(scene, key, x, over, cls + end, share=1 if end else 0)
    elif _measure_label(lines, bold) <= within:
        shift = -HEAD_LENGTH / 2 if tip > tail else HEAD_LENGTH / 2
        _draw_label(scene, key, (tail + tip) / 2 + shift, lines, f"{cls} mid", share=0.5)
    else:
        _label_beside(scene, key, right, text, cls, total, left)


def _label_beside(
    scene: Scene, key: str, x: float, text: str, cls: str, total: float, left: float
) -> None:
    """To the right of x if there is room; else to the left of `left`; else as much as fits."""
    bold = "bad" in cls
    room_right, room_left = total - x - EDGE, left - EDGE - START
    lines = _fit_label(text, max(room_right, room_left), bold)
    if _measure_label(lines, bold) > room_right and room_left > room_right:
        _draw_label(scene, key, left - EDGE, lines, f"{cls} end", share=1)
    else:
        _draw_label(scene, key, x + EDGE, lines, cls, share=0)


def _fit_label(text: str, room: float, bold: bool = False) -> list[str]:
    """A label in one line; where it does not fit, in two small ones; where these do not, without
    the middle of the second: what had not happened, or the last of some partitions, is at its
    end."""
    if width(text, LABEL, bold) <= room:
        return [text]
    lines = halve(text, room, SMALL, bold)
    return [fit_apart([one], room, SMALL if len(lines) > 1 else LABEL, bold)[one] for one in lines]


def _measure_label(lines: list[str], bold: bool) -> float:
    return max(width(line, SMALL if len(lines) > 1 else LABEL, bold) for line in lines)


def _draw_label(scene: Scene, key: str, x: float, lines: list[str], cls: str, share: float) -> None:
    """Draw a label at `x`, and a plate that keeps lines from running through it (an underscore, a
    blank and the gaps between letters are wider than the outline that CSS gives each letter).
    `share`: how much of it is left of `x`: 0, 0.5 or 1, as its class anchors it."""
    wide, two = _measure_label(lines, "bad" in cls), len(lines) > 1
    y, high = (MID - 1.8, ROW - 2) if two else (MID + 4, ROW - 6)
    scene.rect(f"plate:{key}", x - wide * share - 3, MID - high / 2, wide + 6, high, "plate", rx=3)
    for i, line in enumerate(lines):
        name = f"lab:{key}" + f":{i}" * (i > 0)
        scene.text(name, x, y + i * LEADING, line, cls + " two" * two)


def draw_mark(scene: Scene, key: str, fact: Fact, x: float, cls: str) -> None:
    """Draw the sign of a fact on its lane at `x`, by its glyph: a block for a write, a cross for a
    crash, a clock for a timer …, a dot where the glyph has no sign. `cls`: class of its
    transaction's colour; `key` names the elements."""
    mark = f"mark:{key}"
    match fact.glyph:
        case "▮":
            scene.rect(mark, x - 4.5, MID - 7, 9, 14, f"block {cls}", rx=1)
        case "✗":
            with scene.group(mark, "crash"):
                scene.circle(f"disc:{key}", x, MID, 8, "disc")
                scene.path(f"cross:{key}", _cross(x, 4), "on-disc")
        case "↻":
            scene.circle(mark, x, MID, 6.5, "ring")
        case "⏲":
            with scene.group(mark, "clock"):
                scene.circle(f"face:{key}", x, MID, 7.5, "face")
                scene.path(f"hands:{key}", f"M{x:g} {MID - 4.5:g}V{MID:g}h3.5", "hands")
        case "⇨":
            scene.path(mark, f"M{x - 6:g} {MID:g}l6-6l6 6l-6 6z", f"change {cls}")
        case "☞":
            scene.path(mark, f"M{x - 5:g} {MID - 6:g}l10 6l-10 6z", f"call {cls}")
        case _:
            scene.circle(mark, x, MID, 3, "dot")


def _cross(x: float, r: float) -> str:
    return (
        f"M{x - r:g} {MID - r:g}L{x + r:g} {MID + r:g}M{x + r:g} {MID - r:g}L{x - r:g} {MID + r:g}"
    )
