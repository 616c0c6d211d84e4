"""The coordinator's state graph: the transition table of `states.py`, laid out on a grid.

    Empty → Ongoing → PrepareCommit → CompleteCommit
                      PrepareAbort  → CompleteAbort

Only the edges that lead one column to the right are drawn: what makes a transaction begin
again is the next transaction's business, and has a graph of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import Graph, GraphState
from ..states import COMPLETED, PREVIOUS, TxnState
from . import words
from .transactions import Txn

PLACES = {
    TxnState.EMPTY: (0, 0),
    TxnState.ONGOING: (1, 0),
    TxnState.PREPARE_COMMIT: (2, 0),
    TxnState.COMPLETE_COMMIT: (3, 0),
    TxnState.PREPARE_ABORT: (2, 1),
    TxnState.COMPLETE_ABORT: (3, 1),
}
STATES = tuple(GraphState(str(s), *place) for s, place in PLACES.items())
EDGES = tuple(
    (str(old), str(new))
    for new, olds in PREVIOUS.items()
    for old in sorted(olds)
    if new in PLACES and old in PLACES and PLACES[new][0] == PLACES[old][0] + 1
)


def draw_graph(latest: Iterable[Txn], begun: bool) -> Graph:
    """The way of the transaction that goes on, else of the last one. `latest`: the latest
    transaction of each id, the id that matters most first; `begun`: some id is known."""
    txns = list(latest)
    if not txns:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES, (str(TxnState.EMPTY),) if begun else ())
    txn = next((t for t in txns if t.state not in COMPLETED), txns[0])
    path = (str(TxnState.EMPTY), *map(str, txn.path))
    return Graph(words.GRAPH(txn=txn.name), STATES, EDGES, path, txn.name)
