"""The money that should be, a mark, and the money that is, a bar: apart where it is lost.

One scale for the whole trace. What may still come right is dashed and called not settled yet;
what is lost or counted twice is red, and says so in words, from the step that breaks it.
"""

from __future__ import annotations

from functools import lru_cache

from mqlab.kernel.snapshot import Money
from mqlab.kernel.text import Lang, Words, tr
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, width
from .common import RIGHT, per_trace

TITLE = tr("Money")
MISSING = Words("{sum} missing")
EXTRA = Words("{sum} too much")
OPEN = Words("{sum} not settled yet")
WAS_WRONG = tr("right again, but it was wrong")
TOP, BAR, HEIGHT = 21, 13, 54
BETWEEN = 14  # px at least between the two sums
BEYOND = 1.5
"""Of the largest sum due: space right of the mark, whether it will be needed or not, so that the
scale does not betray how the trace ends."""


def money(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    most, broken = _find_scale(trace)
    scene = Scene(RIGHT, HEIGHT)
    now = trace.snapshot(step).money
    if now is not None:
        scene.use(draw_money(now, most, step >= broken, lang))
    return scene


@per_trace
def _find_scale(trace: Trace) -> tuple[float, int]:
    """The sum at the right end of the scale, and the first position at which the money is wrong."""
    known = [(i, s.money) for i, s in enumerate(trace.snapshots) if s.money is not None]
    due = max((one.due for _, one in known), default=0)
    seen = max((one.seen for _, one in known), default=0)
    broken = next((i for i, one in known if not one.right), len(trace) + 1)
    return max(due * BEYOND, seen, 1), broken


@lru_cache(maxsize=256)
def draw_money(now: Money, most: float, broken: bool, lang: Lang = "en") -> Part:
    """Draw the money panel: the bar of the sum that is (`now.seen`), the mark at the sum that
    should be (`now.due`), both sums in words, and the difference. `most`: the sum at the scale's
    right end; `broken`: it is or was wrong at a step up to this one, so it stays red."""
    scene = Scene()
    scene.text("heading", 0, 13, TITLE.of(lang), "heading")
    wrong = broken or not now.right
    if judgement := _judge(now, wrong, lang):
        scene.text("judged", RIGHT, 13, judgement, "lab bad end" if wrong else "note end")
    mark_x = _draw_bar(scene, now, most, wrong)
    extra, missing = wrong and now.seen > now.due, wrong and now.seen < now.due
    seen, due = _fit_sums(  # of each: what it is, the sum, whether it is bold
        (now.shown.of(lang), format_amount(now.seen, now), extra),
        (now.owed.of(lang), format_amount(now.due, now), missing),
    )
    scene.text("seen", 0, HEIGHT - 4, seen, "lab bad" if extra else "lab")
    end = min(max(mark_x + 1, width(seen, bold=extra) + BETWEEN + width(due, bold=missing)), RIGHT)
    scene.text("due", end, HEIGHT - 4, due, "lab bad end" if missing else "lab end")
    return scene.seal()


def _judge(now: Money, wrong: bool, lang: Lang) -> str:
    """The difference in words; "" while both sums agree."""
    apart = now.due - now.seen
    if not wrong:
        return OPEN(sum=format_amount(abs(apart), now)).of(lang) if apart else ""
    missing, extra = now.missing, now.extra
    if now.right:  # it went wrong before, and now something else is in flight
        missing, extra = max(apart, 0), max(-apart, 0)
    sums = [
        words(sum=format_amount(much, now)).of(lang)
        for words, much in ((MISSING, missing), (EXTRA, extra))
        if much
    ]
    return " · ".join(sums) or WAS_WRONG.of(lang)


SO_FAR = Words("{owed}: {due}. {shown}: {seen}.")
LOST = Words("{owed}: {due}. {shown}: {seen}. Nobody will bring the {sum} that is missing.")
TOO_MUCH = Words("{owed}: {due}. {shown}: {seen}. That is {sum} too much.")


def say_money(before: Money | None, now: Money | None, lang: Lang) -> str:
    """What has become of the money since, in a sentence; nothing where all is as it was."""
    if now is None or now == before:
        return ""
    words = LOST if now.missing else TOO_MUCH if now.extra else SO_FAR
    said = words(
        shown=now.shown,
        owed=now.owed,
        seen=format_amount(now.seen, now),
        due=format_amount(now.due, now),
        sum=format_amount(now.missing or now.extra, now),
    )
    return ". ".join(part[:1].upper() + part[1:] for part in said.of(lang).split(". "))


def _draw_bar(scene: Scene, now: Money, most: float, wrong: bool) -> float:
    """What is there, up to what is due; what is between the two sums; the mark, whose place
    is given back."""
    room = RIGHT - 2
    due, seen = (min(max(x / most, 0), 1) * room for x in (now.due, now.seen))
    low, high = sorted((due, seen))
    scene.rect("track", 0, TOP, room, BAR, "ghost", rx=2)
    scene.rect("bar", 0, TOP, low, BAR, "money")
    kind = ("extra" if seen > due else "missing") if wrong else "open"
    scene.rect("rest", low, TOP + 0.5, high - low, BAR - 1, f"money {kind}")
    cls = "due bad" if kind == "missing" else "due"
    scene.line("mark", due + 1, TOP - 4, due + 1, TOP + BAR + 4, cls)
    return due


def _fit_sums(seen: tuple[str, str, bool], due: tuple[str, str, bool]) -> tuple[str, str]:
    """What each sum is, the sum, and if it is said in bold: the words are shortened where both do
    not fit beside each other, the figures never."""
    left, right = (width(f"{words} {figures}", bold=bold) for words, figures, bold in (seen, due))
    half = (RIGHT - BETWEEN) / 2

    def shorten(part: tuple[str, str, bool], room: float) -> str:
        words, figures, bold = part
        return f"{fit(words, room - width(f' {figures}', bold=bold), bold=bold)} {figures}"

    return shorten(seen, max(half, 2 * half - right)), shorten(due, max(half, 2 * half - left))


def format_amount(pence: int, money: Money) -> str:
    """£1,234.05"""
    sign = "-" if pence < 0 else ""
    return f"{sign}{money.currency}{abs(pence) // 100:,}.{abs(pence) % 100:02}"
