"""The states of a half message, laid out on a grid; the table is that of `states.py`.

    half ───────────→ committed
      └→ asked ──┬──→ rolled back
                 └──→ discarded

Drawn are the table's edges that lead to the right: from the half to the question, and from both
to an end. That a transaction which has ended once can still end otherwise is seen from the way it
took.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import Graph, GraphState
from ..states import PREVIOUS, HalfState
from . import words
from .transactions import Txn

PLACES = {
    HalfState.HALF: (0, 0),
    HalfState.ASKED: (1, 1),
    HalfState.COMMITTED: (2, 0),
    HalfState.ROLLED_BACK: (2, 1),
    HalfState.DISCARDED: (2, 2),
}
STATES = tuple(GraphState(str(s), *place) for s, place in PLACES.items())
ENDS = (HalfState.COMMITTED, HalfState.ROLLED_BACK, HalfState.DISCARDED)
EDGES = tuple(
    (str(old), str(new))
    for new, olds in PREVIOUS.items()
    for old in sorted(olds)
    if PLACES[new][0] > PLACES[old][0]
)


def draw_graph(txns: Iterable[Txn], most: int) -> Graph:
    """The way of the transaction that has not ended, else of the last one. `most`: how often one
    is asked about."""
    known = list(txns)
    if not known:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    txn = next((t for t in known if t.state not in ENDS), known[-1])
    title = words.GRAPH(txn=txn.name)
    if txn.times:
        title = words.GRAPH_ASKED(txn=txn.name, times=txn.times, most=most)
    return Graph(title, STATES, EDGES, tuple(map(str, txn.path)), txn.name)
