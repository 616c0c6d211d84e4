"""The brokers there are, and the classical models beside them: one module each, found by
looking into this package.

Such a module has `BROKER`, which names the broker's modules. They are named as texts, so that
nothing of a broker is imported before it is asked for, and what one module needs (kio, Spark)
hurts no user of another. A new broker is a new module here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


@dataclass(frozen=True, slots=True)
class Broker:
    """Places are written "module" or "module:name".

    `title`: what its makers call it. `systems`: name in a system line → its class. `searches`:
    its `Searches`. `witness`: its `Witness`, which gives the facts of those systems their
    evidence. `serve` and `real`: the modules with the options of `mqlab serve NAME` and
    `mqlab real NAME`; what is in them is said in `mqlab.cli.serve` and `mqlab.cli.real`.
    `inspect`: the module that reads a real one for `mqlab inspect NAME`; see `mqlab.inspect`.
    "": there is no such module; a model that was never built has nothing to record and no client
    to speak to it."""

    title: str
    systems: Mapping[str, str]
    searches: str = ""
    witness: str = ""
    serve: str = ""
    real: str = ""
    inspect: str = ""


@cache
def list_brokers(part: str = "") -> dict[str, Broker]:
    """Each broker by its name; with the name of a part, as "serve": each that has it."""
    names = sorted(module.name for module in iter_modules(__path__))
    found = {name: import_module(f"{__name__}.{name}").BROKER for name in names}
    return {name: broker for name, broker in found.items() if not part or getattr(broker, part)}


def find_broker(name: str) -> Broker:
    """Raises LookupError with the known names."""
    if name not in list_brokers():
        raise LookupError(f"no broker {name!r}; there are: {', '.join(list_brokers())}")
    return list_brokers()[name]


def load(place: str) -> Any:
    """The module, or the object in a module, that a place names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)
