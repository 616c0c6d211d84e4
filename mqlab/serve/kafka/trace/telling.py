"""What a live fact means: its transaction, whether it may be folded, one sentence why.

The counterpart of `kafka.telling`, which reads a whole world; here a `Model` knows.
"""

from __future__ import annotations

from ....kafka.coordinator import StateRecord
from ....kafka.errors import Error
from ....kafka.log import Batch
from ....kafka.messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    Fetch,
    FetchResponse,
    InitProducerId,
    Produce,
    TxnOffsetCommit,
    WriteTxnMarkers,
    outcome,
)
from ....kafka.picture import words
from ....kafka.picture.telling import WHY_STATE
from ....kafka.states import TxnState
from ....kernel import Telling, Text
from .model import Model


def sent(model: Model, body: object, by_client: bool) -> Telling:
    """Of a request."""
    match body:
        case Produce(batch=batch, txn_id=txn_id):
            name = model.name_of(txn_id) if batch.transactional else ""
            return Telling(name, label=Text(f"Produce {batch.words}"))
        case AddPartitionsToTxn(txn_id=txn_id):
            # A leader's own question to the coordinator teaches nothing while all is well.
            return Telling(model.name_of(txn_id), not by_client, Text("AddPartitionsToTxn"))
        case TxnOffsetCommit(txn_id=txn_id) | AddOffsetsToTxn(txn_id=txn_id):
            return Telling(model.name_of(txn_id), label=Text(type(body).__name__))
        case EndTxn(txn_id=txn_id, commit=commit):
            return Telling(model.last_of(txn_id), label=Text(f"EndTxn {outcome(commit)}"))
        case WriteTxnMarkers(txn_id=txn_id):
            return Telling(model.last_of(txn_id), label=Text("WriteTxnMarkers"))
        case InitProducerId(txn_id=txn_id):
            return Telling(fold=txn_id is None, label=Text("InitProducerId"))
        case Fetch():
            return Telling(label=Text("Fetch"))
    return Telling(fold=True)


def replied(model: Model, asked: object, body: object) -> Telling:
    """Of an answer, `asked` being the request."""
    error: Error = getattr(body, "error", Error.NONE)
    txn_id = getattr(asked, "txn_id", None)
    name = model.last_of(txn_id) if txn_id else ""
    if error:
        again = error in (Error.CONCURRENT_TRANSACTIONS, Error.NOT_ENOUGH_REPLICAS)
        why = words.WHY_REFUSED(error=error.name)
        return Telling(name, again, Text(error.name), why)
    if isinstance(body, EndTxnResponse):
        return Telling(name, label=Text("ok"), why=words.WHY_ANSWERED())
    if isinstance(body, FetchResponse):
        count = sum(b.count for b in body.batches if not b.control)
        return Telling(label=Text(f"{count} records" if count != 1 else "1 record"))
    return Telling(name, fold=True, label=Text("ok"))


def written(model: Model, log: str, entry: object) -> Telling:
    """Of an append, after the model has taken note of it."""
    match entry:
        case StateRecord(entry=state):
            name = "" if state.state is TxnState.EMPTY else model.last_of(state.txn_id)
            return Telling(name, why=WHY_STATE[state.state](txn=name))
        case Batch(control=control):
            strip = model.strips.get(log)
            name = strip.rows[-1].txn if strip is not None and strip.rows else ""
            return Telling(name, why=(words.WHY_MARKER if control else words.WHY_DATA)())
    return Telling(fold=True)


def moved(model: Model, name: str) -> Telling:
    """Of a frontier: a marker that is safe is what lets readers go on."""
    part, strip = model.part(name), model.strips.get(name)
    if part is None:
        return Telling()
    marker = strip is not None and bool(strip.rows) and bool(strip.rows[-1].batch.control)
    return Telling(fold=not marker, why=words.WHY_LSO(lso=part.lso, hw=part.hw))
