"""A Pulsar world as a Snapshot: lanes, ledgers, consumers, tables, the graph of a transaction,
lights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ...kernel import (
    NOTHING,
    Cell,
    Frontier,
    Got,
    Graph,
    GraphState,
    Lane,
    Light,
    Log,
    Map,
    Progress,
    Property,
    Reader,
    Snapshot,
    Table,
    Text,
    World,
    frozen,
    replace,
    tr,
)
from ...kernel.snapshot import Part, draw_part
