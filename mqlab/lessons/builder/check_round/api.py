"""What a check round is written with: everything that `check_round.py` imports.

The broker of RocketMQ keeps no table of open transactions. It has two queues that only grow: the
*half topic*, with a message for each transaction, and the *op topic*, whose records say which
half messages have ended. A check round reads both side by side and asks producers about those that
no op record names. You write one function, which is pure: no clock, no chance, no file.

    check(round)  →  (actions, half_offset, op_offset)

    round.halves       tuple of Half(offset, times, young), from round.half_offset on
    round.ops          tuple of Op(offset, ends), from round.op_offset on; `ends` names half
                       messages by their offset: (0, 2)
    round.check_max    how often a half message is asked about (transactionCheckMax)

`times` says how often it was asked about already. `young` is True while its producer is
given time to end it by itself (transactionTimeOut).

Each action is one of these, and they are done in their order:

    PutBack(half.offset)    write a copy at the end of the half topic, with `times` one higher
    Ask(half.offset)        ask some producer of its group; the question names the copy, or the
                            half message itself if no copy was written before
    Park(half.offset)       set it aside in TRANS_CHECK_MAX_TIME_TOPIC, for good

The two offsets say where the next round begins. They are written after all actions, and the
broker may be killed between any two of those; then the round is done again.

A log cannot be changed. So what a round has passed is never read again, and a half message that is
to be seen again is written once more, as a copy. They are read in sequence; a round ends at
the first one that has not ended and is young.

The rules are RocketMQ 5.5's and 4.9's (TransactionalMessageServiceImpl#check). *Left out:*
half messages with an immunity of their own, half messages older than the files are kept, the 60
seconds that a round may last, and the 32 op records that it reads at a time.
"""

from __future__ import annotations

from ....kernel import frozen

__all__ = ["Ask", "Half", "Op", "Park", "PutBack", "Round"]


@frozen
class Half:
    """A half message, or a copy of one, at `offset` of the half topic. `times`: how often its
    producer was asked about it; `young`: it is not old enough to be asked about."""

    offset: int
    times: int = 0
    young: bool = False


@frozen
class Op:
    """A record of the op topic: the half messages at these offsets have ended. `ends`: these
    offsets."""

    offset: int
    ends: tuple[int, ...] = ()


@frozen
class Round:
    """What is in both topics when the round begins, from where the last one stopped.
    `half_offset`, `op_offset`: from where; `check_max`: checks after which a half message is
    discarded; `halves`, `ops`: what is there."""

    half_offset: int
    op_offset: int
    check_max: int
    halves: tuple[Half, ...] = ()
    ops: tuple[Op, ...] = ()


@frozen
class PutBack:
    half: int


@frozen
class Ask:
    half: int


@frozen
class Park:
    half: int
