"""Encoding scenes, one a step, into *elements*, the form that travels to the browser.

An element is one row for each time that a key exists: at which step it is born, how many steps
it stays, its first attributes and, where something changes, a timeline for that attribute.
Forward, back and seek are then one path in the browser: find what exists at the step, patch
what differs. The format, version 1:

    {v: 1, steps,                       positions are 0 … steps - 1
     shapes: [[tag, attribute…]…],      "#" is the text
     panels: [{name,                    one entry an element below, parents before children
       shape: [i…], up: [d…],           up = own index minus the parent's, 0 = the panel
       born: [±d…], len: [n…],          first step as a difference to the entry before
       val: [v…],                       first values of all elements, flat
       tl: [0 | {attribute: [step, value, Δstep, value…]}…],    null = attribute removed
       key: [k…]}]}                     `hit:*` below `row:5` means `hit:5`

An element ends when its tag, its parent or its place among its siblings changes; the order of
the entries is then right at every step, and the browser never has to sort.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from .scene import Node, Scene, Value

SHORT = 1 << 16
"""Bytes of a payload up to which a widget sends it as it is."""

LIMIT = 1_500
"""More live elements than this cost the browser more than a frame (16 ms) with motion on."""


class _Element:
    __slots__ = ("born", "first", "kids", "last", "node", "now", "timelines", "ever")

    def __init__(self, node: Node, born: int) -> None:
        self.node = node
        self.born = born
        self.last = born
        self.first = _list_values(node)
        self.timelines: dict[str, list[Any]] = {}
        self.now: list[_Element] = []  # children alive at the latest step, in order
        self.ever: list[_Element] = []  # all children there ever were, in drawing order


def encode(panels: Mapping[str, Iterable[Scene]]) -> dict[str, Any]:
    """Encode every panel's scenes, one a step, in the format of the module's docstring.

    Raises ValueError where a step has more than `LIMIT` live elements.
    """
    shapes: dict[tuple[str, ...], int] = {}  # the number of each tag with its attributes
    packed = []
    live: dict[str, list[int]] = {}  # elements at each step, by panel
    for name, scenes in panels.items():
        root = _Element(Node("", "svg", {}), 0)
        counts: list[int] = []
        last: Scene | None = None
        for step, scene in enumerate(scenes):
            if scene is last:  # nothing has changed since the step before
                counts.append(counts[-1])
                continue
            last = scene
            _update_children(root, scene.nodes, step)
            counts.append(len(scene))
        # `panel/variant` is shown instead of `panel`, not beside it: the larger of both counts.
        base = name.partition("/")[0]
        live[base] = (
            [max(p) for p in zip(live[base], counts, strict=True)] if base in live else counts
        )
        packed.append({"name": name, **_pack(root, shapes, last=len(counts) - 1)})
    _check(live)
    steps = max(map(len, live.values()), default=0)
    return {"v": 1, "steps": steps, "shapes": [list(s) for s in shapes], "panels": packed}


def pack(data: Mapping[str, Any]) -> bytes:
    """What a widget's `Bytes` trait carries: JSON, and zlib where that is long. What is short is
    drawn at once; a browser unpacks in several tasks, and may draw what is around in between."""
    plain = _write(data)
    return plain if len(plain) <= SHORT else zlib.compress(plain)


def base64_of(data: Mapping[str, Any]) -> str:
    """JSON, then zlib, as text that may be put inside HTML. The highest level costs four times the
    time of the usual one and saves a tenth, which is worth it for what is kept in a file."""
    return base64.b64encode(zlib.compress(_write(data), 9)).decode()


def _write(data: Mapping[str, Any]) -> bytes:
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return plain.encode(errors="replace")


def _check(live: Mapping[str, list[int]]) -> None:
    for step, counts in enumerate(zip(*live.values(), strict=True)):
        if sum(counts) > LIMIT:
            worst = max(live, key=lambda name: live[name][step])
            raise ValueError(
                f"step {step} has {sum(counts)} live elements, the limit is {LIMIT}; the panel "
                f"{worst!r} alone has {live[worst][step]}: draw only window(step, n, total) of it"
            )


def _list_values(node: Node) -> dict[str, Value]:
    return {**node.attrs, "#": node.text} if node.text else node.attrs


def _update_children(parent: _Element, nodes: tuple[Node, ...], step: int) -> None:
    """Update the elements below `parent` to the `nodes` that a scene has there at `step`. An
    element goes on where a node has its key, its tag and its order among the siblings; any other
    node begins an element, and an element without a node ends at the step before."""
    # Mostly the same children as at the step before: only their values may have changed.
    if len(parent.now) == len(nodes) and all(map(_same, parent.now, nodes)):
        for same, node in zip(parent.now, nodes, strict=True):
            if same.node is not node:
                _continue(same, node, step)
        return
    if not parent.ever:  # the first that it ever has
        parent.now = [_Element(node, step) for node in nodes]
        parent.ever = parent.now.copy()
        for born in parent.now:
            if born.node.children:
                _update_children(born, born.node.children, step)
        return
    before = {element.node.key: (i, element) for i, element in enumerate(parent.now)}
    now: list[_Element] = []
    last_place = -1  # of the last element that went on: one from before it has changed its order
    for node in nodes:
        place, element = before.get(node.key, (-1, None))
        if element is None or place < last_place or element.node.tag != node.tag:
            element = _Element(node, step)
            drawn_at = parent.ever.index(now[-1]) + 1 if now else 0  # after its sibling before it
            parent.ever.insert(drawn_at, element)
            _update_children(element, node.children, step)
        else:
            last_place = place
            _continue(element, node, step)
        now.append(element)
    if len(parent.now) != len(now) or any(a is not b for a, b in zip(parent.now, now, strict=True)):
        living = set(map(id, now))
        for element in parent.now:
            if id(element) not in living:
                element.last = step - 1
        parent.now = now


def _same(element: _Element, node: Node) -> bool:
    old = element.node
    return old is node or (old.key == node.key and old.tag == node.tag)


def _continue(element: _Element, node: Node, step: int) -> None:
    old = element.node
    if old is node:
        return
    element.node = node
    if old.text != node.text or (old.attrs is not node.attrs and old.attrs != node.attrs):
        was, now = _list_values(old), _list_values(node)
        for name in was.keys() | now.keys():
            if was.get(name) != now.get(name):
                element.timelines.setdefault(name, []).append((step, now.get(name)))
    if old.children is not node.children:
        _update_children(element, node.children, step)


def _pack(root: _Element, shapes: dict[tuple[str, ...], int], last: int) -> dict[str, list[Any]]:
    """The elements below a panel's `root` in preorder, as the columns that the module's docstring
    lists; `shapes` numbers each tag with the names of its attributes; `last` is the last step. Not
    as rows, because equal things side by side deflate best."""
    out: dict[str, list[Any]] = {k: [] for k in ("shape", "up", "born", "len", "val", "tl", "key")}
    shape, up, born, length, values, timelines, keys = out.values()
    born_before = 0

    def add(parent: _Element, above: int, last_step: int) -> None:
        """Append what is below an element, which is in row `above` (-1: it is the panel)."""
        nonlocal born_before
        key = parent.node.key
        alive = set(map(id, parent.now)) if len(parent.now) < len(parent.ever) else None
        for child in parent.ever:
            index = len(keys)
            # The shape is sent once for all elements that have it: here is its number.
            shape.append(shapes.setdefault((child.node.tag, *child.first), len(shapes)))
            # How many rows above is the parent's? 0: it is the panel.
            up.append(index - above if above >= 0 else 0)
            # The first step, as its distance from that of the row before.
            born.append(child.born - born_before)
            born_before = child.born
            # What is there at the last step ends when its parent does.
            end = last_step if alive is None or id(child) in alive else child.last
            length.append(end - child.born + 1)
            values.extend(child.first.values())
            # The values that change: by attribute, at which steps to what; 0 where none does.
            timelines.append(_differences(child.timelines) if child.timelines else 0)
            keys.append(_shorten(child.node.key, key))
            if child.ever:
                add(child, index, end)

    add(root, -1, last)
    return out


def _shorten(key: str, above: str) -> str:
    """Without the number that the parent's key ends in too: what is the same in every row takes
    hardly any room."""
    name, colon, number = key.rpartition(":")
    return f"{name}:*" if colon and above.endswith(f":{number}") else key


def _differences(timelines: dict[str, list[Any]]) -> dict[str, list[Any]]:
    packed: dict[str, list[Any]] = {}
    for name in sorted(timelines):
        flat = packed[name] = []
        before = 0
        for step, value in timelines[name]:
            flat += [step - before, value]
            before = step
    return packed
