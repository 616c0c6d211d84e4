"""Messages, calls and records that say themselves in one line, which is how a narration shows them.

@worded("EndTxn {action} {txn}")
class EndTxn:
    txn: TxnID
    action: TxnAction
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from inspect import get_annotations
from string import Formatter
from typing import TypeVar, dataclass_transform

from .maps import frozen
from .text import phrase

C = TypeVar("C")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def worded(template: str) -> Callable[[type[C]], type[C]]:
    """A class decorator: makes a frozen dataclass with slots whose `str` is the template, filled
    with its fields and properties as in `str.format` (`{txn}`, `{batch.base}`). It is a `phrase`.
    Raises TypeError, when the class is made, for a name in the template that the class does not
    have."""
    named = [name.partition(".")[0] for _, name, _, _ in Formatter().parse(template) if name]

    def make(cls: type[C]) -> type[C]:
        fields = {name for base in cls.__mro__ for name in get_annotations(base)}
        unknown = [name for name in named if name not in fields and not hasattr(cls, name)]
        if unknown:
            raise TypeError(f"{cls.__name__} has no {unknown[0]}, which its words name: {template}")

        def say(self: C) -> str:
            return phrase(template, **{name: getattr(self, name) for name in named})

        cls.__str__ = say  # type: ignore[method-assign,assignment]
        return frozen(cls)

    return make
