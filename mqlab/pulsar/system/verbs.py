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

ADVICE = {
    "new-transaction": "new-transaction NAME [timeout=MS]",
    "producer": "producer PARTITION "
    "[access=Shared|Exclusive|WaitForExclusive|ExclusiveWithFencing]",
    "close-producer": "close-producer PARTITION",
    "send": "send PARTITION VALUE … [txn=NAME] [sequence=N] [metadata=no]",
    "commit": "commit NAME",
    "abort": "abort NAME",
    "state": "state NAME",
    "reopen": "reopen NAME",
    "end-by-id": "end-by-id commit|abort TC/N",
    "subscribe": "subscribe PARTITION SUBSCRIPTION [type=Exclusive|Shared|Failover|Key_Shared] "
    "[from=earliest] [queue=N] [dead_letter=PARTITION max_redeliver=N]",
    "reader": "reader PARTITION NAME [from=earliest]",
    "receive": "receive SUBSCRIPTION",
    "ack": "ack SUBSCRIPTION [PARTITION@POSITION …] [txn=NAME]",
    "ack-cumulative": "ack-cumulative SUBSCRIPTION [PARTITION@POSITION] [txn=NAME]",
    "redeliver": "redeliver SUBSCRIPTION",
    "close": "close SUBSCRIPTION",
    "register": "register TC/N PARTITION [SUBSCRIPTION]",
    "transaction-metadata": "transaction-metadata TC/N",
    "coordinator-stats": "coordinator-stats TC",
    "slow-transactions": "slow-transactions TC MS",
    "buffer-stats": "buffer-stats PARTITION",
    "transaction-in-buffer": "transaction-in-buffer PARTITION TC/N",
    "pending-ack-stats": "pending-ack-stats PARTITION SUBSCRIPTION",
    "position-stats": "position-stats SUBSCRIPTION PARTITION@POSITION",
    "last-message-id": "last-message-id PARTITION",
    "delete-topic": "delete-topic PARTITION",
    "unsubscribe": "unsubscribe PARTITION SUBSCRIPTION",
    "create-namespace": "create-namespace PARTITION",
}
#: what has no meaning inside a word of a line
FORBIDDEN = set("{},;'\"")


def parse_call(words: tuple[str, ...], config: PulsarConfig) -> Any:
    """The call that the words of a line stand for; raises ValueError with advice."""
    plain = tuple(word for word in words if "=" not in word)
    given = dict(word.split("=", 1) for word in words if "=" in word)
    line = _Line(plain, given, config)
    call = line.transaction() or line.consume() or line.administer()
    if call is None or given:
        advice = ADVICE.get(words[0] if words else "", "one of: " + "; ".join(ADVICE.values()))
        raise ValueError(f"{' '.join(words)!r} is no call; expected {advice}")
    return call


class _Line:
    """The words of one call; what of `given` was understood is taken out of it."""

    def __init__(self, words: tuple[str, ...], given: dict[str, str], config: PulsarConfig) -> None:
        self.words, self.given, self.config = words, given, config

    def transaction(self) -> Any:
        match self.words:
            case ("new-transaction", name):
                return calls.NewTransaction(_word(name), self._number("timeout"))
            case ("send", partition, *values) if values:
                txn, sequence = self.given.pop("txn", ""), self._number("sequence")
                sent = tuple(map(_word, values))
                metadata = self._yes("metadata")
                return calls.Send(self._partition(partition), sent, txn, sequence, metadata)
            case ("producer", partition):
                mode = self.given.pop("access", "Shared")
                if mode not in tuple(AccessMode):
                    raise ValueError(f"access={mode}: expected {ADVICE['producer']}")
                return calls.CreateProducer(self._partition(partition), AccessMode(mode))
            case ("close-producer", partition):
                return calls.Release(self._partition(partition))
            case ("commit", name):
                return calls.Commit(name)
            case ("abort", name):
                return calls.Abort(name)
            case ("state", name):
                return calls.GetState(name)
            case ("reopen", name):
                return calls.Reopen(name)
            case ("end-by-id", action, txn) if action in tuple(TxnAction):
                return calls.EndById(self._txn(txn), TxnAction(action))
        return None

    def consume(self) -> Any:
        match self.words:
            case ("subscribe", partition, name):
                return self._subscribe(self._partition(partition), _word(name))
            case ("reader", partition, name) if set(self.given) <= {"from"}:
                call = self._subscribe(self._partition(partition), _word(name))
                return replace(call, durable=False)
            case ("receive", name):
                return calls.Receive(name)
            case ("ack", name, *ids):
                messages = tuple(map(self._message, ids))
                return calls.Acknowledge(name, messages, self.given.pop("txn", ""))
            case ("ack-cumulative", name, *ids) if len(ids) <= 1:
                messages = tuple(map(self._message, ids))
                return calls.Acknowledge(name, messages, self.given.pop("txn", ""), cumulative=True)
            case ("redeliver", name):
                return calls.RedeliverAll(name)
            case ("close", name):
                return calls.Close(name)
        return None

    def _subscribe(self, partition: str, name: str) -> calls.SubscribeTo:
        kind, first = self.given.pop("type", "Exclusive"), self.given.pop("from", "latest")
        if kind not in tuple(SubType) or first not in ("earliest", "latest"):
            raise ValueError(f"type={kind} from={first}: expected {ADVICE['subscribe']}")
        dead_letter = self.given.pop("dead_letter", "")
        queue, most = self._number("queue"), self._number("max_redeliver")
        return calls.SubscribeTo(
            partition,
            name,
            SubType(kind),
            first.capitalize(),
            queue=1_000 if queue is None else queue,
            dead_letter=self._partition(dead_letter) if dead_letter else "",
            max_redeliver=most or 0,
        )

    def administer(self) -> Any:
        """What is asked of one node by REST, or by a raw command."""
        request = self._at_coordinator() or self._at_partition()
        if request is None:
            return None
        to, body = request
        return calls.AskAdmin(to, body, " ".join(self.words))

    def _at_coordinator(self) -> tuple[str, Any] | None:
        match self.words:
            case ("register", txn, partition):
                txn_id = self._txn(txn)
                body: Any = AddPartitionToTxn(txn_id, (self._partition(partition),))
            case ("register", txn, partition, name):
                txn_id = self._txn(txn)
                body = AddSubscriptionToTxn(txn_id, ((self._partition(partition), name),))
            case ("transaction-metadata", txn):
                txn_id = self._txn(txn)
                body = GetTransactionMetadata(txn_id)
            case ("coordinator-stats", tc) if tc.isdigit():
                txn_id = self._txn(f"{tc}/0")
                body = GetCoordinatorStats(txn_id.most)
            case ("slow-transactions", tc, timeout) if tc.isdigit() and timeout.isdigit():
                txn_id = self._txn(f"{tc}/0")
                body = GetSlowTransactions(txn_id.most, int(timeout))
            case _:
                return None
        return name_coordinator(txn_id.most), body

    def _at_partition(self) -> tuple[str, Any] | None:
        alone: dict[str, Callable[[str], Any]] = {
            "buffer-stats": GetBufferStats,
            "last-message-id": GetLastMessageId,
            "delete-topic": DeleteTopic,
            "create-namespace": CreateNamespace,
        }
        match self.words:
            case (verb, name) if verb in alone:
                return self._partition(name), alone[verb](name)
            case ("transaction-in-buffer", name, txn):
                return self._partition(name), GetTransactionInBuffer(name, self._txn(txn))
            case ("pending-ack-stats", name, sub):
                return self._partition(name), GetPendingAckStats(name, sub)
            case ("unsubscribe", name, sub):
                return self._partition(name), Unsubscribe(name, sub)
            case ("position-stats", sub, where):
                at = self._message(where)
                position = AckPosition(at.position, at.batch_index)
                return at.partition, GetPositionStats(at.partition, sub, position)
        return None

    # -- words -------------------------------------------------------------------------------

    def _partition(self, name: str) -> str:
        if name not in self.config.partitions:
            known = ", ".join(self.config.partitions)
            raise ValueError(f"no partition {name!r}; there are: {known}")
        return name

    def _message(self, text: str) -> MessageId:
        match = re.fullmatch(r"(.+)@(\d+)(?::(\d+))?", text)
        if match is None:
            raise ValueError(f"{text!r} is no message; expected PARTITION@POSITION")
        index = -1 if match[3] is None else int(match[3])
        return MessageId(self._partition(match[1]), int(match[2]), index)

    def _txn(self, text: str) -> TxnID:
        most, _, least = text.partition("/")
        if not (most.isdigit() and least.isdigit()) or int(most) >= self.config.coordinators:
            known = ", ".join(str(n) for n in range(self.config.coordinators))
            raise ValueError(f"{text!r} is no transaction of a coordinator; those are: {known}")
        return TxnID(int(most), int(least))

    def _yes(self, name: str) -> bool:
        text = self.given.pop(name, "yes")
        if text not in ("yes", "no"):
            raise ValueError(f"{name}={text}: expected yes or no")
        return text == "yes"

    def _number(self, name: str) -> int | None:
        text = self.given.pop(name, None)
        if text is not None and not text.isdigit():
            raise ValueError(f"{name}={text}: expected a whole number")
        return None if text is None else int(text)


def _word(text: str) -> str:
    if set(text) & FORBIDDEN:
        raise ValueError(f"{text!r}: a name or a value here is a word without {{}},;'\"")
    return text
