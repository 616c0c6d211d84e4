"""What a released broker (4.2.4) delivers, refuses and keeps after the stories of acknowledgement.

Of each row: what each client received (`b+1`: its redelivery count was 1), the calls that failed,
and at the end each cursor of `orders-0` with what is pending. This is not read from the narration,
so that a narration that is written again by mistake is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from mqlab.kernel import Run
from mqlab.pulsar.client.calls import Receive
from mqlab.registry import SYSTEMS
from mqlab.scenario import load
from tests.pulsar.test_reference import FOLDER, outcomes


@dataclass(frozen=True)
class Left:
    """`received`: by client, one text for each receive that brought something. `failed`: the
    exceptions, in order. `cursors`: mark-delete and what is acknowledged behind it. `pending`:
    entries that open transactions hold back."""

    received: dict[str, list[str]]
    cursors: dict[str, tuple[int, ...]]
    failed: list[str] = field(default_factory=list)
    pending: tuple[int, ...] = ()


def spell(detail: str) -> str:
    """`a @0, b @1 again 2` as `a b+2`."""
    words = []
    for text in detail.split(", "):
        value, _, count = text.partition(" again ")
        words.append(value.split(" ")[0] + (f"+{count}" if count else ""))
    return " ".join(words)


def read_left(run: Run) -> Left:
    received, failed = {}, []
    for node in run.world.nodes:
        found = outcomes(run, node)
        came = [o.detail for o in found if isinstance(o.call, Receive) and o.detail != "nothing"]
        if came:
            received[node] = [spell(detail) for detail in came]
        failed += [o.detail.removesuffix("Exception") for o in found if not o.ok]
    topic = run.world.role("orders-0")
    cursors = {
        name: (sub.cursor.mark_delete, *sub.cursor.list_individual())
        for name, sub in topic.subs.items()
    }
    pending = {at for sub in topic.subs.values() for at in sub.pending.positions}
    return Left(received, cursors, failed, tuple(sorted(pending)))


CONFLICT = "TransactionConflict"
SPOILT = "TransactionHasOperationFailed"
ROWS = {
    "ack-and-commit": Left({"worker": ["a b c"]}, {"billing": (2,)}),
    "ack-and-abort-shared": Left({"worker": ["a b c d", "b+1 c+1"]}, {"billing": (-1,)}),
    "ack-and-abort-exclusive": Left({"worker": ["a b c d", "a b c d"]}, {"billing": (-1,)}),
    "ack-abort-ack-commit": Left(
        {"worker": ["a b", "a+1 b+1"]}, {"billing": (1,)}, ["TransactionNotFound"]
    ),
    "two-transactions-one-message": Left(
        {"worker": ["a b"]}, {"billing": (0,)}, [CONFLICT, SPOILT]
    ),
    "one-transaction-acks-twice": Left(
        {"worker": ["a", "a+1"]}, {"billing": (-1,)}, [CONFLICT, SPOILT]
    ),
    "cumulative-must-advance": Left(
        {"worker": ["a b c d"]}, {"billing": (-1,)}, [CONFLICT] * 3 + [SPOILT] * 2
    ),
    "cumulative-and-abort": Left({"worker": ["a b c", "a b c"]}, {"billing": (-1,)}),
    "cumulative-replay": Left({"worker": ["a b c"]}, {"billing": (2,)}, [CONFLICT, CONFLICT]),
    "cumulative-then-reconnect": Left({"worker": ["a b", "a b"]}, {"billing": (1,)}),
    "cumulative-slot-swallows-commit": Left({"worker": ["a b c"]}, {"billing": (0,)}, pending=(2,)),
    "pending-survives-reconnect": Left({"worker": ["a b c d", "a b"]}, {"billing": (-1, 2, 3)}),
    "pending-survives-unload": Left({"worker": ["a b c", "c", "b c"]}, {"billing": (0,)}),
    "pending-stalls-nobody": Left(
        {"worker": ["a b c d e f"], "other": ["e f", "a+1 b+1"]}, {"billing": (-1, 2, 3)}
    ),
    "position-states": Left({"worker": ["a b"]}, {"billing": (0,)}),
    "timeout-redelivers": Left({"worker": ["a", "a+1"]}, {"billing": (-1,)}),
    "dead-letters": Left({"worker": ["a", "a+1"], "undertaker": ["a"]}, {"billing": (0,)}),
    "two-subscriptions": Left({"worker": ["a", "a"]}, {"billing": (0,), "stock": (0,)}),
    "plain-ack-beats-pending": Left({"worker": ["a b"]}, {"billing": (0,)}),
    "batch-indexes": Left({"worker": ["a b c", "b+1 c+1"]}, {"billing": (-1,)}, [CONFLICT], (0,)),
    "late-ack-shared": Left({"worker": ["a b c", "b+1"]}, {"billing": (0, 2)}),
    "late-ack-exclusive": Left({"worker": ["a b c", "b"]}, {"billing": (0, 2)}),
    "ack-commit-replayed": Left({"app": ["a"]}, {"shop": (0,)}),
    "ack-unanswered": Left({"app": ["a", "a+1"]}, {"shop": (-1,)}, ["Connect", SPOILT]),
    "consumer-killed": Left({"twin": ["b", "a+1"]}, {"shop": (-1,)}),
    "failover-rewinds": Left({"twin": ["c"]}, {"shop": (0,)}, pending=(1,)),
    "consume-process-produce": Left({"twin": ["order+1"], "shop": ["result"]}, {"work": (0,)}),
    "ended-twice-while-committing": Left(
        {"app": ["a"]}, {"shop": (-1, 1, 2)}, ["InvalidTxnStatus"]
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_story_of_acknowledgement_ends_as_with_the_real_broker(name: str) -> None:
    assert read_left(load(FOLDER / f"{name}.scn", SYSTEMS).run) == ROWS[name]
