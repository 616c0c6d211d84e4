"""A scene: the keyed elements of one panel at one step. Plain data; the browser plays it.

An author writes an ordinary function of the step and says what is there *now*:

    scene = Scene(200, 40)
    scene.rect("box", 0, 0, 92, 26, "state now")
    scene.text("name", 46, 17, "Ongoing", "state-name")

The key comes first and says what stays the same thing between two steps, so that it moves
instead of being replaced. Elements carry a class and no colour: colours are CSS, which
knows the theme. Text is data: it is escaped where it is written out, never here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

from .style import font_of
from .widths import width

Value = str | int | float

# What markup reads as its own, and what XML 1.0 cannot hold: control characters, halves of pairs,
# two that are no characters.
_NOT_TEXT = re.compile("[&<>\"'\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def xml(text: str) -> str:
    """Text escaped for SVG and HTML; a control character is shown by its picture, such as ␀."""
    return _NOT_TEXT.sub(_write, text)


def _write(match: re.Match[str]) -> str:
    char = match[0]
    if char < " ":
        return chr(0x2400 + ord(char))
    return escape(char) if char < "\x7f" else "\ufffd"


class Node:
    """One element. Nodes are never changed; the same object at two steps means no change."""

    __slots__ = ("attrs", "children", "key", "tag", "text")

    def __init__(
        self,
        key: str,
        tag: str,
        attrs: dict[str, Value],
        text: str = "",
        children: tuple[Node, ...] = (),
    ) -> None:
        self.key = key
        self.tag = tag
        self.attrs = attrs
        self.text = text
        self.children = children

    def svg(self) -> str:
        """The element as SVG, everything escaped, each text at the width it was given."""
        attrs = "".join(f' {k}="{xml(str(v))}"' for k, v in self.attrs.items())
        if self.tag == "text" and self.text:
            wide = num(width(self.text, *font_of(str(self.attrs["class"]))))
            attrs += f' textLength="{wide}" lengthAdjust="spacingAndGlyphs"'
        inner = xml(self.text) + "".join(child.svg() for child in self.children)
        return f"<{self.tag}{attrs}>{inner}</{self.tag}>" if inner else f"<{self.tag}{attrs}/>"


class Part:
    """A finished piece of a scene, kept and used again at other steps at no cost."""

    __slots__ = ("keys", "nodes")

    def __init__(self, nodes: tuple[Node, ...], keys: frozenset[str]) -> None:
        self.nodes = nodes
        self.keys = keys


class Scene:
    """Elements in drawing order. Raises ValueError for a key that is already there."""

    def __init__(self, width: float = 0, height: float = 0) -> None:
        self.width = width
        self.height = height
        self._keys: set[str] = set()
        self._open: list[list[Node]] = [[]]

    def __len__(self) -> int:
        """How many elements the browser would hold."""
        return len(self._keys)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._open[0])

    def seal(self) -> Part:
        """What was drawn so far as a piece that other scenes can `use`."""
        return Part(self.nodes, frozenset(self._keys))

    def use(self, part: Part) -> None:
        self._claim(part.keys)
        self._open[-1].extend(part.nodes)

    def rect(
        self, key: str, x: float, y: float, w: float, h: float, cls: str, rx: float = 0
    ) -> None:
        attrs: dict[str, Value] = {"x": num(x), "y": num(y), "width": num(w), "height": num(h)}
        if rx:
            attrs["rx"] = num(rx)
        self._add(Node(key, "rect", attrs | {"class": cls}))

    def text(self, key: str, x: float, y: float, text: str, cls: str) -> None:
        self._add(Node(key, "text", {"x": num(x), "y": num(y), "class": cls}, text))

    def line(self, key: str, x1: float, y1: float, x2: float, y2: float, cls: str) -> None:
        ends: dict[str, Value] = {"x1": num(x1), "y1": num(y1), "x2": num(x2), "y2": num(y2)}
        self._add(Node(key, "line", ends | {"class": cls}))

    def circle(self, key: str, cx: float, cy: float, r: float, cls: str) -> None:
        attrs: dict[str, Value] = {"cx": num(cx), "cy": num(cy), "r": num(r), "class": cls}
        self._add(Node(key, "circle", attrs))

    def path(self, key: str, d: str, cls: str) -> None:
        self._add(Node(key, "path", {"d": d, "class": cls}))

    def title(self, key: str, text: str) -> None:
        """A tooltip for the group it is in, for text that had to be shortened."""
        self._add(Node(key, "title", {}, text))

    @contextmanager
    def group(
        self, key: str, cls: str = "", at: tuple[float, float] | None = None
    ) -> Iterator[None]:
        """A `<g>`; `at` moves it. What is drawn inside the `with` block belongs to it."""
        attrs: dict[str, Value] = {"class": cls} if cls else {}
        if at is not None:
            attrs["transform"] = f"translate({num(at[0])},{num(at[1])})"
        with self._inside(key, "g", attrs):
            yield

    @contextmanager
    def viewport(self, key: str, x: float, y: float, w: float, h: float) -> Iterator[None]:
        """A clipped area. A nested `<svg>` clips without an id, so pages stay free of clashes."""
        box: dict[str, Value] = {"x": num(x), "y": num(y), "width": num(w), "height": num(h)}
        with self._inside(key, "svg", box):
            yield

    def group_of(
        self, key: str, part: Part, cls: str, at: tuple[float, float] | None = None
    ) -> None:
        """A `<g>` around a sealed part: only the group's own attributes are new."""
        self._claim(part.keys)
        attrs: dict[str, Value] = {"class": cls}
        if at is not None:
            attrs["transform"] = f"translate({num(at[0])},{num(at[1])})"
        self._add(Node(key, "g", attrs, children=part.nodes))

    @contextmanager
    def _inside(self, key: str, tag: str, attrs: dict[str, Value]) -> Iterator[None]:
        self._claim({key})
        self._open.append([])
        yield
        children = tuple(self._open.pop())
        self._open[-1].append(Node(key, tag, attrs, children=children))

    def _add(self, node: Node) -> None:
        self._claim({node.key})
        self._open[-1].append(node)

    def _claim(self, keys: set[str] | frozenset[str]) -> None:
        if not self._keys.isdisjoint(keys):
            twice = sorted(self._keys & keys)[0]
            raise ValueError(
                f"the key {twice!r} is in this scene twice; give each element a key of its own"
            )
        self._keys |= keys


def num(value: float) -> int | float:
    """Coordinates with at most one decimal: shorter to send, and the same to the eye."""
    if type(value) is int:
        return value
    rounded = round(value, 1)
    return int(rounded) if rounded == int(rounded) else rounded
