"""A check round after Part 1: what must be asked.

mqlab build check my-labs/check_round.py
"""

from __future__ import annotations

from mqlab.lessons.builder.check_round.api import Ask, Park, PutBack, Round


def check(round: Round):
    """What is to be done about the halves of this round, and where the next one begins."""
    ended = {half for op in round.ops for half in op.ends}
    actions = []
    at = round.half_offset
    for half in round.halves:
        at = half.offset + 1
        if half.offset in ended:
            continue
        if half.times >= round.check_max:
            actions.append(Park(half.offset))
        else:
            actions += [PutBack(half.offset), Ask(half.offset)]
    return tuple(actions), at, pass_ops(round, at)


def pass_ops(round: Round, half_offset: int) -> int:
    """Where the next round begins among the op records."""
    return round.op_offset + len(round.ops)
