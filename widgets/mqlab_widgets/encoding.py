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

LIMIT = 1_500
"""More live elements than this cost the browser more than a frame (16 ms) with motion on."""


class _Element:
    __slots__ = ("born", "first", "kids", "last", "node", "now", "timelines", "ever")

    def __init__(self, node: Node, born: int) -> None:
        self.node = node
        self.born = born
        self.last = born
        self.first = _values(node)
        self.timelines: dict[str, list[Any]] = {}
        self.now: list[_Element] = []  # children alive at the latest step, in order
        self.ever: list[_Element] = []  # all children there ever were, in drawing order


def encode(panels: Mapping[str, Iterable[Scene]]) -> dict[str, Any]:
    """The encoded elements of all panels. A name `panel/variant` is shown instead
    of `panel`, not beside it.

    Raises ValueError where a step has more than `LIMIT` live elements.
    """
    shapes: dict[tuple[str, ...], int] = {}
    packed = []
    live: dict[str, list[int]] = {}
    for name, scenes in panels.items():
        root = _Element(Node("", "svg", {}), 0)
        counts: list[int] = []
        last: Scene | None = None
        for step, scene in enumerate(scenes):
            if scene is last:  # what it shows goes on
                counts.append(counts[-1])
                continue
            last = scene
            _children(root, scene.nodes, step)
            counts.append(len(scene))
        base = name.partition("/")[0]
        live[base] = (
            [max(p) for p in zip(live[base], counts, strict=True)] if base in live else counts
        )
        packed.append({"name": name, **_pack(root, shapes, len(counts) - 1)})
    _check(live)
    steps = max(map(len, live.values()), default=0)
    return {"v": 1, "steps": steps, "shapes": [list(s) for s in shapes], "panels": packed}


def deflate(data: Mapping[str, Any], level: int = 6) -> bytes:
    """JSON, then zlib: what a widget's `Bytes` trait carries. The highest level costs four times
    the time of 6 and saves a tenth, which is worth it for what is kept in a file."""
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return zlib.compress(plain.encode(errors="replace"), level)


def base64_of(data: Mapping[str, Any]) -> str:
    """The same as text that may stand inside HTML."""
    return base64.b64encode(deflate(data, 9)).decode()


def _check(live: Mapping[str, list[int]]) -> None:
    for step, counts in enumerate(zip(*live.values(), strict=True)):
        if sum(counts) > LIMIT:
            worst = max(live, key=lambda name: live[name][step])
            raise ValueError(
                f"step {step} has {sum(counts)} live elements, the limit is {LIMIT}; the panel "
                f"{worst!r} alone has {live[worst][step]}: draw only window(step, n, total) of it"
            )


def _values(node: Node) -> dict[str, Value]:
    return {**node.attrs, "#": node.text} if node.text else node.attrs


def _children(parent: _Element, nodes: tuple[Node, ...], step: int) -> None:
    """Continue, begin and end the elements below one parent."""
    if len(parent.now) == len(nodes) and all(map(_same, parent.now, nodes)):
        for same, node in zip(parent.now, nodes, strict=True):
            if same.node is not node:
                _continue(same, node, step)
        return
    before = {element.node.key: (i, element) for i, element in enumerate(parent.now)}
    now: list[_Element] = []
    reached = -1
    for node in nodes:
        place, element = before.get(node.key, (-1, None))
        if element is None or place < reached or element.node.tag != node.tag:
            element = _Element(node, step)
            at = parent.ever.index(now[-1]) + 1 if now else 0
            parent.ever.insert(at, element)
            _children(element, node.children, step)
        else:
            reached = place
            _continue(element, node, step)
        now.append(element)
    if len(parent.now) != len(now) or any(a is not b for a, b in zip(parent.now, now, strict=True)):
        kept = set(map(id, now))
        for element in parent.now:
            if id(element) not in kept:
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
        was, now = _values(old), _values(node)
        for name in was.keys() | now.keys():
            if was.get(name) != now.get(name):
                element.timelines.setdefault(name, []).append((step, now.get(name)))
    if old.children is not node.children:
        _children(element, node.children, step)


def _pack(root: _Element, shapes: dict[tuple[str, ...], int], last: int) -> dict[str, list[Any]]:
    """Preorder, columns instead of rows: equal things side by side deflate best."""
    out: dict[str, list[Any]] = {k: [] for k in ("shape", "up", "born", "len", "val", "tl", "key")}
    born_before = 0

    def add(element: _Element, parent: int, above: str, end: int) -> None:
        nonlocal born_before
        index = len(out["key"])
        shape = (element.node.tag, *element.first)
        out["shape"].append(shapes.setdefault(shape, len(shapes)))
        out["up"].append(index - parent if parent >= 0 else 0)
        out["born"].append(element.born - born_before)
        born_before = element.born
        out["len"].append(end - element.born + 1)
        out["val"].extend(element.first.values())
        out["tl"].append(_differences(element.timelines) or 0)
        out["key"].append(_shorten(element.node.key, above))
        family(element, index, end)

    def family(parent: _Element, index: int, end: int) -> None:
        alive = set(map(id, parent.now))
        for child in parent.ever:
            # A child that is still among the living ends when its parent does.
            add(child, index, parent.node.key, end if id(child) in alive else child.last)

    family(root, -1, last)
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
