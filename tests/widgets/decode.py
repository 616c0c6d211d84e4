"""The other direction of `encoding.encode`: what the browser does, in Python, for comparison."""

from __future__ import annotations

import json
import zlib
from typing import Any

Tree = list[tuple[str, str, dict[str, Any], "Tree"]]  # type: ignore[misc]


def unpack(packed: bytes) -> dict[str, Any]:
    """What a widget has sent."""
    data: dict[str, Any] = json.loads(packed if packed[:1] == b"{" else zlib.decompress(packed))
    return data


def decode(data: dict[str, Any], name: str, step: int) -> Tree:
    """The elements of one panel at one step: key, tag, attributes with "#", children."""
    panel = next(p for p in data["panels"] if p["name"] == name)
    values = iter(panel["val"])
    born = 0
    keys: list[str] = []
    alive: dict[int, Tree] = {-1: []}
    for i, key in enumerate(panel["key"]):
        above = keys[i - panel["up"][i]] if panel["up"][i] else ""
        if above and key.endswith(":*"):
            key = key[:-1] + above.rpartition(":")[2]
        keys.append(key)
        tag, *names = data["shapes"][panel["shape"][i]]
        attrs = {n: next(values) for n in names}
        born += panel["born"][i]
        if not born <= step < born + panel["len"][i]:
            continue
        for attr, flat in (panel["tl"][i] or {}).items():
            at = 0
            for delta, value in zip(flat[::2], flat[1::2], strict=True):
                at += delta
                if at <= step:
                    attrs[attr] = value
        parent = i - panel["up"][i] if panel["up"][i] else -1
        alive[i] = []
        now = {k: v for k, v in attrs.items() if v is not None}
        alive[parent].append((key, tag, now, alive[i]))
    return alive[-1]


def plain(nodes: Any) -> Tree:
    """A scene's nodes in the same form."""
    return [
        (n.key, n.tag, {**n.attrs, "#": n.text} if n.text else dict(n.attrs), plain(n.children))
        for n in nodes
    ]
