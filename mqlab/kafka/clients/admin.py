"""Administration: what may be asked, and how a hanging transaction is found and ended.

A transaction *hangs* when a partition holds it open and its coordinator knows nothing of
it: nobody will ever send the marker, so the partition's LSO stands still for good. One
side alone cannot tell. The partition says which transactions are open and since when
(DescribeProducers); the coordinators say which transactions there are and which partitions
they contain (ListTransactions, DescribeTransactions); what only the first knows, and is
older than any transaction may become, hangs. The end of it is an ABORT marker that the
administrator has the leader write (WriteTxnMarkers with no transactional id).

Sources: TransactionsCommand.FindHangingTransactionsCommand, AbortTransactionHandler,
DescribeProducersHandler (tools and clients, Kafka 4.3), KIP-664.
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
    Outcome,
    Quiet,
    Response,
    Return,
    Send,
    build_failure,
    build_success,
    frozen,
    worded,
)
from ..coordinator.entry import (
    DescribeTransactions,
    DescribeTransactionsResponse,
    Listed,
    ListTransactions,
    ListTransactionsResponse,
)
from ..errors import Error
from ..log.role import ActiveProducer, DescribeProducers, DescribeProducersResponse
from ..messages import WriteTxnMarkers, WriteTxnMarkersResponse

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
    """The transactions open on a partition that their coordinator does not know."""

    partition: str


@worded("abort-hanging {partition}@{first}")
class AbortHanging:
    """End the transaction that begins at `first` of a partition."""

    partition: str
    first: int


AdminCall = List | Describe | Producers | FindHanging | AbortHanging


@frozen
class AdminConfig(Config):
    coordinator: str = "coordinator"


@frozen
class Admin(Quiet):
    """An administrator's client: one call at a time, each one or two requests. `open`:
    what the partition has said, `known`: the coordinator's list, while a search goes on."""

    config: AdminConfig
    call: AdminCall | None = None
    request: Send | None = None
    open: tuple[ActiveProducer, ...] = ()
    known: tuple[Listed, ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Admin, Effects]:
        match event:
            case Call(body=call):
                return self._handle_call(call)
            case Response(body=body) if self.call is not None:
                return self._handle_answer(self.call, body)
            case ConnectionLost() if self.request is not None:
                return self, (self.request,)
        # An answer to a call that is over.
        return self, ()

    def _handle_call(self, call: object) -> tuple[Admin, Effects]:
        match call:
            case List():
                return self._ask(call, self.config.coordinator, ListTransactions())
            case Describe(txn_id=txn_id):
                return self._ask(call, self.config.coordinator, DescribeTransactions(txn_id))
            case Producers(partition=partition) | FindHanging(partition=partition):
                return self._ask(call, partition, DescribeProducers())
            case AbortHanging(partition=partition):
                return self._ask(call, partition, DescribeProducers())
        return self, (Return(build_failure(call, "an administrator has no such call")),)

    def _ask(self, call: AdminCall, to: str, body: object) -> tuple[Admin, Effects]:
        send = Send(to, body)
        return replace(self, call=call, request=send), (send,)

    def _handle_answer(self, call: AdminCall, answer: object) -> tuple[Admin, Effects]:
        match call, answer:
            case FindHanging(), DescribeProducersResponse(producers=producers):
                suspects = tuple(p for p in producers if p.txn_first >= 0)
                new = replace(self, open=suspects)
                pids = tuple(sorted(p.pid for p in suspects))
                if not suspects:
                    return self._return(build_success(call, "nothing"))
                return new._ask(call, self.config.coordinator, ListTransactions(pids=pids))
            case FindHanging(), ListTransactionsResponse(transactions=known):
                return replace(self, known=known)._strike_out(call, None)
            case FindHanging(), DescribeTransactionsResponse():
                return self._strike_out(call, answer)
            case AbortHanging(), DescribeProducersResponse(producers=producers):
                return self._abort_hanging(call, producers)
        error: Error = getattr(answer, "error", Error.NONE)
        detail = "" if isinstance(answer, WriteTxnMarkersResponse) else str(answer)
        return self._return(build_failure(call, error) if error else build_success(call, detail))

    def _strike_out(
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
