"""The story of every client library (see libraries.py), as Python's tell it: `… ADDRESS PREFIX`
prints one line a call (who, the call, what came of it, with tabs between).

kafka-python is spoken as it is. What aiokafka calls otherwise, `aiokafka_story.py` says.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

ADDRESS, PREFIX = sys.argv[1:3]
ORDERS = PREFIX + "orders"
CONFIGS = (
    "cleanup.policy", "compression.type", "max.message.bytes", "min.insync.replicas",
    "retention.ms", "segment.bytes",
)  # fmt: skip


def call(who: str, what: str, action: Callable[[], Any]) -> None:
    try:
        came = action()
    except Exception as error:
        came = type(error).__name__
    print(who, what, came if isinstance(came, str) else "ok", sep="\t", flush=True)


class Story:
    """`library`: makes its clients, and says what it calls otherwise."""

    def __init__(self, library: Any) -> None:
        self.library, self.admin = library, library.make_admin()

    def send(self, who: str, producer: Any, value: str, partition: int = 0) -> None:
        record = self.library.send
        call(who, f"send {value}", lambda: f"ok @{record(producer, partition, value.encode())}")

    def end(self, who: str, producer: Any, how: str) -> None:
        """Or begin."""
        call(who, how, getattr(producer, f"{how}_transaction"))

    def read(self, isolation: str) -> str:
        reader = self.library.make_consumer("nobody", isolation_level=isolation)
        at = self.library.partition(ORDERS, 0)
        reader.assign([at])
        reader.seek_to_beginning(at)
        end = reader.end_offsets([at])[at]
        messages = []
        while reader.position(at) < end:
            for records in self.library.poll(reader).values():
                messages += [f"{record.value.decode()} @{record.offset}" for record in records]
        self.library.close(reader)
        return ", ".join(messages)

    def consume(self) -> str:
        worker = self.library.make_consumer("accounting", isolation_level="read_committed")
        worker.subscribe([ORDERS])
        messages: set[str] = set()
        while len(messages) < 6 or has_more(worker):
            for records in self.library.poll(worker).values():
                messages |= {f"{r.partition}: {r.value.decode()} @{r.offset}" for r in records}
        worker.commit()
        self.library.close(worker)
        return ", ".join(sorted(messages))

    def fetch_offsets(self, group: str) -> str:
        """Asked until there is something: a transaction's offsets count from its marker on."""
        rows: dict[Any, Any] = {}
        for i in range(100):
            time.sleep(0.1 * bool(i))
            if rows := self.library.list_offsets(self.admin, PREFIX + group):
                break
        say = self.library.say_position
        return ", ".join(f"{at.partition}: {say(row)}" for at, row in sorted(rows.items()))

    def configs(self) -> str:
        values = self.library.describe_topic(self.admin)
        return ", ".join(f"{name}={values.get(name)}" for name in CONFIGS)

    def tell(self) -> None:
        for what in ("create orders", "create orders again"):
            call("admin", what, lambda: self.library.create_topic(self.admin))
        call("admin", "configs of orders", self.configs)
        plain = self.library.make_producer()
        self.send("plain", plain, "a")
        self.send("plain", plain, "z", 1)
        app = self.library.make_producer(PREFIX + "A")
        call("app", "init", lambda: self.library.init(app))
        for values, end in (("bc", "commit"), ("x", "abort")):
            self.end("app", app, "begin")
            for value in values:
                self.send("app", app, value)
            self.end("app", app, end)
        for isolation in ("read_committed", "read_uncommitted"):
            call("reader", isolation, lambda isolation=isolation: self.read(isolation))
        self.end("app", app, "begin")
        self.send("app", app, "d")
        at = {self.library.partition(ORDERS, 0): self.library.position(3, "half way")}
        group = self.library.group(PREFIX + "billing")
        call("app", "send offsets 3", lambda: app.send_offsets_to_transaction(at, group))
        self.end("app", app, "commit")
        call("admin", "offsets of billing", lambda: self.fetch_offsets("billing"))
        twin = self.library.make_producer(PREFIX + "A")
        call("twin", "init", lambda: self.library.init(twin))
        for who, producer, value in (("app", app, "e"), ("twin", twin, "f")):
            self.end(who, producer, "begin")
            self.send(who, producer, value)
            self.end(who, producer, "commit")
        call("worker", "consumes", self.consume)
        call("admin", "offsets of accounting", lambda: self.fetch_offsets("accounting"))
        os._exit(0)  # the clients' threads would go on


def has_more(worker: Any) -> bool:
    """Whether there is more, a marker perhaps."""
    ends = worker.end_offsets(list(worker.assignment()))
    return any(worker.position(at) < end for at, end in ends.items())
