"""How far one may read, in words: what a trace says when HW or LSO has moved."""

from __future__ import annotations

from ...kernel import Text, Words
from .partition import Partition

FRONTIERS = Words("HW={hw} LSO={lso}", "HW={hw} LSO={lso}")
RECOVERED = Words("recovered, HW={hw} LSO={lso}", "已恢复，HW={hw} LSO={lso}")


def tell_frontiers(old: Partition | None, new: Partition) -> tuple[Text, ...]:
    """`old` None: the partition was recovered just now."""
    if old is None:
        return (RECOVERED(hw=new.hw, lso=new.read_limit),)
    if (new.hw, new.read_limit) != (old.hw, old.read_limit):
        return (FRONTIERS(hw=new.hw, lso=new.read_limit),)
    return ()
