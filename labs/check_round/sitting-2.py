"""A check round after Part 2: what must wait.

mqlab build check my-labs/check_round.py --part 2
"""

from __future__ import annotations

from mqlab.lessons.builder.check_round.api import Ask, Park, PutBack, Round


def check(round: Round):
    """What is to be done about the halves of this round, and where the next one begins."""
    ended = {half for op in round.ops for half in op.ends}
    actions = []
    at = round.half_offset
    for half in round.halves:
        if half.offset not in ended:
            if half.times >= round.check_max:
                actions.append(Park(half.offset))
            elif half.young:
                break
            else:
                actions += [PutBack(half.offset), Ask(half.offset)]
        at = half.offset + 1
    return tuple(actions), at, pass_ops(round, at)


def pass_ops(round: Round, half_offset: int) -> int:
    """An op record is done with when all halves that it names are passed."""
    at = round.op_offset
    for op in round.ops:
        if any(half >= half_offset for half in op.ends):
            break
        at = op.offset + 1
    return at
