"""An execution, written down: facts (one narrated line each) and the Snapshot after each of them.

`print(trace)` narrates. As JSON it is `mqlab.trace/1`: the system line, the choices, the
facts, the first Snapshot and what changed at each fact; it draws without any role code.

    →  a message leaves               ⇒  a reply leaves
    ⇥  a late or repeated one arrives ☞  a call of the application returns
    ▮  written to the node's log      ⇨  state in memory changes
    ✗  a crash, or a connection broke ↻  recovered
    ⏲  a timer fired                  ·  nothing to do, or a connection closed

The glyph is for eyes, `Fact.kind` for programs; a kind has one glyph, a glyph may mean several
kinds.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from .maps import frozen
from .snapshot import Cell, Got, Snapshot
from .text import NOTHING, BadValue, Lang, Text, escape_unseen, spoken, tr

FORMAT = "mqlab.trace/1"
MODEL = tr("model")


class FactKind(StrEnum):
    """What a fact is: every kind there is."""

    SEND = "send"
    LATE = "late"
    REPLY = "reply"
    RETURN = "return"
    APPEND = "append"
    TRUNCATE = "truncate"
    PUT = "put"
    FLUSH = "flush"
    CHANGE = "change"
    TIMER = "timer"
    RECOVERY = "recovery"
    KILL = "kill"
    POWER_CUT = "power cut"
    BREAK = "break"
    DROP = "drop"
    CLOSE = "close"
    IDLE = "idle"
    UNKNOWN = "unknown"  # of a trace that was saved before facts had kinds


GLYPHS = {
    FactKind.SEND: "→",
    FactKind.LATE: "⇥",
    FactKind.REPLY: "⇒",
    FactKind.RETURN: "☞",
    FactKind.APPEND: "▮",
    FactKind.TRUNCATE: "▮",
    FactKind.PUT: "▮",
    FactKind.FLUSH: "▮",
    FactKind.CHANGE: "⇨",
    FactKind.TIMER: "⏲",
    FactKind.RECOVERY: "↻",
    FactKind.KILL: "✗",
    FactKind.POWER_CUT: "✗",
    FactKind.BREAK: "✗",
    FactKind.DROP: "✗",
    FactKind.CLOSE: "·",
    FactKind.IDLE: "·",
}


@frozen
class Fact:
    """One narrated line, one row of the picture, one position of the slider.

    `index` counts from 1 and never changes; `step` is the handler run it came from;
    `node` the lane; `peer` the lane at the other end ("disk" for a write, "" for none);
    `label` the short form for the chart (`text` where empty); `txn` the transaction it
    belongs to ("T1"); `fold`: teaches nothing here; `why`: one sentence; `at_ms` the
    simulated time; `evidence`: what the line rests on, "model" or "recorded on V" or
    "contradicts many articles". `stage`: which of its six stages the transaction begins here;
    `story`: the step for a reader who knows no protocol (see `story.py`).

    `kind` says what it is, and `body` is the thing itself: the message, the entry on the disk,
    the value that a call returned, the request that had nothing to do, a timer's name, the
    template and the values of a change in memory or of a recovery (`Made`), the event of a
    connection that was refused; None for the other kinds. A body is there only while the execution
    is in memory; it is not saved.

    `plain` is the same fact without what articles say of it, where they say something; it is not
    saved either. `glyph`: the sign before the line (→, ▮, ✗ …)."""

    index: int
    step: int
    node: str
    glyph: str
    text: Text
    peer: str = ""
    label: Text = NOTHING
    txn: str = ""
    fold: bool = False
    why: Text = NOTHING
    at_ms: int = 0
    evidence: Text = MODEL
    stage: str = ""
    story: Text = NOTHING
    kind: FactKind = FactKind.UNKNOWN
    body: object = field(default=None, compare=False, repr=False)
    plain: Fact | None = field(default=None, compare=False, repr=False)

    @property
    def pushed(self) -> bool:
        """Whether it is an answer that travels as a message of its own, so that the connection on
        which the question came owes its answers as before."""
        return self.kind is FactKind.REPLY and getattr(self.body, "answers", False)

    def line(self, lang: Lang | None = None, width: int = 0) -> str:
        """`store → mirror  copy a` in a language, else the spoken one; columns padded to
        `width`; what a terminal would obey is written out."""
        node, peer, text = map(escape_unseen, (self.node, self.peer, self.text.of(lang)))
        return f"{node:<{width}} {escape_unseen(self.glyph)} {peer:<{width}}  {text}".rstrip()


SAVED = tuple(f for f in fields(Fact) if f.compare)


@dataclass(frozen=True)
class Trace:
    """An execution. Position 0 is before the first fact, position n after fact n.

    `system` is the line that makes the system again, `label` how a picture names it, `terms` the
    broker's words in it with a sentence each. `choices`: the schedule; `facts`: the lines;
    `snapshots`: one for each position."""

    system: str
    choices: tuple[str, ...]
    facts: tuple[Fact, ...]
    snapshots: tuple[Snapshot, ...]
    title: Text = NOTHING
    label: Text = NOTHING
    terms: tuple[tuple[Text, Text], ...] = ()

    def __len__(self) -> int:
        return len(self.facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __str__(self) -> str:
        return self.narrate(spoken())

    def snapshot(self, position: int) -> Snapshot:
        """The Snapshot at a position, 0 … len(trace); a negative one counts from the end."""
        return self.snapshots[position]

    def hash_lines(self) -> str:
        """Eight hex digits of the English narration, by which a token recognises the same
        execution."""
        lines = "\n".join(fact.line("en") for fact in self.facts)
        return hashlib.sha256(lines.encode()).hexdigest()[:8]

    def narrate(self, lang: Lang = "en") -> str:
        """One fact a line, columns aligned."""
        names = [escape_unseen(n) for f in self.facts for n in (f.node, f.peer)]
        width = max(map(len, names), default=0)
        return "\n".join(f.line(lang, width) for f in self.facts)

    def to_json(self) -> dict[str, Any]:
        plain = [plain_of(s) for s in self.snapshots]
        return {
            "format": FORMAT,
            "system": self.system,
            "title": self.title.json(),
            "label": self.label.json(),
            "terms": [[name.json(), means.json()] for name, means in self.terms],
            "choices": list(self.choices),
            "facts": [sparse(f) for f in self.facts],
            "start": plain[0],
            "changes": [diff(a, b) for a, b in itertools.pairwise(plain)],
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Trace:
        """Raises ValueError where `data` is not `mqlab.trace/1`, NaN as a number included."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            format = data.get("format") if isinstance(data, dict) else data
            raise BadValue("not a {} file: its format is {!r}", FORMAT, str(format)[:40])
        try:
            return Trace._read(data)
        except KeyError as error:
            raise BadValue("it has no {!r}", error.args[0]) from error
        except (AttributeError, IndexError, RecursionError, TypeError) as error:
            raise ValueError("its parts do not fit together") from error

    @staticmethod
    def _read(data: dict[str, Any]) -> Trace:
        """Build a trace from its JSON. To be small, the JSON has only the first Snapshot in full;
        of each further one, one a fact, it has what changed since the Snapshot before. Malformed
        JSON raises errors of several types, which `from_json` turns into ValueErrors."""
        if len(data["facts"]) != len(data["changes"]):
            raise ValueError("it needs one change for each fact")
        current = data["start"]
        snapshots = [_build(Snapshot, current)]
        for change in data["changes"]:
            previous, current = current, patch(current, change)
            snapshots.append(_build_next(snapshots[-1], previous, current))
        return Trace(
            system=data["system"],
            choices=tuple(data["choices"]),
            facts=tuple(_build(Fact, f) for f in data["facts"]),
            snapshots=tuple(snapshots),
            title=Text.from_json(data["title"]),
            label=Text.from_json(data.get("label", "")),
            terms=_build(tuple[tuple[Text, Text], ...], data.get("terms", [])),
        )

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", "utf-8")

    @staticmethod
    def load(path: str | Path) -> Trace:
        """Raises OSError, and ValueError where the file is no trace."""
        try:
            data = json.loads(Path(path).read_text("utf-8"))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        return Trace.from_json(data)


def plain_of(value: Any) -> Any:
    """Dataclasses to dictionaries, tuples to lists, Text to its JSON."""
    if isinstance(value, Text):
        return value.json()
    if isinstance(value, tuple):
        shared = value and isinstance(value[0], Cell | Got)
        return list(map(_plain_shared if shared else plain_of, value))
    names = _names(type(value))  # type: ignore[arg-type]
    if names is not None:
        return {name: plain_of(getattr(value, name)) for name in names}
    return value


@lru_cache(4096)
def _plain_shared(value: Cell | Got) -> Any:
    """Of what hundreds of Snapshots have in common."""
    return plain_of(value)


@cache
def _names(cls: type) -> tuple[str, ...] | None:
    """Of the fields of a dataclass; None for any other class."""
    return tuple(f.name for f in fields(cls)) if is_dataclass(cls) else None


def sparse(fact: Fact) -> dict[str, Any]:
    """A fact as JSON without its body and the fields that hold their defaults."""
    return {f.name: plain_of(value) for f in SAVED if (value := getattr(fact, f.name)) != f.default}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _build(cls: Any, value: Any) -> Any:
    """Build a value of the annotated type `cls` from JSON: the inverse of `plain_of`. It checks as
    it goes, since traces come from files: ValueError where a whole number, text or truth value is
    of the wrong type. JSON of another shape raises AttributeError, KeyError or TypeError, which
    `Trace.from_json` turns into a ValueError."""
    if cls is Text:
        return Text.from_json(value)
    if is_dataclass(cls):
        hints = _hints(cls)  # type: ignore[arg-type]
        return cls(**{k: _build(hints[k], v) for k, v in value.items()})  # type: ignore[operator]
    if get_origin(cls) is tuple:
        item_types = get_args(cls)
        if item_types[-1] is Ellipsis:
            return tuple(_build(item_types[0], item) for item in value)
        return tuple(_build(each, item) for each, item in zip(item_types, value, strict=True))
    if cls is FactKind:
        return FactKind(value)
    if isinstance(cls, UnionType):  # a part that may be missing
        return None if value is None else _build(get_args(cls)[0], value)
    if cls is int and type(value) is not int:  # NaN and 1e999 are numbers to Python's JSON
        raise BadValue("{!r}: expected a whole number", value)
    if cls in (str, bool) and type(value) is not cls:
        raise BadValue("{!r}: expected a {}", str(value)[:40], cls.__name__)
    return value


def _build_next(old: Snapshot, before: Any, now: Any) -> Snapshot:
    """The Snapshot after `old`, of which only the parts that `patch` has changed are built."""
    hints = _hints(Snapshot)
    return Snapshot(
        **{
            name: getattr(old, name) if value is before.get(name) else _build(hints[name], value)
            for name, value in now.items()
        }
    )


def diff(old: Any, new: Any) -> Any:
    """A change that `patch` applies: {} for none, {"=": v} for replaced, else by key.

    A list is treated as a map of its indices; "#" is its new length.
    """
    return {} if old == new else _change(old, new)


def _change(old: Any, new: Any) -> Any:
    """Of two values that differ."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return {k: _change(old[k], value) for k, value in new.items() if old[k] != value}
    if isinstance(old, list) and isinstance(new, list):
        out: dict[str, Any] = {} if len(old) == len(new) else {"#": len(new)}
        for i, value in enumerate(new):
            if i >= len(old):
                out[str(i)] = {"=": value}
            elif old[i] != value:
                out[str(i)] = _change(old[i], value)
        return out
    return {"=": new}


def patch(old: Any, change: Any) -> Any:
    """`patch(a, diff(a, b)) == b`; `old` is left as it was."""
    if "=" in change:
        return change["="]
    if isinstance(old, list):
        size = change.get("#", len(old))
        if not 0 <= size <= len(old) + len(change):
            raise ValueError("a list grows by more than is put into it")
        out = old[:size] + [None] * (size - len(old))
        for key, value in change.items():
            if key != "#":
                i = int(key)
                out[i] = patch(old[i] if i < len(old) else None, value)
        return out
    return {**old, **{k: patch(old[k], v) for k, v in change.items()}} if change else old
