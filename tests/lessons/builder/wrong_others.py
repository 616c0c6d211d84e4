"""Wrong check rounds and wrong pending acks: what is changed in a right one, and what is heard.

Each is a belief of learners about RocketMQ's check or Pulsar's acknowledgements.
"""

from __future__ import annotations

from functools import partial

from tests.lessons.builder.wrong import Wrong

Round = partial(Wrong, folder="check_round")
Acks = partial(Wrong, folder="pending_acks")
ASKS = "actions += [PutBack(half.offset), Ask(half.offset)]"
SPENT = "if half.times >= round.check_max:"

ROUNDS = (
    Round(
        "the check asks about every half",
        1,
        "ended before",
        "an op record before it says that it has ended",
        "if half.offset in ended:",
        "if False:",
    ),
    Round(
        "the first op record is enough",
        1,
        "ended before",
        "an op record before it says that it has ended",
        "for op in round.ops for half in op.ends}",
        "for op in round.ops[:1] for half in op.ends}",
    ),
    Round(
        "a half that was asked about needs no copy",
        1,
        "an end is late",
        "a question leaves nothing to find",
        ASKS,
        "actions.append(Ask(half.offset))",
    ),
    Round(
        "ask first, then put back",
        1,
        "an end is late",
        "put the half back first, then ask",
        ASKS,
        "actions += [Ask(half.offset), PutBack(half.offset)]",
    ),
    Round(
        "a copy is a question",
        1,
        "only the check can commit",
        "`PutBack` only writes a copy; `Ask` is the question",
        ASKS,
        "actions.append(PutBack(half.offset))",
    ),
    Round(
        "checks go on for ever",
        1,
        "nobody knows",
        "A half was put back with 3 checks, and 2 are allowed",
        SPENT,
        "if False:",
    ),
    Round(
        "after the last check the message is dropped",
        1,
        "nobody knows",
        "it was asked about 2 times and is dropped, where it is to be parked",
        "actions.append(Park(half.offset))",
        "pass",
    ),
    Round(
        "one check is enough",
        1,
        "nobody knows",
        "parked before it was asked about 2 times",
        SPENT,
        "if half.times >= 1:",
    ),
    Round(
        "one half a round",
        1,
        "two in a row",
        "the round stops at half 1, which nobody has ended",
        ASKS,
        f"{ASKS}\n            break",
    ),
    Round(
        "the half stays where it is until it has ended",
        1,
        "an end is late",
        "the next round finds the same half and does it again",
        "return tuple(actions), at, pass_ops(round, at)",
        "return tuple(actions), round.half_offset, pass_ops(round, at)",
    ),
    Round(
        "op records stay where they are",
        1,
        "ended before",
        "every round reads it again",
        "return round.op_offset + len(round.ops)",
        "return round.op_offset",
    ),
    Round(
        "who is young is asked like everybody",
        2,
        "a young one",
        "asked about while its producer is still at work",
        "elif half.young:",
        "elif False:",
    ),
    Round(
        "who is young is passed over",
        2,
        "a young one",
        "a round ends at the first young one and stays before it",
        "                break\n            else:",
        "                pass\n            else:",
    ),
    Round(
        "op records that were read are done with",
        2,
        "an op record for two",
        "names a half that is still to come",
        "if any(half >= half_offset for half in op.ends):",
        "if False:",
    ),
)
MAY = "return not any(message in held or message in acked for message in messages)"
ACKS = (
    Acks(
        "two transactions can acknowledge one message, the last wins",
        1,
        "one message, two transactions",
        "(0,1) has taken it over",
        MAY,
        "return not any(message in acked for message in messages)",
    ),
    Acks(
        "what is acknowledged may be acknowledged again",
        1,
        "after the commit",
        "Message 0 is acknowledged for good, and (0,1) holds it",
        MAY,
        "return not any(message in held for message in messages)",
    ),
    Acks(
        "it is enough that one message is free",
        1,
        "one of two is held",
        "(0,1) has taken it over",
        "return not any(",
        "return not all(",
    ),
    Acks(
        "one transaction at a time",
        1,
        "each has one",
        "(0,1) has acknowledged message 1, which was free, and does not hold it",
        "return not any(message in held",
        "return not any(held",
    ),
    Acks(
        "an acknowledgement takes effect at once",
        1,
        "a commit",
        "(0,0) has acknowledged message 0, which was free, and does not hold it",
        "        held = held.set(message, txn)\n    return held",
        "        held = held.remove(message)\n    return held",
    ),
    Acks(
        "a commit only forgets",
        1,
        "a commit",
        "the cursor does not have what it had acknowledged",
        'the cursor gets."""\n    return let_go(held, txn)',
        'the cursor gets."""\n    return let_go(held, txn)[0], ()',
    ),
    Acks(
        "a commit leaves its messages pending",
        1,
        "a commit",
        "(0,0) has ended, and still holds message 0",
        'the cursor gets."""\n    return let_go(held, txn)',
        'the cursor gets."""\n    return held, let_go(held, txn)[1]',
    ),
    Acks(
        "an abort keeps its messages",
        1,
        "an abort",
        "(0,0) has ended, and still holds message 0",
        'delivered again."""\n    return let_go(held, txn)',
        'delivered again."""\n    return held, let_go(held, txn)[1]',
    ),
    Acks(
        "an abort gives its messages back by itself",
        1,
        "an abort",
        "held by nobody, acknowledged by nobody, and will not be delivered",
        'delivered again."""\n    return let_go(held, txn)',
        'delivered again."""\n    return let_go(held, txn)[0], ()',
    ),
    Acks(
        "an abort frees everybody",
        1,
        "each has one",
        "(0,1) has acknowledged message 1, which was free, and does not hold it",
        'delivered again."""\n    return let_go(held, txn)',
        'delivered again."""\n    return Map(), tuple(held)',
    ),
    Acks(
        "a pending message cannot be acknowledged without a transaction",
        2,
        "without a transaction",
        "Message 0 is acknowledged for good, and (0,0) holds it",
        "        held = held.remove(message)\n",
        "        pass\n",
    ),
    Acks(
        "what is pending lives in memory only",
        2,
        "a kill, a commit",
        "a load would find nothing",
        "    return held, again\n",
        "    return Map(), again\n",
    ),
    Acks(
        "the log holds what was granted",
        2,
        "a refusal in the log",
        "each record of the log is taken as it was the first time, refusals, too",
        "if may_acknowledge(held, (*acked, *again), record.txn, record.messages):",
        "if True:",
    ),
    Acks(
        "a commit in the log has reached the cursor",
        2,
        "a kill, a commit",
        "`load` gives those of each commit in the log",
        "again = (*again, *done)",
        "pass",
    ),
    Acks(
        "a load aborts what is open",
        2,
        "a kill, an abort",
        "The subscription holds message 0 for (0,0), and a load would find nothing",
        "    return held, again\n",
        "    return Map((at, txn) for at, txn in held.items() if txn in again), again\n",
    ),
)
