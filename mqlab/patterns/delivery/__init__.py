"""Delivery: an order goes from a shop through a queue to accounting, over links that break.

How often is it counted? There are three promises, and none of them is about the network:

    at most once     never twice; it may be lost
    at least once    never lost; it may be counted twice
    exactly once     neither

The network is the same in all three: a message may be lost with its connection, it may be late, and
processes may be killed. What differs is what the three participants do about it, and each of them
has a line that decides (`config.py`, SAFEGUARDS). Exactly once needs all of these lines; it is not
a property of a network or of a queue alone.

    shop         sends again until it hears an acknowledgement   send_again
    queue        writes first; knows what it has already          append_first, recognise
    accounting   writes amount and position in one write         one_write

Read shop.py, queue.py and accounting.py in this order; `claims.py` says what *lost* and *twice*
mean.

Left out: everything that makes delivery fast (batches, several orders under way, partitions); and
power cuts: a process that is killed leaves what it has written, and nobody flushes here.
"""

from .config import SAFEGUARDS, DeliveryConfig
from .system import DeliverySystem

__all__ = ["SAFEGUARDS", "DeliveryConfig", "DeliverySystem"]
