"""Administration: what may be asked, and how a hanging transaction is found and ended.

A transaction *hangs* when a partition holds it open and its coordinator knows nothing of
it: the marker will never be sent, so the partition's LSO never advances again. One side alone
cannot detect this. The partition says which transactions are open and since when
(DescribeProducers); the coordinators say which transactions there are and which partitions
they contain (ListTransactions, DescribeTransactions); what only the first knows, and is
older than any transaction may become, hangs. The end of it is an ABORT marker that the
administrator has the leader write (WriteTxnMarkers with no transactional id).

Topics and groups can be deleted while a transaction still has to do with them. Here a partition's
leader is informed directly; a real controller writes it down, and brokers hear of it.

Sources: TransactionsCommand.FindHangingTransactionsCommand, AbortTransactionHandler,
DescribeProducersHandler, FenceProducersHandler (tools and clients, Kafka 4.3), KIP-664, KIP-1062.
"""

from __future__ import annotations

from dataclasses import replace

from ...kernel import (
    Call,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Outcome,
    Quiet,
    Response,
    Return,
    Send,
    SetTimer,
    build_failure,
    build_success,
    frozen,
    worded,
)
from ..config import KafkaConfig, offsets_log
from ..coordinator.entry import (
    DescribeTransactions,
    DescribeTransactionsResponse,
    Listed,
    ListTransactions,
    ListTransactionsResponse,
)
from ..errors import Error
from ..group.members import DeleteGroup, DeleteOffsets
from ..log.role import ActiveProducer, DescribeProducers, DescribeProducersResponse
from ..messages import (
    CreateTopic,
    DeleteRecords,
    DeleteTopic,
    InitProducerId,
    OffsetFetch,
    PartitionsDeleted,
    WriteTxnMarkers,
    braces,
    say_no_call,
)
from .calls import Committed

# ---- calls -----------------------------------------------------------------------------


@worded("list")
class List:
    pass


@worded("describe {txn_id}")
class Describe:
    txn_id: str


@worded("producers {partition}")
class Producers:
    partition: str


@worded("find-hanging {partition}")
class FindHanging:
    """The open transactions of a partition that their coordinator does not know."""

    partition: str


@worded("abort-hanging {partition}@{first}")
class AbortHanging:
    """End the transaction that begins at `first` of a partition."""

    partition: str
    first: int


@frozen
class Fence:
    """fenceProducers: no producer with this transactional id can continue"""

    txn_id: str
    verb: str = "fence-producers"

    def __str__(self) -> str:
        return f"{self.verb} {self.txn_id}"


@worded("{verb} {topic}")
class ChangeTopic:
    """deleteTopics, createTopics or createPartitions, in the middle of whatever goes on"""

    verb: str
    topic: str
    partitions: tuple[str, ...]


@worded("delete-records {partition}@{offset}")
class DeleteTo:
    """deleteRecords: all before this offset"""

    partition: str
    offset: int


@worded("delete-group {group}")
class DeleteOneGroup:
    """deleteConsumerGroups: a group without members"""

    group: str


@frozen
class DeletePositions:
    """deleteConsumerGroupOffsets, of topics that no member of the group reads"""

    group: str
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"delete-offsets {self.group} {braces(self.partitions)}"


AdminCall = (
    List | Describe | Producers | FindHanging | AbortHanging | Committed
    | Fence | ChangeTopic | DeleteTo | DeleteOneGroup | DeletePositions
)  # fmt: skip
RETRY = "retry"


@frozen
class AdminConfig(Config):
    """`groups`: the partitions of `__consumer_offsets`."""

    cluster: KafkaConfig = KafkaConfig()
    groups: tuple[str, ...] = ()
    retry_ms: int = 100

    @property
    def coordinator(self) -> str:
        return self.cluster.coordinator


@frozen
class Admin(Quiet):
    """An administrator's client: one call at a time, of one request after the other (`todo`).
    `open`: what the partition has said, `known`: the coordinator's list, while a search goes on."""

    config: AdminConfig
    call: AdminCall | None = None
    request: Send | None = None
    todo: tuple[Send, ...] = ()
    open: tuple[ActiveProducer, ...] = ()
    known: tuple[Listed, ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Admin, Effects]:
        match event:
            case Call(body=call):
                return self._handle_call(call)
            case Response(body=body) if self.call is not None:
                return self._handle_answer(self.call, body)
            case ConnectionLost() | Fired(timer="retry") if self.request is not None:
                return self, (self.request,)
        # An answer to a call that is over.
        return self, ()

    def _handle_call(self, call: object) -> tuple[Admin, Effects]:
        """Send the first request of a call to the coordinator or partition leader that answers it.
        A change of a topic goes to its partitions one by one; those after the first wait in
        `todo`. A call that an administrator does not have fails at once."""
        match call:
            case List():
                return self._ask(call, self.config.coordinator, ListTransactions())
            case Describe(txn_id=txn_id):
                return self._ask(call, self.config.coordinator, DescribeTransactions(txn_id))
            case Producers(partition=partition) | FindHanging(partition=partition):
                return self._ask(call, partition, DescribeProducers())
            case AbortHanging(partition=partition):
                # first: whose transaction begins there; its marker needs that producer's epoch
                return self._ask(call, partition, DescribeProducers())
            case Fence(txn_id=txn_id):
                return self._ask(call, self.config.coordinator, InitProducerId(txn_id))
            case ChangeTopic(verb=verb, partitions=partitions):
                deletes = verb == "delete-topic"
                body = DeleteTopic() if deletes else CreateTopic()
                first, *rest = partitions
                gone = PartitionsDeleted(partitions)
                told = (Send(group, gone) for group in self.config.groups if deletes)
                new = replace(self, todo=(*(Send(one, body) for one in rest), *told))
                return new._ask(call, first, body)
            case DeleteTo(partition=partition, offset=offset):
                return self._ask(call, partition, DeleteRecords(offset))
            case Committed(group=group, partitions=named):
                # False: offsets that are still pending are no reason to refuse
                return self._ask(call, self._log_of(group), OffsetFetch(group, named, False))
            case DeleteOneGroup(group=group):
                return self._ask(call, self._log_of(group), DeleteGroup(group))
            case DeletePositions(group=group, partitions=named):
                return self._ask(call, self._log_of(group), DeleteOffsets(group, named))
        return self, (Return(build_failure(call, say_no_call("an administrator"))),)

    def _log_of(self, group: str) -> str:
        return offsets_log(group, self.config.cluster)

    def _ask(self, call: AdminCall, to: str, body: object) -> tuple[Admin, Effects]:
        send = Send(to, body)
        return replace(self, call=call, request=send), (send,)

    def _handle_answer(self, call: AdminCall, answer: object) -> tuple[Admin, Effects]:
        """Take an answer: send the call's next request if it needs one, else return its outcome.
        The search for hanging transactions makes three kinds of requests: which transactions the
        partition has open, which of their producers a coordinator lists, and, for each one listed,
        which partitions it has."""
        match call, answer:
            case FindHanging(), DescribeProducersResponse(producers=producers):
                # txn_first: where its open transaction begins; -1: it has none
                suspects = tuple(p for p in producers if p.txn_first >= 0)
                new = replace(self, open=suspects)
                pids = tuple(sorted(p.pid for p in suspects))
                if not suspects:
                    return self._return(build_success(call, "nothing"))
                return new._ask(call, self.config.coordinator, ListTransactions(pids=pids))
            case FindHanging(), ListTransactionsResponse(transactions=listed):
                # None: no transaction was described yet, so the first is asked about
                return replace(self, known=listed)._exclude_known(call, None)
            case FindHanging(), DescribeTransactionsResponse():
                return self._exclude_known(call, answer)
            case AbortHanging(), DescribeProducersResponse(producers=producers):
                return self._abort_hanging(call, producers)
        errors = (getattr(answer, "error", Error.NONE), *getattr(answer, "errors", ()))
        error = next(filter(None, errors), Error.NONE)
        if isinstance(call, Fence) and error is Error.CONCURRENT_TRANSACTIONS:
            # an earlier transaction is still ending: the same request again after a pause
            return self, (SetTimer(RETRY, self.config.retry_ms),)
        if error and getattr(call, "verb", "") == "create-partitions":
            # the new partition's leader says that it exists already; a controller says this
            error = Error.INVALID_PARTITIONS
        if error:
            return self._return(build_failure(call, error))
        if self.todo:
            first, *rest = self.todo
            return replace(self, todo=tuple(rest))._ask(call, first.to, first.body)
        # the text of some answers begins with their error, here that there is none
        detail = str(answer).removeprefix(Error.NONE.words).lstrip()
        return self._return(build_success(call, detail))

    def _exclude_known(
        self, call: FindHanging, answer: DescribeTransactionsResponse | None
    ) -> tuple[Admin, Effects]:
        """Strike out what its coordinator does answer for; ask about the next."""
        new = self
        if answer is not None:
            inside = call.partition in answer.partitions
            left = tuple(p for p in self.open if not (inside and p.pid == answer.pid))
            new = replace(self, open=left, known=self.known[1:])
        if new.known:
            where = DescribeTransactions(new.known[0].txn_id)
            return new._ask(call, self.config.coordinator, where)
        hanging = ", ".join(f"pid={p.pid} @{p.txn_first}" for p in new.open)
        return new._return(build_success(call, f"hanging: {hanging}" if hanging else "nothing"))

    def _abort_hanging(
        self, call: AbortHanging, producers: tuple[ActiveProducer, ...]
    ) -> tuple[Admin, Effects]:
        """The marker carries the producer's epoch and the last coordinator epoch seen here,
        0 where none was (AbortTransactionHandler, TransactionsCommand)."""
        for p in producers:
            if p.txn_first == call.first:
                epoch = max(0, p.coordinator_epoch)
                ask = WriteTxnMarkers("", p.pid, p.epoch, False, epoch, transaction_version=0)
                return self._ask(call, call.partition, ask)
        return self._return(build_failure(call, f"no transaction is open since @{call.first}"))

    def _return(self, outcome: Outcome) -> tuple[Admin, Effects]:
        return Admin(self.config), (Return(outcome),)
