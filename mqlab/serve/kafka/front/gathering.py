"""An answer, some parts of which only roles know, and the request that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....kernel import Caller, Map, frozen
from ..wire.api import Ask


@frozen
class Later:
    """A part that a role knows: it is sent `message`, and `make` turns what it answers into the
    part."""

    role: str
    message: Any
    make: Callable[[Any], Any]


@frozen
class Rows:
    """A part made of others: `make` takes a tuple of them. Each of `rows` is finished, or a
    `Later`, or `Rows` again."""

    make: Callable[[tuple[Any, ...]], Any]
    rows: tuple[Any, ...]


def list_missing(part: Any) -> Iterator[Later]:
    if isinstance(part, Later):
        yield part
    elif isinstance(part, Rows):
        for row in part.rows:
            yield from list_missing(row)


def finish(part: Any, answers: Iterator[Any]) -> Any:
    """The part, made with what the roles have answered, in the order of `list_missing`."""
    if isinstance(part, Later):
        return part.make(next(answers))
    if isinstance(part, Rows):
        return part.make(tuple(finish(row, answers) for row in part.rows))
    return part


@frozen
class Gathering:
    """A request that waits. `plan`: its answer, as above, or what `fetch.py` makes it from; `left`:
    how many parts are missing; `got`: what roles have answered, by the place of the part."""

    caller: Caller
    ask: Ask
    plan: Any
    left: int
    got: Map[int, Any] = Map()
