"""What the applications of a scenario may call: `run app: new-transaction t1, send orders-0 a`.

A transaction goes by the name that its application gave it, as t1, and to other clients and to the
administration by its id, as 0/1. A message's id is written orders-0@3, or orders-0@3:1 for the
second message of a batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...kernel import replace
from ...kernel.usages import Usages, bare, number, one_of
from ..client import calls
from ..config import PulsarConfig, name_coordinator
from ..messages import (
    AckPosition,
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    CreateNamespace,
    DeleteTopic,
    GetBufferStats,
    GetCoordinatorStats,
    GetLastMessageId,
    GetPendingAckStats,
    GetPositionStats,
    GetSlowTransactions,
    GetTransactionInBuffer,
    GetTransactionMetadata,
    MessageId,
    TxnID,
    Unsubscribe,
)
from ..states import AccessMode, SubType, TxnAction

#: a request of the administration or a raw command, and the node to which it goes
Request = tuple[str, Any]

PRODUCER = "producer PARTITION [access=Shared|Exclusive|WaitForExclusive|ExclusiveWithFencing]"
SUBSCRIBE = (
    "subscribe PARTITION SUBSCRIPTION [type=Exclusive|Shared|Failover|Key_Shared] "
    "[from=earliest] [queue=N] [dead_letter=PARTITION max_redeliver=N]"
)


def _begin(name: str, timeout: int | None = None) -> calls.NewTransaction:
    return calls.NewTransaction(name, timeout)


def _send(partition: str, values: tuple[str, ...], metadata: str = "yes", **options: Any) -> Any:
    if metadata not in ("yes", "no"):
        raise ValueError(f"metadata={metadata}: expected yes or no")
    plain = options.get("plain", 0)
    if plain and not (options.get("txn") and plain < len(values)):
        raise ValueError(
            f"plain={plain}: the first of several values, the others of a transaction, as in "
            "send PARTITION a b txn=NAME plain=1"
        )
    return calls.Send(partition, values, metadata=metadata == "yes", **options)


def _producer(partition: str, access: str = AccessMode.SHARED) -> calls.CreateProducer:
    if access not in tuple(AccessMode):
        raise ValueError(f"access={access}: expected {PRODUCER}")
    return calls.CreateProducer(partition, AccessMode(access))


def _subscribe(partition: str, name: str, **options: Any) -> calls.SubscribeTo:
    kind, first = options.pop("type", "Exclusive"), options.pop("from", "latest")
    if kind not in tuple(SubType) or first not in ("earliest", "latest"):
        raise ValueError(f"type={kind} from={first}: expected {SUBSCRIBE}")
    return calls.SubscribeTo(partition, name, SubType(kind), first.capitalize(), **options)


def _read_all(partition: str, name: str, **options: Any) -> calls.SubscribeTo:
    return replace(_subscribe(partition, name, **options), durable=False)


def _acknowledge_up_to(name: str, last: Any, txn: str = "") -> calls.Acknowledge:
    return calls.Acknowledge(name, (last,) if last else (), txn, cumulative=True)


def _end_by_id(action: str, txn: TxnID) -> calls.EndById:
    return calls.EndById(txn, TxnAction(action))


# ---- what is asked of one node by REST, or by a raw command -------------------------------


def _register(txn: TxnID, partition: str, name: str) -> Request:
    to = name_coordinator(txn.most)
    if name:
        return to, AddSubscriptionToTxn(txn, ((partition, name),))
    return to, AddPartitionToTxn(txn, (partition,))


def _ask_about(txn: TxnID) -> Request:
    return name_coordinator(txn.most), GetTransactionMetadata(txn)


def _ask_coordinator(make: Callable[..., Any]) -> Callable[..., Request]:
    return lambda number, *more: (name_coordinator(number), make(number, *more))


def _ask_partition(make: Callable[..., Any]) -> Callable[..., Request]:
    return lambda name, *more: (name, make(name, *more))


def _ask_position(name: str, at: MessageId) -> Request:
    position = AckPosition(at.position, at.batch_index)
    return at.partition, GetPositionStats(at.partition, name, position)


CALLS = Usages(
    {
        "new-transaction NAME [timeout=MS]": _begin,
        PRODUCER: _producer,
        "close-producer PARTITION": calls.Release,
        "send PARTITION VALUE … [txn=NAME] [plain=N] [sequence=N] [metadata=no]": _send,
        "commit NAME": calls.Commit,
        "abort NAME": calls.Abort,
        "state NAME": calls.GetState,
        "reopen NAME": calls.Reopen,
        "end-by-id commit|abort TC/N": _end_by_id,
        SUBSCRIBE: _subscribe,
        "reader PARTITION NAME [from=earliest]": _read_all,
        "receive SUBSCRIPTION": calls.Receive,
        "ack SUBSCRIPTION [PARTITION@POSITION …] [txn=NAME]": calls.Acknowledge,
        "ack-cumulative SUBSCRIPTION [PARTITION@POSITION] [txn=NAME]": _acknowledge_up_to,
        "redeliver SUBSCRIPTION": calls.RedeliverAll,
        "close SUBSCRIPTION": calls.Close,
        "register TC/N PARTITION [SUBSCRIPTION]": _register,
        "transaction-metadata TC/N": _ask_about,
        "coordinator-stats TC": _ask_coordinator(GetCoordinatorStats),
        "slow-transactions TC MS": _ask_coordinator(GetSlowTransactions),
        "buffer-stats PARTITION": _ask_partition(GetBufferStats),
        "transaction-in-buffer PARTITION TC/N": _ask_partition(GetTransactionInBuffer),
        "pending-ack-stats PARTITION SUBSCRIPTION": _ask_partition(GetPendingAckStats),
        "position-stats SUBSCRIPTION PARTITION@POSITION": _ask_position,
        "last-message-id PARTITION": _ask_partition(GetLastMessageId),
        "delete-topic PARTITION": _ask_partition(DeleteTopic),
        "unsubscribe PARTITION SUBSCRIPTION": _ask_partition(Unsubscribe),
        "create-namespace MISSING": _ask_partition(CreateNamespace),
    }
)


def parse_call(words: tuple[str, ...], config: PulsarConfig) -> Any:
    """The call that the words of a line stand for; raises ValueError with advice."""
    known, read_word = one_of("partition", config.partitions), bare("a name or a value")

    def read_name(text: str) -> str | None:
        return None if "=" in text else read_word(text)

    def read_message(text: str) -> MessageId:
        match = re.fullmatch(r"(.+)@([0-9]{1,15})(?::([0-9]{1,9}))?", text)
        if match is None:
            raise ValueError(f"{text!r} is no message; expected PARTITION@POSITION")
        return MessageId(known(match[1]), int(match[2]), int(match[3] or -1))

    def read_txn(text: str) -> TxnID:
        most, _, least = text.partition("/")
        coordinator, local = number(most), number(least)
        if coordinator is None or local is None or coordinator >= config.coordinators:
            numbers = ", ".join(str(n) for n in range(config.coordinators)) or "none"
            raise ValueError(f"{text!r} is no transaction of a coordinator; those are: {numbers}")
        return TxnID(coordinator, local)

    def read_coordinator(text: str) -> int | None:
        return None if number(text) is None else read_txn(f"{text}/0").most

    readers = {
        "PARTITION": known,
        "MISSING": one_of("partition without a namespace", config.missing),
        "PARTITION@POSITION": read_message,
        "NAME": read_name,
        "SUBSCRIPTION": read_name,
        "VALUE": read_name,
        "TC": read_coordinator,
        "TC/N": read_txn,
    }
    call = CALLS.read(words, readers)
    if not isinstance(call, tuple):
        return call
    to, request = call
    return calls.AskAdmin(to, request, " ".join(words))
