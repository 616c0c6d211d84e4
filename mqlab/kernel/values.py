"""`replace`: a frozen value with some fields changed, as `dataclasses.replace` gives it.

A step of a role changes a handful of values, and nothing is done more often. The standard
function calls the class's `__init__`, which sets every field through a check that the value
is frozen; here the fields are copied from slot to slot, in a third of the time. Types are
checked as for the standard function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

__all__ = ["replace"]

Place = tuple[str, Callable[[Any, Any], None], Callable[[Any], Any]]  # name, put, get

_places: dict[type, tuple[Place, ...]] = {}

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value, /, **changes):
        """Raises TypeError for a change of what is no field."""
        kind = value.__class__
        places = _places.get(kind)
        if places is None:
            places = _places[kind] = _of(kind)
        new = object.__new__(kind)
        for name, put, get in places:
            put(new, changes.pop(name) if name in changes else get(value))
        if changes:
            raise TypeError(f"{kind.__name__} has no field {next(iter(changes))!r}")
        return new


def _of(kind: type) -> tuple[Place, ...]:
    """A class that checks itself when it is made must go through its own `__init__`."""
    assert not hasattr(kind, "__post_init__") and hasattr(kind, "__slots__"), kind
    slots = ((f.name, getattr(kind, f.name)) for f in fields(kind))
    return tuple((name, slot.__set__, slot.__get__) for name, slot in slots)
