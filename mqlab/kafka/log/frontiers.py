"""How far one may read, in words: what a trace says when HW or LSO has moved."""

from __future__ import annotations

from ...kernel import Text, Words
from .partition import Partition

FRONTIERS = Words("HW={hw} LSO={lso}", "HW={hw} LSO={lso}")
RECOVERED = Words("recovered, HW={hw} LSO={lso}", "已恢复，HW={hw} LSO={lso}")


def find_lso(part: Partition) -> int:
    """The last stable offset that is in force: a learner's rule says it while one is tried
    (`KafkaConfig.lso_rule`), else the partition."""
    if part.config.lso_rule is None:
        return part.lso
    firsts = sorted(first for first, _ in (*part.open, *part.unreplicated))
    return part.config.lso_rule(tuple(firsts), part.hw)


def tell_frontiers(old: Partition | None, new: Partition) -> tuple[Text, ...]:
    """`old` None: the partition was recovered just now."""
    if old is None:
        return (RECOVERED(hw=new.hw, lso=find_lso(new)),)
    if (new.hw, find_lso(new)) != (old.hw, find_lso(old)):
        return (FRONTIERS(hw=new.hw, lso=find_lso(new)),)
    return ()
