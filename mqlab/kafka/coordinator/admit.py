"""A learner's answer to: who may go on with this transaction?

Every request about a transaction begins with the same three questions: is this the producer
id that belongs to the transactional id, is this its latest epoch, and is nothing being
written for it just now? Lab 06 lets somebody write that rule; it then stands in the place of
the coordinator's own checks, for AddPartitionsToTxn, AddOffsetsToTxn and a legacy EndTxn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Error
from ..messages import AddPartitionsToTxn, EndTxn

if TYPE_CHECKING:
    from . import Coordinator
    from .entry import Entry


def apply_admit_rule(tc: Coordinator, ask: AddPartitionsToTxn | EndTxn) -> Error:
    """What the rule says. Whom it lets in where nothing can be begun meets an
    IllegalStateException further on, which reaches a client as UNKNOWN_SERVER_ERROR
    (TransactionMetadata#prepareTransitionTo, Kafka 4.3)."""
    assert tc.config.admit_rule is not None
    entry: Entry | None = tc.entries.get(ask.txn_id)
    known = (entry.pid, entry.epoch) if entry is not None else None
    state = str(entry.state) if entry is not None else ""
    busy = tc.busy(ask.txn_id)
    said = tc.config.admit_rule(known, state, busy, (ask.pid, ask.epoch))
    if said == "ok":
        return Error.UNKNOWN_SERVER_ERROR if entry is None or busy else Error.NONE
    return Error[said]
