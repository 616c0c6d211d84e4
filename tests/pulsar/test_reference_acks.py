"""What a released broker (4.2.4) delivers, refuses and keeps after the stories of acknowledgement.

Of each row: what each client received (`b+1`: its redelivery count was 1), the calls that failed,
and at the end each cursor of `orders-0` with what is pending. This is not read from the narration,
so that a narration that is written anew by mistake is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from mqlab.kernel import Run
from mqlab.lessons.registry import SYSTEMS
from mqlab.pulsar.client.calls import Receive
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
        name: (sub.cursor.mark_delete, *sub.cursor.individual) for name, sub in topic.subs.items()
    }
    pending = {at for sub in topic.subs.values() for at in sub.pending.positions}
    return Left(received, cursors, failed, tuple(sorted(pending)))


CONFLICT = "TransactionConflict"
ROWS = {
    "ack-commit": Left({"app": ["a b"]}, {"shop": (1,)}),
    "ack-abort": Left({"app": ["a b", "a+1 b+1"]}, {"shop": (-1,)}),
    "ack-after-abort": Left({"app": ["a", "a+1"]}, {"shop": (0,)}, ["TransactionNotFound"]),
    "ack-cumulative-advances": Left(
        {"app": ["a b c"]}, {"shop": (-1,)}, [CONFLICT, CONFLICT, "TransactionHasOperationFailed"]
    ),
    "ack-cumulative-abort": Left({"app": ["a b", "a b"]}, {"shop": (-1,)}, [CONFLICT]),
    "ack-survives-reconnect": Left({"app": ["a b"], "twin": ["a+1"]}, {"shop": (-1, 1)}),
    "ack-does-not-stall-others": Left(
        {"app": ["a b c d"], "twin": ["c d"]}, {"shop": (-1,)}, pending=(0, 1)
    ),
    "ack-cumulative-replay": Left({"app": ["a b", "a b"]}, {"shop": (1,)}, [CONFLICT, CONFLICT]),
    "ack-position-states": Left({"app": ["a b c"]}, {"shop": (0,)}, pending=(1,)),
    "ack-timeout": Left({"app": ["a", "a+1"]}, {"shop": (-1,)}),
    "ack-dead-letter": Left({"app": ["a", "a+1", "a"]}, {"shop": (0,)}),
    "ack-several-subscriptions": Left({"app": ["a", "a"]}, {"bill": (0,), "shop": (0,)}),
    "plain-ack-wins": Left({"app": ["a"]}, {"shop": (0,)}),
    "ack-twice": Left(
        {"app": ["a", "a+1"]}, {"shop": (-1,)}, [CONFLICT, "TransactionHasOperationFailed"]
    ),
    "ack-kinds-mixed": Left({"app": ["a b c"]}, {"shop": (-1,)}, pending=(2,)),
    "ack-cumulative-reconnect": Left({"app": ["a b", "a b"]}, {"shop": (-1,)}),
    "ack-abort-exclusive": Left({"app": ["a b c", "a b c"]}, {"shop": (-1,)}),
    "batch-shared-by-two": Left({"app": ["a b c", "b+1 c+1"]}, {"shop": (-1,)}, [CONFLICT], (0,)),
    "ack-commit-replayed": Left({"app": ["a"]}, {"shop": (0,)}),
    "ack-unanswered": Left(
        {"app": ["a", "a+1"]}, {"shop": (-1,)}, ["Connect", "TransactionHasOperationFailed"]
    ),
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
