"""Before a batch opens a transaction on a partition, the transaction coordinator is asked.

Leader and group coordinator do the same thing here (KIP-890): a *guard* is set up on the
partition, the question leaves, and the request waits under a number. The answer comes back
to the number; whether the guard still stands says whether a marker came in between. What is
told to whom is theirs to say.

A legacy client must have added the partition itself, so the coordinator only verifies; a v2
client's partition is added now.

Source: ReplicaManager#maybeSendPartitionsToTransactionCoordinator, AddPartitionsToTxnManager,
VerificationGuard (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ...kernel import Caller, CancelTimer, Disk, Effects, Map, Send, frozen, replace
from ..messages import AddPartitionsToTxn, Produce, TxnOffsetCommit
from .batch import Batch

if TYPE_CHECKING:
    from .role import R

#: Produce at a leader, TxnOffsetCommit at a group coordinator
Ask = TypeVar("Ask", bound=Produce | TxnOffsetCommit)
ADD = "add "


@frozen
class Verifying(Generic[Ask]):
    """A request that waits for the coordinator's word: what was asked, by whom, under which
    guard, and how often the question was put again."""

    ask: Ask
    caller: Caller
    question: AddPartitionsToTxn
    guard: int
    again: int = 0


def ask_coordinator(
    role: R,
    ask: Produce | TxnOffsetCommit,
    caller: Caller,
    txn_id: str,
    batch: Batch,
    disk: Disk,
    *,
    v2: bool,
) -> tuple[R, Effects]:
    """Set up the guard, put the question."""
    part = role.part.with_guard(batch, disk.log(role.name).end, v2)
    question = AddPartitionsToTxn(
        txn_id, batch.pid, batch.epoch, (role.name,), verify_only=not v2, implicit=v2
    )
    corr = 0
    while corr in role.verifying:
        corr += 1
    waiting = Verifying(ask, caller, question, part.guards[batch.pid].number)
    new = replace(role, part=part, verifying=role.verifying.set(corr, waiting))
    return new, (Send(role.config.coordinator, question, corr),)


def close_question(role: R, corr: int) -> R:
    """It is answered: nobody waits under this number any more."""
    return replace(role, verifying=role.verifying.remove(corr))


def give_up_questions(role: R) -> tuple[R, list[Caller], Effects]:
    """The connection to the coordinator broke: who waited, to be told to try again. The
    pauses end with their questions: a number may be used again."""
    callers = [waiting.caller for waiting in role.verifying.values()]
    pauses = tuple(CancelTimer(f"{ADD}{corr}") for corr, w in role.verifying.items() if w.again)
    return replace(role, verifying=Map()), callers, pauses
