"""Invariants: a light with its sentence, red from the step that breaks it."""

from __future__ import annotations

from functools import lru_cache

from mqlab.kernel.snapshot import Light
from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import wrap
from .common import RIGHT, per_trace

HOLDS = Text("Always true so far", "到目前为止始终成立")
BROKEN = Text("No longer true", "已经不成立")
LINE, TOP = 20, 24
ROOM = RIGHT - 24


def lights(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    scene = Scene(RIGHT, _height(trace, lang))
    shown = trace.snapshot(step).lights
    ok = all(light.ok for light in shown)
    title = HOLDS if ok else BROKEN
    scene.text("heading", 0, 13, title.of(lang), "heading" if ok else "heading bad")
    y = float(TOP)
    for light in shown:
        lines = _lines(light, lang)
        scene.group_of(f"light:{light.name}", _light(light, lang), "light", at=(0, y))
        y += LINE + (len(lines) - 1) * 15
    return scene


def _lines(light: Light, lang: Lang) -> list[str]:
    return wrap(light.sentence.of(lang), ROOM, lines=3)


@lru_cache(maxsize=512)
def _light(light: Light, lang: Lang) -> Part:
    """Not by colour alone: a check in the green one, a cross in the red one."""
    scene = Scene()
    cls = "good" if light.ok else "broken"
    scene.circle(f"lamp:{light.name}", 7, 6, 6.5, f"lamp {cls}")
    sign = "M3.8 6.2l2.3 2.4 4.2-4.6" if light.ok else "M4.5 3.5l5 5m0-5l-5 5"
    scene.path(f"sign:{light.name}", sign, "on-lamp")
    for i, line in enumerate(_lines(light, lang)):
        scene.text(
            f"says:{light.name}:{i}", 22, 10 + i * 15, line, "lab" if light.ok else "lab bad"
        )
    return scene.seal()


@per_trace
def _height(trace: Trace, lang: Lang) -> float:
    return max(
        TOP + sum(LINE + (len(_lines(x, lang)) - 1) * 15 for x in shown)
        for shown in {s.lights for s in trace.snapshots}
    )
