"""The Pulsar lesson system: coordinators, partitions and clients, each on a node of its own.

    system pulsar partitions=2 clients=app,shop

A client has transactions, producers and consumers; `app` and `shop` are two processes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

from ..kernel import (
    Effect,
    Event,
    Fact,
    Named,
    NodeSpec,
    Property,
    Snapshot,
    System,
    Telling,
    Text,
    World,
    replace,
)
from ..kernel.claims import check_named, select_lights
from ..kernel.options import LISTED, SORTED, Most, Programs, fill
from ..kernel.text import BadValue, tr
from ..kernel.usages import Usages, any_text, bare, number, one_of
from .claims import CLAIMS, properties
from .client import Client, ClientConfig, calls
from .client.calls import Commit
from .config import SAFEGUARDS, PulsarConfig, name_coordinator
from .coordinator import Coordinator
from .messages import (
    AckPosition,
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    CreateNamespace,
    DeleteLedger,
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
from .picture.meaning import annotate, name_effect
from .picture.snapshot import TERMS, Cluster, draw_snapshot
from .picture.why import UNGUARDED, explain_fact, find_kind
from .states import AccessMode, SubType, TxnAction
from .topic import Topic

# What the applications of a scenario may call: `run app: new-transaction t1, send orders-0 a`
#
# A transaction goes by the name that its application gave it, as t1, and to other clients and to
# the
# administration by its id, as 0/1. A message's id is written orders-0@3, or orders-0@3:1 for the
# second message of a batch.

#: a request of the administration or a raw command, and the node to which it goes
Request = tuple[str, Any]

PRODUCER = "producer PARTITION [access=Shared|Exclusive|WaitForExclusive|ExclusiveWithFencing]"
SUBSCRIBE = (
    "subscribe PARTITION SUBSCRIPTION [type=Exclusive|Shared|Failover|Key_Shared] "
    "[from=earliest] [queue=N] [dead_letter=PARTITION max_redeliver=N] [batch_index_ack=N]"
)


DELETE_LEDGER = "delete-ledger PARTITION [SUBSCRIPTION] [records=N]"


def _begin(name: str, timeout: int | None = None) -> calls.NewTransaction:
    return calls.NewTransaction(name, timeout)


def _send(partition: str, values: tuple[str, ...], metadata: str = "yes", **options: Any) -> Any:
    if metadata not in ("yes", "no"):
        raise BadValue("metadata={}: expected yes or no", metadata)
    plain = options.get("plain", 0)
    if plain and not (options.get("txn") and plain < len(values)):
        raise BadValue(
            "plain={}: the first of several values, the others of a transaction, as in send "
            "PARTITION a b txn=NAME plain=1",
            plain,
        )
    return calls.Send(partition, values, metadata=metadata == "yes", **options)


def _producer(partition: str, access: str = AccessMode.SHARED) -> calls.CreateProducer:
    if access not in tuple(AccessMode):
        raise BadValue("access={}: expected {}", access, PRODUCER)
    return calls.CreateProducer(partition, AccessMode(access))


def _subscribe(partition: str, name: str, **options: Any) -> calls.SubscribeTo:
    kind, first = options.pop("type", "Exclusive"), options.pop("from", "latest")
    if kind not in tuple(SubType) or first not in ("earliest", "latest"):
        raise BadValue("type={} from={}: expected {}", kind, first, SUBSCRIBE)
    if options.get("batch_index_ack", 1) not in (0, 1):
        raise BadValue("{}={}: expected 0 or 1", "batch_index_ack", options["batch_index_ack"])
    if "dead_letter" in options and not options.get("max_redeliver"):  # IllegalArgumentException
        raise BadValue("dead_letter={}: expected max_redeliver=1 or more", options["dead_letter"])
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


def _delete_ledger(partition: str, name: str, records: int = 0) -> Request:
    if records and not name:
        raise BadValue("records={}: of a pending-ack log, as in {}", records, DELETE_LEDGER)
    return partition, DeleteLedger(partition, name, records)


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
        "nack SUBSCRIPTION PARTITION@POSITION …": calls.Nack,
        "seek SUBSCRIPTION PARTITION@POSITION": calls.SeekTo,
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
        DELETE_LEDGER: _delete_ledger,
        "unsubscribe PARTITION SUBSCRIPTION": _ask_partition(Unsubscribe),
        "create-namespace MISSING": _ask_partition(CreateNamespace),
    }
)


def parse_call(words: tuple[str, ...], config: PulsarConfig) -> Any:
    """Make a call from the words of a line, for example `send orders-0 a`. An administrator's
    request becomes a call AskAdmin. Raises ValueError with advice."""
    check_partition, read_word = one_of("partition", config.partitions), bare

    def read_name(text: str) -> str | None:  # None: it is an option, such as `txn=t0`
        return None if "=" in text else read_word(text)

    def read_message(text: str) -> MessageId:
        match = re.fullmatch(r"(.+)@([0-9]{1,15})(?::([0-9]{1,9}))?", text)
        if match is None:
            raise BadValue("{!r} is no message; expected PARTITION@POSITION", text)
        # -1: the entry is no batch
        return MessageId(check_partition(match[1]), int(match[2]), int(match[3] or -1))

    def read_txn(text: str) -> TxnID:
        most, _, least = text.partition("/")  # Pulsar's mostSigBits/leastSigBits
        coordinator, local = number(most), number(least)
        if coordinator is None or local is None or coordinator >= config.coordinators:
            numbers = ", ".join(str(n) for n in range(config.coordinators)) or "none"
            raise BadValue("{!r} is no transaction of a coordinator; those are: {}", text, numbers)
        return TxnID(coordinator, local)

    def read_coordinator(text: str) -> int | None:
        return None if number(text) is None else read_txn(f"{text}/0").most

    # by the kind of an argument in a usage: what turns its word into a value, None if it is none
    readers = {
        "PARTITION": check_partition,
        "MISSING": one_of("partition without a namespace", config.missing),
        "PARTITION@POSITION": read_message,
        "NAME": read_name,
        "SUBSCRIPTION": read_name,
        "VALUE": any_text,
        "TC": read_coordinator,
        "TC/N": read_txn,
    }
    # a client's call, or for an administrator's: (the node that is asked, the request)
    call = CALLS.read(words, readers)
    if not isinstance(call, tuple):
        return call
    to, request = call
    return calls.AskAdmin(to, request, " ".join(words))


# Which role is on which node: each coordinator, each partition and each client is one


def nodes(system: PulsarSystem) -> tuple[NodeSpec, ...]:
    config = system.config
    specs = list(_clients(system))
    for tc_id in range(config.coordinators):
        name = name_coordinator(tc_id)
        specs.append(NodeSpec(name, ((name, partial(Coordinator.recover, config, tc_id)),)))
    for name in config.partitions:
        specs.append(NodeSpec(name, ((name, partial(Topic.recover, config, name)),)))
    return tuple(specs)


def _clients(system: PulsarSystem) -> list[NodeSpec]:
    programs, specs = dict(system.programs), []
    for name in system.clients:
        config = fill(ClientConfig, system, cluster=system.config, name=name)
        role = (name, partial(Client.recover, config))
        specs.append(NodeSpec(name, (role,), programs.get(name, ())))
    return specs


PARTITIONS = Most(100, tr("a picture has room for 100"))
COORDINATORS = Most(16, tr("a cluster has 16 of them"))


@dataclass(frozen=True)
class PulsarSystem(System):
    """`topic`: its name, or several with commas, of `partitions` each. `clients`: processes with a
    PulsarClient. `coordinators`: 1, as in a standalone broker, as many as a cluster has, or 0,
    where transactions are switched off, as they are by default.
    `missing`: further partitions, whose namespace does not exist.

    `timeout_ms`: of a transaction whose builder was given none; `operation_ms`: how long a client
    waits for a coordinator. `max_active`: maxActiveTransactionsPerCoordinator. `snapshot_count`
    and `snapshot_ms`: when a buffer writes a snapshot (0: not by time). `dedup` 1: the broker
    knows duplicates. `batch_index_ack` 0, the default before 4.1: messages of a batch are
    acknowledged together only. `auto_skip` 1: autoSkipNonRecoverableData, with which a replay of
    pending acks leaves out a ledger that is gone.
    `claims`: properties that a search is to check too (`invariants.CLAIMS`)."""

    topic: Annotated[str, LISTED] = "orders"
    partitions: Annotated[int, PARTITIONS] = 1
    clients: tuple[str, ...] = ("app",)
    coordinators: Annotated[int, COORDINATORS] = 1
    missing: tuple[str, ...] = ()
    timeout_ms: int = 60_000
    operation_ms: int = 30_000
    max_active: int = 0
    snapshot_count: int = 1_000
    snapshot_ms: int = 0
    dedup: int = 0
    batch_index_ack: int = 1
    auto_skip: int = 0
    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()
    claims: tuple[str, ...] = ()

    name = "pulsar"
    guards = SAFEGUARDS
    unguards = UNGUARDED
    glossary = TERMS
    verbs = CALLS
    retrying = ("retry",)
    synced = True  # bookies: journalSyncData

    def __post_init__(self) -> None:
        super().__post_init__()
        PARTITIONS.check("partitions of all topics", len(self.topic.split(",")) * self.partitions)
        for name in ("dedup", "batch_index_ack", "auto_skip"):
            if getattr(self, name) not in (0, 1):
                raise BadValue("{}={}: expected 0 or 1", name, getattr(self, name))
        if self.snapshot_count < 1:
            raise BadValue("snapshot_count={}: expected at least 1", self.snapshot_count)
        check_named(self.claims, CLAIMS)

    def label(self) -> Text:
        """How a picture names the system."""
        return self.with_missing(Text("Pulsar"))

    @cached_property
    def config(self) -> PulsarConfig:
        topics = self.topic.split(",")
        partitions = tuple(f"{topic}-{i}" for topic in topics for i in range(self.partitions))
        on = frozenset(SAFEGUARDS) - frozenset(self.off)
        return fill(PulsarConfig, self, on=on, partitions=(*partitions, *self.missing))

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.config, self.clients)

    def nodes(self) -> tuple[NodeSpec, ...]:
        return nodes(self)

    def call(self, words: tuple[str, ...]) -> Any:
        return parse_call(words, self.config)

    def snapshot(self, world: World) -> Snapshot:
        lights = select_lights(self.properties(), CLAIMS, self.claims)
        return draw_snapshot(self.cluster, world, lights)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        return properties(self.cluster, self.claims, self._may_commit())

    def _may_commit(self) -> bool:
        """Whether it is left open what applications do, or one of them commits."""
        programs = [program for _, program in self.programs]
        lists = [program for program in programs if isinstance(program, tuple)]
        calls = [call for program in lists for call in program]
        return len(lists) < len(programs) or not calls or any(isinstance(c, Commit) for c in calls)

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        return annotate(self.cluster, world, role, event, effect)

    def explain(self, fact: Fact) -> Text:
        return explain_fact(fact, find_kind(self.cluster, fact.node))

    def name_effect(self, role: str, effect: Effect) -> Named | None:
        return name_effect(effect)
