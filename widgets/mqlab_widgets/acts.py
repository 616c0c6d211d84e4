"""What a learner may do in a picture, as plain data: by node for the buttons, and by the place in
the picture at which it is done.

A *spot* is such a place: a lane's name, something that a node may do by itself, a message under way
(its row), the gap below a row. Each has a menu; what a choice means is said by the play.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mqlab.kernel.offers import HEARD, Gap, Option
from mqlab.kernel.stops import join_names
from mqlab.kernel.text import Lang, Text, Words, tr

FAULTS = ("kill", "power", "break")
GLYPHS = {"call": "☞", "local": "▮", "timer": "⏲"}

AFTER = Words("{k} of {n} effects done")
MESSAGE = Words("{what}: {src} → {dst}, under way")
DELIVER = tr("deliver it")
HOLD = tr("hold it back: the others go first")
RELEASE = tr("hold it back no longer")
DYING = Words("do this, but kill {node} on the way: {told}")
TOUCH = Words("what can be done with {node}")
HERE = Words("here {node} dies")
KILL = Words("kill {node} here: {told}")
POWER = Words("cut {node}'s power here: {told}")
BETWEEN = tr("between two steps")

Item = dict[str, Any]
Names = Mapping[str, str]


def list_nodes(options: Sequence[Option], names: Names, lang: Lang) -> list[dict[str, Any]]:
    """Options by node, in the order of the lanes; of each node steps before faults."""
    groups: dict[str, dict[str, Any]] = {
        name: {"title": title, "steps": [], "faults": []} for name, title in names.items()
    }
    for option in options:
        group = groups.setdefault(option.node, {"title": option.node, "steps": [], "faults": []})
        entry: Item = {
            "choice": option.choice,
            "label": option.label.of(lang),
            "kind": option.kind,
        }
        if option.kind not in FAULTS and option.effects:
            entry["stops"] = list(list_stops(option, lang))
        group["faults" if option.kind in FAULTS else "steps"].append(entry)
    return [group for group in groups.values() if group["steps"] or group["faults"]]


def list_stops(option: Option, lang: Lang, inside: bool = False) -> Iterator[Item]:
    """Each moment of a step at which its node may be killed; what says the same is said once. Where
    it has answered by then, the answer may be lost or arrive. `inside`: between two effects."""
    moments: list[tuple[int, Text]] = []
    for k, progress in enumerate(option.stops):
        told = progress if progress.en else AFTER(k=k, n=option.effects)
        if not moments or told != moments[-1][1]:
            moments.append((k, told))
    for k, told in moments[1:-1] if inside else moments:
        choice = f"{option.choice} kill={k}"
        yield {"choice": choice, "label": told.of(lang)}
        answered = option.answered[k] if k < len(option.answered) else ()
        if answered:
            heard = HEARD(what=told, clients=join_names(answered))
            yield {"choice": f"{choice} answers={','.join(answered)}", "label": heard.of(lang)}


def list_spots(
    options: Sequence[Option],
    gaps: Sequence[Gap],
    names: Names,
    held: Sequence[str],
    lang: Lang,
) -> list[dict[str, Any]]:
    """Every spot: lanes, what nodes may do by themselves, messages, gaps. `at`: the number of the
    fact on whose row, or below whose row, it is."""
    spots = [_lane(name, title, options, lang) for name, title in names.items()]
    for option in options:
        title, items = names.get(option.node, option.node), _step(option, names, lang)
        if option.kind in GLYPHS:
            label = f"{title}: {option.label.of(lang)}"
            spot = {"kind": "own", "lane": option.node, "glyph": GLYPHS[option.kind]}
            spots.append({**spot, "key": option.choice, "title": label, "items": items})
        elif option.sent:
            spots.append(_message(option, options, names, option.choice in held, lang))
    spots += [_gap(gap, names, lang) for gap in gaps]
    return [spot for spot in spots if spot["items"]]


def _lane(name: str, title: str, options: Sequence[Option], lang: Lang) -> dict[str, Any]:
    mine = [option for option in options if option.node == name]
    items = [_item(option.choice, option.label.of(lang), option.kind) for option in mine]
    label = TOUCH(node=title).of(lang)
    return {"kind": "lane", "lane": name, "key": f"lane {name}", "title": label, "items": items}


def _step(option: Option, names: Names, lang: Lang) -> list[Item]:
    """A step, and the same step with a death between two of its effects."""
    items = [_item(option.choice, option.label.of(lang), option.kind)]
    node = names.get(option.node, option.node)
    for stop in list_stops(option, lang, inside=True):
        label = DYING(node=node, told=stop["label"]).of(lang)
        items.append(_item(stop["choice"], label, "kill"))
    return items


def _message(
    option: Option, options: Sequence[Option], names: Names, held: bool, lang: Lang
) -> dict[str, Any]:
    src, dst = (names.get(end, end) for end in option.ends)
    first, *dying = _step(option, names, lang)
    items = [
        {**first, "label": DELIVER.of(lang)},
        {"hold": option.choice, "label": (RELEASE if held else HOLD).of(lang), "kind": "hold"},
        *dying,
    ]
    for other in options:
        if other.kind == "break" and set(other.ends) == set(option.ends):
            items.append(_item(other.choice, other.label.of(lang), "break"))
    title = MESSAGE(what=option.what, src=src, dst=dst).of(lang)
    spot = {"kind": "message", "at": option.sent, "key": option.choice, "held": held}
    spot["ends"] = list(option.ends)
    return {**spot, "title": title, "items": items}


def _gap(gap: Gap, names: Names, lang: Lang) -> dict[str, Any]:
    node = names.get(gap.node, gap.node)
    progress = gap.progress if gap.progress.en else BETWEEN
    items = []
    for choice, words, kind in ((gap.kill, KILL, "kill"), (gap.power, POWER, "power")):
        label = words(node=node, told=progress)
        items.append({"keep": gap.keep, **_item(choice, label.of(lang), kind)})
        if gap.answered:
            heard = HEARD(what=label, clients=join_names(gap.answered)).of(lang)
            arriving = f"{choice} answers={','.join(gap.answered)}"
            items.append({"keep": gap.keep, **_item(arriving, heard, kind)})
    spot = {"kind": "gap", "lane": gap.node, "at": gap.after, "key": f"gap {gap.after}"}
    return {**spot, "title": HERE(node=node).of(lang), "items": items}


def _item(choice: str, label: str, kind: str) -> Item:
    return {"choice": choice, "label": label, "kind": kind}
