"""Invariants: a light with its sentence, red from the step that breaks it."""

from __future__ import annotations

from functools import lru_cache

from mqlab.kernel.snapshot import Light
from mqlab.kernel.text import Lang, tr
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import width, wrap
from .common import RIGHT, ROOMY, per_trace

HOLDS = tr("Always true so far")
BROKEN = tr("No longer true")
LINE, TOP = 18, 22
MORE = 14  # from a line of a sentence to its next
INDENT = 22  # px: a lamp before its sentence
BOLD = 0.94  # what is broken is said in bold, which is so much wider


def lights(trace: Trace, step: int, lang: Lang = "en", room: int = RIGHT) -> Scene:
    scene = Scene(room, _height(trace, lang, room))
    shown = trace.snapshot(step).lights
    _heading(scene, shown, lang)
    _below(scene, shown, lang, room)
    return scene


def has_long_sentences(trace: Trace) -> bool:
    """If the sentences need fewer lines where there is more room."""
    return _height(trace, "en", RIGHT) != _height(trace, "en", ROOMY)


def lights_small(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    """Where room is short: what holds is a lamp beside the heading, with its sentence as a
    tooltip; what is broken has its sentence below."""
    scene = Scene(RIGHT, _small_height(trace, lang))
    shown = trace.snapshot(step).lights
    _heading(scene, shown, lang)
    good = [light for light in shown if light.ok]
    x = 14 + max(width(title.of(lang), 12.5, bold=True) for title in (HOLDS, BROKEN))
    for i, light in enumerate(good):
        scene.group_of(f"light:{light.name}", _lamp(light, lang), "light", at=(x + 18 * i, 2))
    _below(scene, tuple(light for light in shown if not light.ok), lang, RIGHT)
    return scene


def _heading(scene: Scene, shown: tuple[Light, ...], lang: Lang) -> None:
    ok = all(light.ok for light in shown)
    title = HOLDS if ok else BROKEN
    scene.text("heading", 0, 13, title.of(lang), "heading" if ok else "heading bad")


def _below(scene: Scene, shown: tuple[Light, ...], lang: Lang, room: int) -> None:
    y = TOP
    for light in shown:
        scene.group_of(f"light:{light.name}", _light(light, lang, room), "light", at=(0, y))
        y += _tall(light, lang, room)


def _tall(light: Light, lang: Lang, room: int) -> int:
    return LINE + (len(_lines(light, lang, room)) - 1) * MORE


@lru_cache(maxsize=512)
def _lines(light: Light, lang: Lang, room: int) -> tuple[str, ...]:
    least = (room - INDENT) * (1 if light.ok else BOLD)
    return tuple(wrap(light.sentence.of(lang), least, lines=3))


@lru_cache(maxsize=512)
def _light(light: Light, lang: Lang, room: int) -> Part:
    """Not by colour alone: a check in the green one, a cross in the red one."""
    scene = Scene()
    _draw_lamp(scene, light)
    for i, line in enumerate(_lines(light, lang, room)):
        cls = "lab" if light.ok else "lab bad"
        scene.text(f"says:{light.name}:{i}", INDENT, 10 + i * MORE, line, cls)
    return scene.seal()


@lru_cache(maxsize=512)
def _lamp(light: Light, lang: Lang) -> Part:
    scene = Scene()
    _draw_lamp(scene, light)
    scene.title(f"says:{light.name}", light.sentence.of(lang))
    return scene.seal()


def _draw_lamp(scene: Scene, light: Light) -> None:
    cls = "good" if light.ok else "broken"
    scene.circle(f"lamp:{light.name}", 7, 6, 6.5, f"lamp {cls}")
    sign = "M3.8 6.2l2.3 2.4 4.2-4.6" if light.ok else "M4.5 3.5l5 5m0-5l-5 5"
    scene.path(f"sign:{light.name}", sign, "on-lamp")


@per_trace
def _height(trace: Trace, lang: Lang, room: int) -> float:
    states = {snapshot.lights for snapshot in trace.snapshots}
    return TOP + max(sum(_tall(light, lang, room) for light in shown) for shown in states)


@per_trace
def _small_height(trace: Trace, lang: Lang) -> float:
    states = {snapshot.lights for snapshot in trace.snapshots}
    return TOP + max(sum(_tall(x, lang, RIGHT) for x in shown if not x.ok) for shown in states)
