"""The states of a transaction at its coordinator, laid out on a grid; the table is that of
`states.py`.

    OPEN ──┬──→ COMMITTING ──→ COMMITTED
           └──→ ABORTING ────→ ABORTED
"""

from __future__ import annotations

from ...kernel import Graph, GraphState
from ..states import PREVIOUS, TxnStatus
from . import words
from .ledgers import Written

PLACES = {
    TxnStatus.OPEN: (0, 0),
    TxnStatus.COMMITTING: (1, 0),
    TxnStatus.COMMITTED: (2, 0),
    TxnStatus.ABORTING: (1, 1),
    TxnStatus.ABORTED: (2, 1),
}
STATES = tuple(GraphState(str(state), *place) for state, place in PLACES.items())
EDGES = tuple(
    (str(old), str(new)) for new, olds in PREVIOUS.items() for old in sorted(olds) if old != new
)


def draw_graph(written: Written) -> Graph:
    """The way of the transaction that has not ended, else of the last one."""
    if not written.begun:
        return Graph(words.GRAPH_IDLE(), STATES, EDGES)
    txn = next((t for t in written.begun if t not in written.done), written.begun[-1])
    path = [TxnStatus.OPEN]
    path += [way[txn] for way in (written.decisions, written.done) if txn in way]
    name = written.name(txn)
    return Graph(words.GRAPH(txn=name, id=txn), STATES, EDGES, tuple(map(str, path)), name)
