"""The client beside an application: transactions, producers and consumers of one PulsarClient.

A transaction is an id that a coordinator gave. Before it writes to a partition or acknowledges in a
subscription for the first time, the client tells the coordinator so: those are the participants
that will hear of the end. Everything else goes straight to the partition, with the id on it.

    producing.py  newTransaction, commit, abort, and the states of the client's own; open and
                  close a producer, register the partition, send
    consuming.py  subscribe, receive, register the subscription, acknowledge; a consumer's queue,
                  its permits, what is not acknowledged

**Nothing here is durable**, and there is no name by which a restarted client could take up its
transactions: what it had open is left to the coordinator's timeout, and what it held comes again
to all that subscribe. No other client is fenced, unless it sends where another one has the topic
for itself.

*What can go wrong.* The answer to a commit is lost: the client asks again, the coordinator has
forgotten the transaction, and the state is ERROR although it was committed. A send or an
acknowledgement fails: `commit` aborts instead. The client's own timer says TIME_OUT while the
coordinator has not aborted yet, or the other way round. *Invariant:* a transaction's state here
changes only as `states.CLIENT_PREVIOUS` allows; only a tester's `reopen` breaks that.

*Left out:* several calls at once (each waits for its answer here, where the real ones return
futures), backing off between two tries, lookups, lazily created producers.
Read on in PulsarClientImpl, TransactionCoordinatorClientImpl, TransactionMetaStoreHandler,
TransactionImpl, ProducerImpl, ConsumerImpl (Pulsar 4.2).
"""

from __future__ import annotations

from typing import Any

from ...kernel import (
    Call,
    CancelTimer,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Outcome,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    Text,
    build_failure,
    build_success,
    frozen,
    replace,
)
from ...kernel.role import UNKNOWN
from ..config import COORDINATOR, PulsarConfig, name_coordinator
from ..errors import TIMEOUT, ServerError, name_exception
from ..messages import (
    Answer,
    CloseConsumer,
    CloseProducer,
    OpenProducer,
    ProducerOpened,
    PushMessage,
    SendMessage,
    Subscribed,
    TcClientConnect,
    TcClientConnectResponse,
)
from ..states import ClientTxnState
from . import calls, consuming, producing
from .consuming import OPERATION_TIMEOUT, Consumer, tell_client
from .producing import (
    TIME_OUT,
    Transaction,
    ask_end,
    begin,
    begin_end,
    end_by_id,
    finish_begin,
    finish_end,
    tell_state,
    time_out,
)

__all__ = ["Client", "ClientConfig", "Consumer", "Transaction"]

NO_TRANSACTION = "there is no transaction {name}"
OF_A_CONSUMER = (calls.Receive, calls.RedeliverAll, calls.Nack, calls.Close)

Result = tuple["Client", Effects]


@frozen
class ClientConfig(Config):
    """`timeout_ms`: of a transaction whose builder was given none. `operation_ms`:
    operationTimeoutMs, after which a request to a coordinator or a subscribe is given up."""

    cluster: PulsarConfig = PulsarConfig()
    name: str = "app"
    timeout_ms: int = 60_000
    operation_ms: int = 30_000


@frozen
class PendingRequest:
    """A request that is not answered. `about`: the message that it sends to the dead letters."""

    to: str
    corr: int
    body: Any
    about: PushMessage | None = None


@frozen
class Client:
    """`connected`: the coordinators that know this client. `begun`: how often it has asked for a
    transaction. `txns`: by the names that the application gave them. `sequences`: the producer's
    last number for each partition; `producers`: of partitions where it was opened by a call, how,
    and with the topic epoch that it was sent; `fenced`: those of them that it has lost. `call`:
    what has not returned; `flight`: the message that it sends; `owed`: partitions where it has
    still to acknowledge. `pending`: requests in flight, `corr`: the number of the last one."""

    config: ClientConfig
    connected: tuple[int, ...] = ()
    begun: int = 0
    txns: Map[str, Transaction] = Map()
    sequences: Map[str, int] = Map()
    producers: Map[str, OpenProducer] = Map()
    fenced: tuple[str, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    call: Any = None
    flight: SendMessage | None = None
    owed: tuple[str, ...] = ()
    pending: tuple[PendingRequest, ...] = ()
    corr: int = 0

    def step(self, event: Event, disk: Disk) -> Result:
        """Handle one event: a call of the application, a message or answer from a broker, a broken
        connection, or a timer (an operation or a transaction has timed out)."""
        match event:
            case Call(body=call):
                return self._begin_call(call)
            case Request(body=PushMessage() as message):
                return consuming.take_push(self, message)
            case Request(body=CloseConsumer() as gone):
                return consuming.come_back(self, gone)
            # answers, but sent over the broker's own direction of the connection
            case Request(body=Subscribed() as answer):
                return consuming.finish_subscribe(self, answer)
            case Request(body=ProducerOpened() as answer):
                return producing.finish_opening(self, answer)
            case Response(peer=peer, corr=corr, body=answer):
                return self._take_answer(peer, corr, answer)
            case ConnectionLost(peer=peer) if peer.startswith(COORDINATOR):
                return self._lose_coordinator(peer)
            case ConnectionLost(peer=peer):
                return self._lose_partition(peer)
            case Fired(timer=timer) if timer == OPERATION_TIMEOUT:
                return self._give_up()
            case Fired(timer=timer):
                return time_out(self, timer.removeprefix(TIME_OUT)), ()
        return self, ()

    # -- calls ---------------------------------------------------------------------------

    def _begin_call(self, call: Any) -> Result:
        """Begin a call of the application: send its first request, or return its outcome at once
        where no request is needed. It fails if it uses a transaction or a consumer that this
        client does not have (a new transaction is not used yet)."""
        new, txn_name = replace(self, call=call), calls.find_name(call)
        if txn_name and txn_name not in self.txns:
            return new.finish(build_failure(call, NO_TRANSACTION.format(name=txn_name)))
        if isinstance(call, OF_A_CONSUMER) and not any(new.consumers_of(call.subscription)):
            return new.finish(
                build_failure(call, consuming.NO_CONSUMER.format(name=call.subscription))
            )
        match call:
            case calls.Commit() | calls.Abort():
                return begin_end(new, call)
            case calls.Acknowledge():
                return consuming.begin_acknowledge(new, call)
            case calls.SubscribeTo():
                return consuming.subscribe(new, call)
            case calls.Receive():
                return consuming.receive(new, call)
            case calls.RedeliverAll():
                return consuming.redeliver(new, call)
            case calls.Nack():
                return consuming.nack(new, call)
            case calls.SeekTo():
                return consuming.seek(new, call)
            case calls.CreateProducer():
                return producing.open_producer(new, call)
            case calls.Release():
                new = new.drop_producer(call.partition)
                return new.ask(call.partition, CloseProducer(call.partition))
            case calls.Close():
                return consuming.close(new, call)
            case calls.GetState():
                return tell_state(new, call)
            case calls.NewTransaction():
                # (begun: how often it has asked, which chooses the coordinator)
                return replace(new, begun=new.begun + 1).proceed()
            case calls.Reopen():  # for tests: the client then sends what a stale one would
                txn = replace(new.txns[txn_name], state=ClientTxnState.OPEN)
                return new.keep(txn_name, txn).finish(build_success(call))
        # a send, or an administrator's call: nothing to note first; any other one fails there
        return new.proceed()

    def proceed(self) -> Result:
        """Send the next request of the call that is in flight; the same one again if it was
        lost. A call that a client does not have fails."""
        match self.call:
            case calls.NewTransaction() as call:
                return begin(self, call)
            case calls.Send() as call:
                return producing.proceed(self, call)
            case calls.Commit() | calls.Abort() as call:
                return ask_end(self, call)
            case calls.Acknowledge() as call:
                return consuming.proceed(self, call)
            case calls.EndById() as call:
                return end_by_id(self, call)
            case calls.AskAdmin(to=to, request=request):
                return self.ask(to, request)
        return self.finish(build_failure(self.call, "a client has no such call"))

    def finish(self, outcome: Outcome) -> Result:
        new = replace(self, call=None, flight=None, owed=())
        return new, (Return(outcome),)

    # -- requests ------------------------------------------------------------------------

    def ask(self, to: str, body: Any, about: PushMessage | None = None) -> Result:
        request = PendingRequest(to, self.corr + 1, body, about)
        new = replace(self, pending=(*self.pending, request), corr=request.corr)
        return new, (Send(to, body, request.corr),)

    def ask_coordinator(self, tc_id: int, body: Any) -> Result:
        """A client connects to every coordinator before it begins its first transaction."""
        for known in range(self.config.cluster.coordinators):
            if known not in self.connected:
                return self.ask(name_coordinator(known), TcClientConnect(known))
        new, effects = self.ask(name_coordinator(tc_id), body)
        return new, (*effects, self.limit())

    def limit(self) -> SetTimer:
        """How long a request is waited for."""
        return SetTimer(OPERATION_TIMEOUT, self.config.operation_ms)

    def waits_for(self, peer: str) -> bool:
        """Whether the open call waits for an answer from there."""
        return any(request.to == peer and request.about is None for request in self.pending)

    def forget_requests(self, peer: str) -> Client:
        kept = tuple(a for a in self.pending if a.to != peer or a.about is not None)
        return replace(self, pending=kept)

    def _take_answer(self, peer: str, corr: int, answer: Any) -> Result:
        """Take a broker's answer: find its request by peer and number (an answer without one is
        dropped) and go on with the call that sent it. An answer to a message sent to the
        dead-letter topic, or to a connect, belongs to no call."""
        request = next((a for a in self.pending if (a.to, a.corr) == (peer, corr)), None)
        if request is None:
            return self, ()
        new = replace(self, pending=tuple(a for a in self.pending if a is not request))
        if request.about is not None:
            return consuming.finish_dead_letter(new, request.about, answer)
        if isinstance(answer, TcClientConnectResponse):
            assert isinstance(request.body, TcClientConnect)
            connected = tuple(sorted((*self.connected, request.body.tc_id)))
            new = replace(new, connected=connected)
            # _is_blocked: the call has waited for nothing but this connection
            return new.proceed() if new._is_blocked() else (new, ())
        # of these, only requests of the client itself to a coordinator have an operation timeout
        if not peer.startswith(COORDINATOR) or isinstance(self.call, calls.AskAdmin):
            return new._dispatch_answer(request, answer)
        # the coordinator is not loaded there: as if the connection to it had broken
        if answer.error is ServerError.TransactionCoordinatorNotFound:
            return new._lose_coordinator(peer)
        new, effects = new._dispatch_answer(request, answer)
        return new, (CancelTimer(OPERATION_TIMEOUT), *effects)

    def _is_blocked(self) -> bool:
        """The open call has waited for a coordinator only."""
        waits = any(request.about is None for request in self.pending)
        return (
            self.call is not None
            and not waits
            and not isinstance(self.call, calls.SubscribeTo | calls.CreateProducer | calls.Receive)
        )

    def _dispatch_answer(self, request: PendingRequest, answer: Any) -> Result:
        """Pass an answer to the function that goes on with the waiting call, by the call's type
        and, where a call sends requests of two kinds, by the request."""
        match self.call:
            case calls.NewTransaction() as call:
                return finish_begin(self, call, answer)
            case calls.Commit() | calls.Abort() as call:
                return finish_end(self, call, answer)
            case calls.Send() as call if isinstance(request.body, SendMessage):
                return producing.finish_send(self, call, answer)
            case calls.Send() as call:
                return producing.finish_registration(self, call, answer)
            case calls.Acknowledge() as call if request.to.startswith(COORDINATOR):
                return consuming.finish_registration(self, call, answer)
            case calls.Acknowledge() as call:
                return consuming.finish_acknowledge(self, call, answer)
            case calls.SeekTo() as call if answer.ok:
                return consuming.finish_seek(self, call)
        return self._finish_plainly(answer)

    def _finish_plainly(self, answer: Answer) -> Result:
        if not answer.ok:
            return self.finish(build_failure(self.call, name_exception(answer.error)))
        return self.finish(build_success(self.call, str(answer).removeprefix("ok").strip()))

    # -- when something is lost ----------------------------------------------------------

    def _lose_coordinator(self, peer: str) -> Result:
        """The client connects again, which loads the coordinator, and repeats what was open."""
        tc_id = int(peer.removeprefix(COORDINATOR))
        if tc_id not in self.connected and not self.waits_for(peer):
            return self, ()
        new = self.forget_requests(peer)
        new = replace(new, connected=tuple(n for n in new.connected if n != tc_id))
        return new.ask(peer, TcClientConnect(tc_id))

    def _lose_partition(self, peer: str) -> Result:
        new, effects = consuming.reconnect(self, peer)
        effects = (*producing.reconnect(new, peer), *effects)
        again = tuple(Send(a.to, a.body, a.corr) for a in new.pending if a.to == peer)
        return new, (*effects, *again)

    def _give_up(self) -> Result:
        """operationTimeoutMs: it is unknown what became of the request, and the state stays."""
        if self.call is None:
            return self, ()
        if isinstance(self.call, calls.SubscribeTo):
            return consuming.give_up(self, self.call)
        new = replace(self, pending=tuple(a for a in self.pending if a.about is not None))
        if isinstance(self.call, calls.Send | calls.Acknowledge):
            new = new.spoil(self.call.txn)
        return new.finish(Outcome(self.call, UNKNOWN, TIMEOUT))

    # -- what it holds -------------------------------------------------------------------

    def keep(self, name: str, txn: Transaction) -> Client:
        return replace(self, txns=self.txns.set(name, txn))

    def spoil(self, name: str) -> Client:
        """An operation of this transaction has failed: a later commit aborts it."""
        return self.keep(name, replace(self.txns[name], failed=True)) if name else self

    def drop_producer(self, partition: str) -> Client:
        fenced = tuple(name for name in self.fenced if name != partition)
        producers = self.producers
        producers = producers.remove(partition) if partition in producers else producers
        return replace(self, producers=producers, fenced=fenced)

    def keep_consumer(self, consumer: Consumer) -> Client:
        others = tuple(c for c in self.consumers if not _is_same(c, consumer))
        both = sorted((*others, consumer), key=lambda c: (c.partition, c.subscription))
        return replace(self, consumers=tuple(both))

    def drop_consumer(self, consumer: Consumer) -> Client:
        return replace(
            self, consumers=tuple(c for c in self.consumers if not _is_same(c, consumer))
        )

    def find_consumer(self, partition: str, subscription: str) -> Consumer | None:
        where = (partition, subscription)
        return next((c for c in self.consumers if (c.partition, c.subscription) == where), None)

    def consumers_of(self, subscription: str) -> tuple[Consumer, ...]:
        return tuple(c for c in self.consumers if c.subscription == subscription)

    def describe_changes(self, old: Client | None) -> tuple[Text, ...]:
        return tell_client(old, self)

    @classmethod
    def recover(cls, config: ClientConfig, disk: Disk, at_ms: int) -> Result:
        return cls(config), ()


def _is_same(one: Consumer, other: Consumer) -> bool:
    return (one.partition, one.subscription) == (other.partition, other.subscription)
