"""What each reader gets now: the records themselves, and in words what is odd about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache

from mqlab.kernel.snapshot import Got, Reader
from mqlab.kernel.text import NOTHING, Lang, Words, tr
from mqlab.kernel.trace import Trace

from ..scene import Part, Scene
from ..widths import fit, fit_apart, width, wrap
from .common import RIGHT, ROOMY, colour, draw_heading, find_previous, per_trace

TITLE = tr("What a reader gets now")
NOTHING_YET = tr("nothing yet")
NAMES = 150  # px for names, where records need the rest
TWICE = Words("{record}, again")
NOBODY = tr("nobody reads at this step")
ANYBODY = tr("every reader")
LINE, CHIP, NOTE = 24, 20, 15
LAMP = 12  # px: an amber light before the note of a reader that holds half of something


@dataclass(frozen=True, slots=True)
class _Places:
    x: float
    y: dict[str, float]
    height: float
    names: dict[str, str]  # as they fit


def readers_story(trace: Trace, step: int, lang: Lang = "en") -> Scene:
    """By what they are, for readers of the picture who do not know their names."""
    return readers(_call_plainly(trace, lang), step, lang)


@per_trace
def _call_plainly(trace: Trace, lang: Lang) -> Trace:
    """Readers by what they are; one for all of them, where they get the same at every step."""
    kinds = {reader.plain.of(lang) for s in trace.snapshots for reader in s.readers}
    same = len(kinds) > 1 and all(
        len({reader.got for reader in s.readers if reader.plain.en}) <= 1 for s in trace.snapshots
    )

    def call(some: tuple[Reader, ...]) -> tuple[Reader, ...]:
        called = (replace(r, name=r.plain.of(lang) or r.name, plain=NOTHING) for r in some)
        return (replace(some[0], name=ANYBODY.of(lang), note=NOTHING),) if same else tuple(called)

    snapshots = tuple(replace(s, readers=call(s.readers)) for s in trace.snapshots)
    return replace(trace, snapshots=snapshots)


def readers(trace: Trace, step: int, lang: Lang = "en", room: int = RIGHT) -> Scene:
    places = _lay_out(trace, lang, room)
    scene = Scene(room, places.height)
    draw_heading(scene, TITLE, lang)
    old = {r.name: len(r.got) for r in _name_readers(trace, find_previous(trace, step))}
    now = _name_readers(trace, step)
    if not now:
        scene.text("nobody", 0, 39, NOBODY.of(lang), "lab quiet")
    for reader in now:
        classes = tuple(colour(trace, got.txn) for got in reader.got)
        shown, new = places.names[reader.name], old.get(reader.name, 0)
        part = _draw_reader(reader, classes, new, shown, places.x, lang, room)
        at = (0, places.y[reader.name])
        scene.group_of(f"reader:{reader.name}", part, "reader", at=at)
    return scene


def _name_readers(trace: Trace, step: int) -> list[Reader]:
    """The readers of a step, each by a name of its own: where several of one name read different
    logs, the log is a part of it, at every step of the trace, and else a number."""
    shared, used, out = _find_shared_names(trace), Counter[str](), []
    for reader in trace.snapshot(step).readers:
        name = f"{reader.name} · {reader.log}" if reader.name in shared else reader.name
        used[name] += 1
        again = f" ({used[name]})" if used[name] > 1 else ""
        out.append(reader if name + again == reader.name else replace(reader, name=name + again))
    return out


@per_trace
def _find_shared_names(trace: Trace) -> frozenset[str]:
    """The names that readers of different logs have."""
    logs: dict[str, set[str]] = {}
    for reader in {r: None for s in trace.snapshots for r in s.readers}:
        logs.setdefault(reader.name, set()).add(reader.log)
    return frozenset(name for name, read in logs.items() if len(read) > 1)


def find_again(got: tuple[Got, ...]) -> set[int]:
    """The places of the records that their reader was given before, from the same log."""
    first: dict[tuple[str, str], int] = {}
    places = enumerate((one.log, one.label) for one in got)
    return {i for i, record in places if first.setdefault(record, i) < i}


@per_trace
def has_long_rows(trace: Trace) -> bool:
    """If names, records or notes do not all fit in their rows where space is short, and do where
    there is more."""
    short, roomy = (_lay_out(trace, "en", room) for room in (RIGHT, ROOMY))
    if short.names != roomy.names or short.height != roomy.height:
        return True
    most: dict[str, tuple[Got, ...]] = {}
    for reader in (reader for snapshot in trace.snapshots for reader in snapshot.readers):
        most[reader.name] = max(most.get(reader.name, ()), reader.got, key=len)
    return any(
        len(_chips(got, short.x, RIGHT)[0]) < len(got) == len(_chips(got, roomy.x, ROOMY)[0])
        for got in most.values()
    )


@per_trace
def _lay_out(trace: Trace, lang: Lang, room: int) -> _Places:
    seen = {r: None for step in range(len(trace) + 1) for r in _name_readers(trace, step)}
    lines: dict[str, int] = dict.fromkeys((reader.name for reader in seen), 0)
    x = max((width(n, 11.5, mono=True) for n in lines), default=0) + 10
    if x > NAMES and any(x + _measure_all(reader.got) > room for reader in seen):
        x = NAMES  # else the records leave enough room for longer names
    x = min(x, room * 0.7)
    for reader in seen:
        _, end = _chips(reader.got, x, room)
        lines[reader.name] = max(lines[reader.name], _wrap_note(reader, end, lang, room)[1])
    y, height = {}, 24.0
    for name, notes in lines.items():
        y[name] = height
        height += LINE + notes * NOTE
    return _Places(x, y, height + 2, fit_apart(lines, x - 8, 11.5, mono=True))


def _chips(
    got: tuple[Got, ...], left: float, right: int
) -> tuple[list[tuple[int, float, float]], float]:
    """Place the latest of a reader's records that fit between x `left` and x `right`: a list of
    (index in `got`, x, width), and where one more would begin. Before them is room for the number
    of those that are left out."""
    room = right - left
    if _measure_all(got) > room:
        room -= 30  # for that number
    chosen: list[tuple[int, float]] = []  # index and width, the latest record first
    for i in reversed(range(len(got))):
        chip_width = _measure_chip(got[i])
        if sum(w + 5 for _, w in chosen) + chip_width > room:
            break
        chosen.append((i, chip_width))
    x = left + (26 if chosen and chosen[-1][0] > 0 else 0)  # the number's place, if any is left out
    out = []
    for i, chip_width in reversed(chosen):
        out.append((i, x, chip_width))
        x += chip_width + 5
    return out, x


def _measure_all(got: tuple[Got, ...]) -> float:
    """As wide as all of them; of many, more than there is room for."""
    return sum(_measure_chip(one) + 5 for one in got[-ROOMY:]) - 5


def _measure_chip(got: Got) -> float:
    return max(24.0, min(width(got.label, 11.5, bold=True), 110) + 12)


def _wrap_note(reader: Reader, end: float, lang: Lang, room: int) -> tuple[list[str], int]:
    """The note's lines, and how many of them are below the records (0: beside them)."""
    note = reader.note.of(lang)
    if not note:
        return [], 0
    lamp = LAMP * reader.half
    if width(note, 11) <= room - end - 6 - lamp:
        return [note], 0
    lines = wrap(note, room - 4 - lamp, 11, 2)
    return lines, len(lines)


@lru_cache(maxsize=1_024)
def _draw_reader(
    reader: Reader, classes: tuple[str, ...], old: int, shown: str, x: float, lang: Lang, room: int
) -> Part:
    """Draw a reader's row, `room` px wide: its name, shortened to `shown`, the latest of its
    records, and its note, beside them or below. A record that it was given before has two red
    lines. `classes`: each record's colour; `old`: how many records it had before, the others are
    marked as new; `x`: where records begin."""
    scene, name = Scene(), reader.name
    scene.text(f"name:{name}", 0, 15, shown, "mono")
    if shown != name:
        scene.title(f"full:{name}", name)
    chips, end = _chips(reader.got, x, room)
    again = find_again(reader.got)
    if chips and chips[0][0] > 0:  # the first of them is not the reader's first record
        scene.text(f"more:{name}", x, 15, f"+{chips[0][0]}", "offset start")
    if not chips and not reader.note.en:
        scene.text(f"none:{name}", x, 15, NOTHING_YET.of(lang), "lab quiet")
    for i, left, wide in chips:
        got = reader.got[i]
        fresh = " fresh" if i >= old else ""
        said = f"{got.log}: {got.label}"
        with scene.group(f"got:{name}:{i}", f"cell {classes[i]}{fresh}", at=(round(left, 1), 0)):
            scene.rect(f"box:{name}:{i}", 0.5, 0.5, wide - 1, CHIP - 1, "record", rx=4)
            if i in again:
                said = TWICE(record=said).of(lang)
                for edge in (-1, 2):  # two red lines: outside the box and inside
                    sides = wide - 2 * edge, CHIP - 2 * edge
                    scene.rect(f"again:{name}:{i}:{edge}", edge, edge, *sides, "again", rx=4)
            label = fit(got.label, wide - 8, 11.5, bold=True)
            scene.text(f"text:{name}:{i}", wide / 2, 14, label, "cell-text")
            scene.title(f"title:{name}:{i}", said)
    lines, below = _wrap_note(reader, end, lang, room)
    for i, line in enumerate(lines):
        left, y = (0.0, 15.0 + NOTE * (i + 1) + 4) if below else (end + 6, 15.0)
        if reader.half:  # it holds only a part of something: the note has an amber light
            left += LAMP
        if reader.half and not i:
            scene.circle(f"lamp:{name}", left - LAMP / 2 - 1, y - 4, 4, "lamp half")
        scene.text(f"note:{name}:{i}", left, y, line, "note half" if reader.half else "note")
    return scene.seal()
