"""Pending acks: what open transactions have acknowledged in one subscription.

A transaction may acknowledge messages. Until it ends they are neither acknowledged nor free: they
are delivered to nobody, and no other transaction may acknowledge them. A commit hands them to the
cursor; an abort frees them, and they are delivered again.

    handle.py    who has acknowledged what, the rules of conflict, commit and abort
    records.py   the log: ACK, COMMIT, ABORT; what each does, live and in a replay

The record is written **before** the check. What is refused is in the log too; a replay goes
through the same checks in the same order and refuses it again.

**Durable**: the log, which holds positions and no messages. *Memory*: the handle. *What can go
wrong:* a stop between the record of a commit and the cursor's row: the replay acknowledges again.
An open transaction keeps its messages back for as long as it lives. *Invariants:* a message is
pending for at most one transaction (of a batch: each of its messages).

Three things that one would expect and that Pulsar does not do:

- A *plain* acknowledgement is not stopped by a pending one. It is applied at once, and the abort
  of the transaction does not bring the message back.
- A cumulative acknowledgement has one slot for the whole subscription, and it is not compared
  with individual ones.
- While that slot is held, a commit of another transaction with individual acknowledgements
  succeeds and leaves them pending. So the two kinds must not be mixed in one subscription.

*Left out:* the index by which the log is shortened (`transactionPendingAckLogIndexMinLag`), several
records in one entry, the states Error and Close.
Read on in PendingAckHandleImpl, MLPendingAckStore, MLPendingAckReplyCallBack (Pulsar 4.2).
"""

from .handle import PendingAck
from .records import Applied, apply_record, build_end, replay_log

__all__ = ["Applied", "PendingAck", "apply_record", "build_end", "replay_log"]
