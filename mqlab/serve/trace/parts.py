"""What the brokers' live pictures are made of: parts that are made again only when they have
changed, the end of a log, and texts that have room in a cell."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from ...kernel import Light, escape_unseen
from ...kernel.claims import Claim
from ...kernel.trace import plain_of

T = TypeVar("T")

MOST, LEAST = 40, 24  # cells kept of a log: beyond the one, it is cut to the other
LABEL = 12  # characters of a cell's text, or of a longer one:
HEAD, TAIL = 2, 5  # as many of its beginning and of its end
READABLE = 8 * LABEL  # bytes of a record that are looked at


class Same:
    """A value that is never changed, as a version: equal only to itself. To compare what is in it
    would cost its size."""

    __slots__ = ("what",)

    def __init__(self, what: Any) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.what is other.what

    def __hash__(self) -> int:
        return id(self.what)


class Lights:
    """The claims that are watched on a server that goes on. A light that went red stays red: the
    claim was broken in this run, whatever comes after."""

    def __init__(self, claims: Sequence[Claim[Any]]) -> None:
        self.claims = claims
        self.red: set[str] = set()

    def judge(self, claim: Claim[Any], holds: bool) -> None:
        if not holds:
            self.red.add(claim.name)

    def draw(self) -> tuple[Light, ...]:
        return tuple(Light(c.name, c.words(), c.name not in self.red) for c in self.claims)


class Parts:
    """The parts of a Snapshot as plain JSON values, by name. An answer holds a change for each of
    hundreds of facts: parts that did not change stay the same objects, which a comparison sees at
    once, so a fact costs what it changed. `version(what, of)`: of what a part is made from."""

    def __init__(self, version: Callable[[str, str], Hashable] = lambda what, of: None) -> None:
        self.version = version
        self._made: dict[str, tuple[Hashable, Any]] = {}

    def make(self, name: str, version: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` makes, or what it made before where the version is the same."""
        old = self._made.get(name)
        if old is None or old[0] != version:
            value = make()
            # Equal is as good as unchanged, and quicker to compare from now on.
            if old is not None and old[1] == value:
                value = old[1]
            self._made[name] = old = (version, value)
        return old[1]

    def draw(self, what: str, of: str, make: Callable[[], Any]) -> Any:
        """A part as `kernel.snapshot.Part` says it."""
        version = self.version(what, of)
        return self.make(f"{what} {of}", version, lambda: plain_of(make()))


class Strip(Generic[T]):
    """The end of a log. `changes` counts, so that a picture knows it is old."""

    def __init__(self) -> None:
        self.cells: deque[T] = deque()
        self.changes = 0

    def add(self, entry: T) -> None:
        self.changes += 1
        self.cells.append(entry)
        if len(self.cells) > MOST:
            # Several at once, so that a picture's cells do not all move at every append.
            while len(self.cells) > LEAST:
                self.cells.popleft()


def read_text(data: str | bytes | None) -> str:
    """The beginning of a record, "" where it is no text that can be shown."""
    try:
        text = data if isinstance(data, str) else (data or b"")[:READABLE].decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def label(text: str) -> str:
    """As much of a text as a cell has room for: of a longer one both ends, since what names have in
    common they begin with."""
    short = escape_unseen(text[: LABEL + 1])
    if len(text) <= LABEL and len(short) <= LABEL:
        return short
    return f"{short[:HEAD]}…{escape_unseen(text[-TAIL:])[-TAIL:]}"
