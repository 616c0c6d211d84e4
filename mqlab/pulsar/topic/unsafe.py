"""Entries under way: appended, and not safe yet."""

from __future__ import annotations

from ...kernel import Caller, frozen, replace
from ..messages import LedgerEntry, SendMessage


@frozen
class Unsafe:
    """An entry that was appended and is not safe yet, and who hears when it is. `caller` None:
    nobody, for a watermark asked for it. `low_watermark`: what came with a marker. `sent`: the
    command that brought a message (PublishContext), which need not say what the message says."""

    entry: LedgerEntry
    caller: Caller | None = None
    low_watermark: int | None = None
    sent: SendMessage | None = None

    @property
    def taken(self) -> LedgerEntry:
        """The entry as the buffer takes it while the topic is loaded: in the transaction that the
        command has named (TopicTransactionBuffer#appendBufferToTxn)."""
        if self.sent is None or self.sent.txn == self.entry.txn:
            return self.entry
        return replace(self.entry, txn=self.sent.txn)
