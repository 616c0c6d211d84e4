"""Which queues each consumer of a group reads.

The broker does not share them out. It tells each consumer who else is in the group, and all of
them come to the same answer by the same rule: sort the members, sort the queues, cut into pieces
of nearly equal length. While they do not agree on who is there, a queue can be read by two of
them, or by none.

Sources: AllocateMessageQueueAveragely, RebalanceImpl#rebalanceByTopic (5.5.0).
"""

from __future__ import annotations


def allocate_queues(me: str, members: tuple[str, ...], queues: tuple[str, ...]) -> tuple[str, ...]:
    """The queues of one member; the first members have one more where it does not come out even."""
    everyone = sorted(members)
    if me not in everyone:
        return ()
    size, more = divmod(len(queues), len(everyone))
    index = everyone.index(me)
    start = index * size + min(index, more)
    return queues[start : start + size + (index < more)]
