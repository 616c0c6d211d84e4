"""What a coordinator remembers of a transaction, and what it is doing for one.

Sources: TxnMetaImpl, MLTransactionMetadataStore (4.2).
"""

from __future__ import annotations

from ...kernel import Caller, Map, frozen, replace
from ..messages import TransactionMetadataEntry, TxnID
from ..states import TxnAction, TxnStatus, may_enter

#: the first words of the names of timers
TIMEOUT = "timeout "
RETRY = "retry "

#: who takes part: a partition, and a subscription on it or "" for the partition itself
Participant = tuple[str, str]


@frozen
class TxnMeta:
    """A live transaction. `partitions` and `subscriptions`: where its end will be told, sorted,
    each once. `records`: its positions in the log, which are deleted when it has ended."""

    txn: TxnID
    status: TxnStatus = TxnStatus.OPEN
    partitions: tuple[str, ...] = ()
    subscriptions: tuple[Participant, ...] = ()
    timeout_ms: int = 0
    start_ms: int = 0
    records: tuple[int, ...] = ()

    @property
    def deadline_ms(self) -> int:
        return self.start_ms + self.timeout_ms

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Whom its end concerns: the subscriptions first, then the partitions."""
        return (*self.subscriptions, *((name, "") for name in self.partitions))

    def accepts(self, entry: TransactionMetadataEntry) -> bool:
        """Whether a record that has been written comes in time: participants are added to what is
        open, and an update finds the state that it expected."""
        if entry.status is None:
            return self.status is TxnStatus.OPEN
        return self.status is entry.expected and may_enter(entry.status, self.status)

    def apply(self, entry: TransactionMetadataEntry) -> TxnMeta:
        """This transaction after one more of its records."""
        new = replace(self, records=(*self.records, entry.base))
        match entry.op:
            case "ADD_PARTITION":
                names = {*self.partitions, *entry.partitions}
                return replace(new, partitions=tuple(sorted(names)))
            case "ADD_SUBSCRIPTION":
                where = {*self.subscriptions, *entry.subscriptions}
                return replace(new, subscriptions=tuple(sorted(where)))
        assert entry.status is not None
        return replace(new, status=entry.status)


@frozen
class Write:
    """A record that was appended and is not safe yet, with what will then be done for whom.
    `slot`: the end that a final state belongs to."""

    entry: TransactionMetadataEntry
    caller: Caller | None = None
    slot: int = -1


@frozen
class End:
    """One END_TXN under way. Two callers may end the same transaction at once, and then each has
    an End and tells every participant. `owed`: by number, who has not answered; `failed`: some
    answer was an error, or was lost. `slot`: its own number, the lowest that was free."""

    slot: int
    txn: TxnID
    action: TxnAction
    caller: Caller | None
    owed: Map[int, Participant] = Map()
    failed: bool = False
