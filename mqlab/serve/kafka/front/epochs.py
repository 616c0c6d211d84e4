"""The leader epoch a client believes in, and the one there is.

A client says with each request which leader's log it means (KIP-320). This broker has led
every partition since it was made, so there is one epoch.

Source: Partition#checkCurrentLeaderEpoch (Kafka 4.3).
"""

from __future__ import annotations

from ....kafka.errors import Error

EPOCH = 0
ANY = -1


def epoch_error(current: int, older: bool = False) -> Error:
    """The answer to a client that believes in the leader epoch `current`. `older`: whether one
    below that of the beginning counts as such."""
    if current > EPOCH:
        return Error.UNKNOWN_LEADER_EPOCH
    if older and current < ANY:
        return Error.FENCED_LEADER_EPOCH
    return Error.NONE
