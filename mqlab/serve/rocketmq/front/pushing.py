"""Pushes that a client could not take yet: they are sent again a little later.

What a client has not read is bounded (`Frames` in `serve/adapter.py`), and a round of the check may
ask about more than that in one turn: a thousand half messages of some kilobytes. A question that is
not sent comes back here, waits, and leaves when the client has read on. It must not be lost, for
the check has counted it. A real broker writes all of them to the connection, whose memory then
holds them.

Source: Broker2Client#checkProducerTransactionState, ProducerManager#getAvailableChannel (5.5.0).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ....kernel import Effects, Send, SetTimer, replace

if TYPE_CHECKING:
    from . import Front

AGAIN, AGAIN_MS = "push again", 20
AT_ONCE = 64  # pushes that one client is tried with at a time
Result = tuple["Front", Effects]


def keep_unsent(front: Front, client: str, body: Any) -> Result:
    number = front.last + 1
    timer = () if front.unsent else (SetTimer(AGAIN, AGAIN_MS),)
    kept = front.unsent.set(number, Send(client, body))
    return replace(front, last=number, unsent=kept), timer


def push_again(front: Front) -> Result:
    """Of each client the oldest; those that it cannot take come back, after the others."""
    left, tried, sent = front.unsent, Counter[str](), list[Any]()
    for number, push in front.unsent.items():
        tried[push.to] += 1
        if tried[push.to] <= AT_ONCE:
            left = left.remove(number)
            sent.append(push)
    timer = (SetTimer(AGAIN, AGAIN_MS),) if left else ()
    return replace(front, unsent=left), (*sent, *timer)


def forget_unsent(front: Front, client: str) -> Front:
    left = front.unsent
    for number, push in front.unsent.items():
        if push.to == client:
            left = left.remove(number)
    return replace(front, unsent=left)
