"""The RocketMQ lesson system: each process on a node of its own.

    system rocketmq release=5.5 producers=app:order-service,twin:order-service

Two producers with one group are two processes of one service: either can be asked about what
the other has sent. `db` is the database that they share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self

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
)
from ..kernel.claims import check_named, select_lights
from ..kernel.options import LISTED, SORTED, Most, Order, Pairs, Programs, Rules, fill
from ..kernel.text import BadValue, say_unknown, shorten, tr
from ..kernel.usages import Usages, any_text, number, one_of
from . import application
from .application import ANSWERS, Database
from .broker import Broker, NameServer, Slave
from .claims import CLAIMS, properties
from .config import SAFEGUARDS, RocketMQConfig
from .consumer import Consume, Consumer, ConsumerConfig, Done, Outcome
from .messages import split_queue
from .picture.snapshot import TERMS, draw_snapshot
from .picture.telling import annotate, find_kind, name_effect
from .picture.view import Cluster
from .picture.why import UNGUARDED, explain_fact
from .producer import (
    End,
    Producer,
    ProducerConfig,
    Resume,
    SendInTransaction,
    SendPlain,
    SetListener,
    read_property,
)
from .remoting.properties import RESERVED
from .states import LocalTransactionState

# What the applications of a scenario may call: `run app: send-in-transaction orders-0 o1`


def _consume(outcome: str, only: tuple[str, ...]) -> Consume | None:
    if only and not outcome:
        outcome, *_ = only
        only = only[1:]
    known = (outcome or Outcome.SUCCESS) in tuple(Outcome)
    return Consume(Outcome(outcome or Outcome.SUCCESS), only) if known else None


def _end(state: str, order: str, from_check: int = 0, **options: Any) -> End:
    return End(state, order, from_check=bool(from_check), **options)


CALLS = Usages(
    {
        "send-in-transaction TOPIC-QUEUE ORDER "
        "[immunity=SECONDS delay=LEVEL property=NAME:VALUE]": SendInTransaction,
        "send TOPIC-QUEUE ORDER [delay=LEVEL property=NAME:VALUE]": SendPlain,
        "listener EXECUTE CHECK …, each one of " + ", ".join(ANSWERS): SetListener,
        "end STATE ORDER [group=G] [queue_offset=N] [commit_log_offset=N] [from_check=1]": _end,
        "resume COMMIT-LOG-OFFSET": Resume,
        "consume [later | suspend | working] [ORDER …]": _consume,
        "done ORDER": Done,
    }
)


def _read_property(text: str) -> str:
    found = read_property(text)
    if found is None or not all(map(str.strip, found)):
        said = shorten(text, 40)
        raise BadValue(
            "{!r} is no property; expected NAME:VALUE, as note:hello or note:x*32600",
            said,
        )
    if found[0] in RESERVED:
        raise BadValue(
            "{}: putUserProperty refuses this name, as the system uses it; choose another",
            found[0],
        )
    return text


def parse_call(words: tuple[str, ...], queues: tuple[str, ...]) -> Any:
    """The call that the words of a line mean; raises ValueError with advice."""
    readers = {
        "TOPIC-QUEUE": one_of("queue", queues),
        "ORDER": any_text,
        "EXECUTE": one_of("answer", ANSWERS),
        "CHECK": one_of("answer", ANSWERS),
        "STATE": one_of("state", tuple(LocalTransactionState)),
        "COMMIT-LOG-OFFSET": number,
        "NAME:VALUE": _read_property,
    }
    return CALLS.read(words, readers)


# ---- Which role is on which node: each process is one, and so is the database --------


def nodes(system: RocketMQSystem) -> tuple[NodeSpec, ...]:
    config = system.config
    specs = list(_producers(system))
    specs.append(NodeSpec(config.database, ((config.database, Database.recover),)))
    specs.append(NodeSpec(config.broker, ((config.broker, partial(Broker.recover, config)),)))
    if system.slave != "off":
        specs.append(NodeSpec(config.slave, ((config.slave, partial(Slave.recover, config)),)))
    if names := config.name_server:
        specs.append(NodeSpec(names, ((names, NameServer.recover),)))
    specs += _consumers(system)
    return tuple(specs)


def _producers(system: RocketMQSystem) -> list[NodeSpec]:
    programs, rules = dict(system.programs), dict(system.rules)
    specs = []
    for name, group in system.producers:
        config = ProducerConfig(
            cluster=system.config,
            name=name,
            group=group,
            early=system.registers_early,
            execute=rules.get("execute", application.execute),
            check=rules.get("check", application.check),
        )
        role = (name, partial(Producer.recover, config))
        specs.append(NodeSpec(name, (role,), programs.get(name, ())))
    return specs


def _consumers(system: RocketMQSystem) -> list[NodeSpec]:
    programs, specs, subscribed = dict(system.programs), [], dict(system.subscribe)
    for name, group in system.consumers:
        topic = subscribed.get(name)
        config = ConsumerConfig(
            cluster=system.config,
            name=name,
            group=group,
            queues=tuple(q for q in system.config.topics if topic in (None, split_queue(q)[0])),
            broadcasting=system.model == "broadcasting",
            consume_timeout_ms=system.consume_timeout_ms,
        )
        role = (name, partial(Consumer.recover, config))
        specs.append(NodeSpec(name, (role,), programs.get(name, ())))
    return specs


WORDS = {
    "release": ("4.9", "5.5"),
    "early": ("on", "off"),
    "model": ("clustering", "broadcasting"),
    "flush": ("async", "sync"),
    "slave": ("off", "on", "read"),
}
TOPIC = re.compile(r"[a-zA-Z0-9_-]{1,127}")  # TopicValidator#validateTopic
QUEUES = Most(100, tr("a picture has room for 100"))


@dataclass(frozen=True)
class RocketMQSystem(System):
    """`release` "5.5" or "4.9". `topic`: its name, or several with commas, of `queues` each.
    `producers`: (node, producer group). `consumers`: (node, consumer group), which share the queues
    (`model` clustering) or get every message each (broadcasting); `subscribe`: (node, topic), where
    a consumer does not read all topics; `retry_max`: how often a message comes back to a group
    before it goes to the dead letter queue. `early` "on": the broker knows of a producer before it
    has sent anything (a list of topics in its constructor); 4.9 always does.

    Times in milliseconds: consumeTimeout (after which a message that a listener still works on is
    sent back), transactionTimeOut, transactionCheckInterval,
    transactionOpBatchInterval, and how often offsets are written (0: at once). `check_max`:
    transactionCheckMax. `same_round` 1: a half message that is put back is seen by the same round.

    `flush` "sync": a message is acknowledged once it is on the disk; "async": before, and it is
    there `flush_ms` later (0: never by itself, for lessons in which no power is cut). `slave`
    "on": a node that copies the broker's log; `in_sync` 2: it must have a message before that is
    acknowledged. "read" (slaveReadEnable): consumers read from it while the broker is not
    registered with the node `names`, a name server.

    `programs`: (node, what its application does). `rules`: what a learner writes, by the decision:
    "execute" and "check", the two methods of a transaction listener. `claims`: properties that get
    a light of their own (`invariants.CLAIMS`). `consume_timeout_ms`, `check_interval_ms`,
    `op_batch_ms`, `persist_ms`: these times; `off`: safeguards that are switched off; `order`:
    pieces of a role's step in another order (`orderable`)."""

    release: str = "5.5"
    topic: Annotated[str, LISTED] = "orders"
    queues: Annotated[int, QUEUES] = 1
    producers: Pairs = (("app", "order-service"),)
    consumers: Pairs = ()
    subscribe: Pairs = ()
    model: str = "clustering"
    retry_max: int = 16
    consume_timeout_ms: int = 900_000
    early: str = "off"
    timeout_ms: int = 6_000
    check_interval_ms: int = 30_000
    check_max: int = 15
    op_batch_ms: int = 3_000
    persist_ms: int = 5_000
    same_round: int = 0
    flush: str = "async"
    flush_ms: int = 0
    slave: str = "off"
    in_sync: int = 1
    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()
    order: Order = ()
    rules: Rules = ()
    claims: tuple[str, ...] = ()

    name = "rocketmq"
    guards = SAFEGUARDS
    unguards = UNGUARDED
    glossary = TERMS
    verbs = CALLS
    retrying = ("heartbeat",)
    judged_between_steps = True
    orderable: ClassVar = {"end_transaction": ("message", "op")}
    both_ways = True

    def __post_init__(self) -> None:
        for name, words in WORDS.items():
            if getattr(self, name) not in words:
                raise BadValue("{}={}: expected {}", name, getattr(self, name), " or ".join(words))
        if self.in_sync not in (1, 2):
            raise BadValue("in_sync={}: expected 1 or 2", self.in_sync)
        for name in ("check_interval_ms", "op_batch_ms"):
            if getattr(self, name) < 1:
                raise BadValue("{}={}: expected at least 1", name, getattr(self, name))
        super().__post_init__()  # bounds of numbers, nodes' names, safeguards, `order=`
        topics = self.topic.split(",")
        for topic in topics:
            if not TOPIC.fullmatch(topic):
                raise BadValue(
                    "topic={}: RocketMQ takes at most 127 of a-z, A-Z, 0-9 _ -", shorten(topic, 40)
                )
        QUEUES.check("queues of all topics", len(topics) * self.queues)
        check_named(self.claims, CLAIMS)
        for name, topic in self.subscribe:
            for what, word, known in (
                ("node", name, tuple(dict(self.consumers))),
                ("topic", topic, tuple(topics)),
            ):
                if word not in known:
                    raise ValueError(say_unknown(what, word, known))

    @classmethod
    def from_options(cls, given: Mapping[str, str]) -> Self:
        """As the fields say; 4.9 asks every minute."""
        older = {"check_interval_ms": "60000"} if given.get("release") == "4.9" else {}
        return super().from_options({**older, **given})

    def label(self) -> Text:
        """How a picture names the system."""
        return self.with_missing(Text(f"RocketMQ {self.release}"))

    @property
    def registers_early(self) -> bool:
        return self.early == "on" or self.release == "4.9"

    @cached_property
    def config(self) -> RocketMQConfig:
        """The broker's configuration that these options mean; `on` contains the safeguards
        that are not switched off."""
        return fill(
            RocketMQConfig,
            self,
            on=frozenset(SAFEGUARDS) - frozenset(self.off),
            slave="slave",  # its node, not whether there is one
            name_server="names" if self.slave == "read" else "",
            topics=tuple(
                f"{topic}-{i}" for topic in self.topic.split(",") for i in range(self.queues)
            ),
        )

    @cached_property
    def cluster(self) -> Cluster:
        slave = self.slave != "off"
        return Cluster(self.config, self.producers, self.consumers, slave)

    def nodes(self) -> tuple[NodeSpec, ...]:
        return nodes(self)

    def is_refused(self, client: str, server: str) -> bool:
        return server == self.config.broker and client in dict(self.producers)

    def call(self, words: tuple[str, ...]) -> Any:
        return parse_call(words, self.config.topics)

    # -- pictures and claims ---------------------------------------------------------------

    def snapshot(self, world: World) -> Snapshot:
        lights = select_lights(self.properties(), CLAIMS, self.claims)
        return draw_snapshot(self.cluster, world, lights)

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        return annotate(self.cluster, world, role, event, effect)

    def explain(self, fact: Fact) -> Text:
        return explain_fact(fact, find_kind(self.cluster, fact.node))

    def name_effect(self, role: str, effect: Effect) -> Named | None:
        return name_effect(effect)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        return properties(self.cluster, self.claims)
