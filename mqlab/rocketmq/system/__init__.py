"""The RocketMQ lesson system: each process on a node of its own.

    system rocketmq release=5.5 producers=app:order-service,twin:order-service

Two producers with one group are two processes of one service: either can be asked about what
the other has sent. `db` is the database that they share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

from ...kernel import Effect, Event, NodeSpec, System, Telling, Text, World
from ...kernel.options import SORTED, UNWRITTEN, Most, Order, Pairs, Programs
from ...kernel.role import Append
from ..config import SAFEGUARDS, RocketMQConfig
from ..log import QueueEntry
from . import verbs, wiring

WORDS = {
    "release": ("4.9", "5.5"),
    "early": ("on", "off"),
    "model": ("clustering", "broadcasting"),
    "flush": ("async", "sync"),
    "slave": ("on", "off"),
}
QUEUES = Most(100, "a picture has room for 100")


@dataclass(frozen=True)
class RocketMQSystem(System):
    """`release` "5.5" or "4.9". `topic`: its name, or several with commas, of `queues` each.
    `producers`: (node, producer group). `consumers`: (node, consumer group), which share the
    queues (`model` clustering) or get every message each (broadcasting); `retry_max`: how often
    a message comes back to a group before it goes to the dead letter queue. `early` "on": the
    broker knows of a producer before it has sent anything (a list of topics in its constructor);
    4.9 always does.

    Times in milliseconds: transactionTimeOut, transactionCheckInterval,
    transactionOpBatchInterval, and how often offsets are written (0: at once). `check_max`:
    transactionCheckMax. `same_round` 1: a half that is put back is seen by the same round.

    `flush` "sync": a message is acknowledged once it is on the disk; "async": before, and it is
    there `flush_ms` later (0: never by itself, for lessons in which no power is cut). `slave`
    "on": a node that copies the broker's log; `in_sync` 2: it must have a message before that is
    acknowledged.

    `programs`: (node, what its application does). `rules`: what a learner writes, by slot:
    "execute" and "check", the two methods of a transaction listener."""

    release: str = "5.5"
    topic: str = "orders"
    queues: Annotated[int, QUEUES] = 1
    producers: Pairs = (("app", "order-service"),)
    consumers: Pairs = ()
    model: str = "clustering"
    retry_max: int = 16
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
    rules: Annotated[tuple[tuple[str, Callable[..., Any]], ...], UNWRITTEN] = ()

    name = "rocketmq"
    retrying = ("heartbeat",)

    def __post_init__(self) -> None:
        for name, words in WORDS.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{name}={getattr(self, name)}: expected {' or '.join(words)}")
        if self.in_sync not in (1, 2):
            raise ValueError(f"in_sync={self.in_sync}: expected 1 or 2")
        for name in ("check_interval_ms", "op_batch_ms"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: expected at least 1")
        super().__post_init__()

    @classmethod
    def from_options(cls, given: Mapping[str, str]) -> Self:
        """As the fields say; 4.9 asks every minute."""
        older = {"check_interval_ms": "60000"} if given.get("release") == "4.9" else {}
        return super().from_options({**older, **given})

    def label(self) -> Text:
        """How a picture names the system."""
        off = f" · off: {', '.join(self.off)}" if self.off else ""
        return Text(f"RocketMQ {self.release}{off}")

    @property
    def registers_early(self) -> bool:
        return self.early == "on" or self.release == "4.9"

    @cached_property
    def config(self) -> RocketMQConfig:
        return RocketMQConfig(
            on=frozenset(SAFEGUARDS) - frozenset(self.off),
            order=self.order,
            release=self.release,
            timeout_ms=self.timeout_ms,
            check_interval_ms=self.check_interval_ms,
            check_max=self.check_max,
            op_batch_ms=self.op_batch_ms,
            persist_ms=self.persist_ms,
            retry_max=self.retry_max,
            flush=self.flush,
            flush_ms=self.flush_ms,
            in_sync=self.in_sync,
            same_round=self.same_round,
            topics=tuple(
                f"{topic}-{i}" for topic in self.topic.split(",") for i in range(self.queues)
            ),
        )

    def nodes(self) -> tuple[NodeSpec, ...]:
        return wiring.nodes(self)

    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (*super().functions(), *(rule for _, rule in self.rules))

    def call(self, words: tuple[str, ...]) -> Any:
        return verbs.parse_call(words, self.config.topics)

    def tell(self, world: World, role: str, event: Event | None, effect: Effect | None) -> Telling:
        """A queue's entry is part of its message, and not told by itself."""
        return Telling(hide=isinstance(effect, Append) and isinstance(effect.entry, QueueEntry))

    def safeguards(self) -> Mapping[str, Text]:
        return SAFEGUARDS
