"""InitProducerId: a producer introduces itself, and its older self is fenced.

The answer is a (producer id, epoch) pair; a producer with an older epoch is a zombie from
then on. If the older self left a transaction open it is aborted first, and until that
abort is complete the newcomer hears CONCURRENT_TRANSACTIONS and asks again.

Sources: TransactionCoordinator#handleInitProducerId, #prepareInitProducerIdTransit,
TransactionMetadata#prepareIncrementProducerEpoch, #prepareProducerIdRotation (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Effects, Put, Reply, replace
from ..errors import Error
from ..messages import InitProducerId, InitProducerIdResponse
from ..states import PREPARED, TxnState
from .entry import EXHAUSTED, Entry

if TYPE_CHECKING:
    from ...kernel import Disk
    from . import Coordinator

Result = tuple["Coordinator", Effects]


def handle(tc: Coordinator, ask: InitProducerId, caller: Caller, disk: Disk, at_ms: int) -> Result:
    if ask.txn_id is None and (ask.pid < 0) == (ask.epoch < 0):
        # A producer that is idempotent only: a fresh id each time, and no state at all.
        tc, pid, block = allocate(tc)
        return tc, (*block, Reply(caller, InitProducerIdResponse(pid=pid, epoch=0)))
    error = check_request(tc, ask)
    txn_id = ask.txn_id or ""
    entry: Entry | None = tc.entries.get(txn_id)
    if not error and entry is not None:
        if tc.busy(txn_id):
            error = Error.CONCURRENT_TRANSACTIONS
        elif not is_expected(ask, entry):
            error = Error.PRODUCER_FENCED
        elif entry.state in PREPARED:
            error = Error.CONCURRENT_TRANSACTIONS
    if error:
        return tc, (Reply(caller, InitProducerIdResponse(error)),)
    effects: Effects = ()
    if entry is None:
        tc, pid, effects = allocate(tc)
        entry = Entry(txn_id, pid, epoch=-1)
    if entry.state is TxnState.ONGOING:
        # The older self left a transaction open: abort it, with an epoch above its own.
        refusal = InitProducerIdResponse(Error.CONCURRENT_TRANSACTIONS)
        return tc.fence(entry, disk, at_ms, caller, refusal)
    tc, bumped, more = bump_epoch(tc, entry, ask)
    if isinstance(bumped, Error):
        return tc, (Reply(caller, InitProducerIdResponse(bumped)),)
    version, wait = tc.config.transaction_version, ask.timeout_ms
    new = bumped.enter(TxnState.EMPTY, version, partitions=(), timeout_ms=wait, start_ms=-1)
    answer = InitProducerIdResponse(pid=new.pid, epoch=new.epoch)
    tc, written = tc.write(new, disk, at_ms, caller, answer)
    return tc, (*effects, *more, *written)


def check_request(tc: Coordinator, ask: InitProducerId) -> Error:
    """What is refused before any state is looked at."""
    if (ask.pid < 0) != (ask.epoch < 0) or ask.txn_id == "":
        return Error.INVALID_REQUEST
    if not 0 < ask.timeout_ms <= tc.config.max_timeout_ms:
        return Error.INVALID_TRANSACTION_TIMEOUT
    return Error.NONE


def is_expected(ask: InitProducerId, entry: Entry) -> bool:
    """Whether the id the caller believes it has can be right."""
    if ask.pid < 0 or entry.epoch < 0 or ask.pid == entry.pid:
        return True
    return ask.pid == entry.prev_pid and ask.epoch >= EXHAUSTED


def bump_epoch(
    tc: Coordinator, entry: Entry, ask: InitProducerId
) -> tuple[Coordinator, Entry | Error, Effects]:
    """The entry with its next epoch, or why there is none: the caller is an older self, or
    there is no next epoch and it does not have the last one (an IllegalStateException there)."""
    believed, known = ask.epoch, ask.epoch >= 0
    if entry.exhausted and (not known or believed == entry.epoch):
        tc, pid, effects = allocate(tc)
        last = entry.epoch if known else -1
        return tc, replace(entry, pid=pid, epoch=0, last_epoch=last), effects
    if entry.exhausted:
        return tc, Error.UNKNOWN_SERVER_ERROR, ()
    if not known:
        return tc, replace(entry, epoch=entry.epoch + 1, last_epoch=-1), ()
    if believed == entry.epoch or entry.epoch < 0:
        return tc, replace(entry, epoch=entry.epoch + 1, last_epoch=entry.epoch), ()
    if believed == entry.last_epoch:
        # The same call again, its answer was lost: no further bump.
        return tc, entry, ()
    if "epoch_fencing" not in tc.config.on:
        return tc, replace(entry, epoch=entry.epoch + 1), ()
    return tc, Error.PRODUCER_FENCED, ()


def allocate(tc: Coordinator) -> tuple[Coordinator, int, Effects]:
    """The next producer id. Ids come in blocks; a restart begins a new block and the rest
    of the old one is lost (ProducerIdsBlock, RPCProducerIdManager)."""
    pid, block = tc.next_pid, tc.config.pid_block
    if (pid + 1) % block:
        return replace(tc, next_pid=pid + 1), pid, ()
    begins = pid + 1 + (tc.stride - 1) * block
    spare = Put("producer ids", "next block", begins + tc.stride * block)
    return replace(tc, next_pid=begins), pid, (spare,)
