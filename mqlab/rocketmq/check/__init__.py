"""The check: the broker goes through the half topic and asks about what nobody has ended.

Nothing in the broker says which transactions are open. The check service finds out, one *round*
at a time, by reading two queues side by side: the half topic from the offset where the last round
stopped, and the op topic, whose records name the half messages that have ended. A half that no op
record names is asked about. Since a log cannot be changed, and the round wants to move on, that
half is *put back*: a copy, with its number of checks raised by one, is written at the end of the
half topic, and the question goes out about the copy.

From this follow most surprises of RocketMQ's transactions:

- a transaction has several addresses in the course of time, its first half and each copy; an op
  record for an old one is read too late, and the newest copy is asked about all the same
- the number of checks rises with every copy, also when there was nobody to ask
- a half that is too young stops the whole round, for halves are expected in order of their age
- after `transactionCheckMax` checks the half is parked in TRANS_CHECK_MAX_TIME_TOPIC. That is no
  rollback: a late COMMIT still commits it

*Durable* are the two queues and the two offsets, these with a delay (`log/offsets.py`).
*Invariants:* a round examines each half at most once; it writes its offsets last, so that a round
which was cut short is done again, with a second copy of what it had put back.

    ops.py     op records: what they say, and how they are written
    halves.py  what a half message becomes: put back, parked, restored for the question
    round.py   one round

Read on in TransactionalMessageServiceImpl#check, TransactionalMessageCheckService (5.5.0).
"""

from .round import RoundResult, run_round

__all__ = ["RoundResult", "run_round"]
