"""Damage in a real Pulsar, kept as data: what `mqlab inspect pulsar` is tried on.

    python -m tests.inspect.damage_pulsar VERSION      about two minutes

Each scene is one broker's state, and what its admin interface answered to `mqlab inspect` is kept:
an open transaction that holds a topic and a message back, and aborted ones (`open`); a late message
of an ended transaction (`hanging`); a commit whose participant has no namespace (`frozen`); a
restart after which no client has come (`unloaded`); a first snapshot for which there are too few
bookies (`not-ready`), then an acknowledgement's log that has too few (`acks-error`), and a topic
that cannot be loaded (`no-bookies`).
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mqlab.inspect.asking import Refused
from mqlab.inspect.pulsar.admin import V2, V3, Live
from mqlab.inspect.pulsar.topics import read_admin
from mqlab.inspect.reading import Ask
from mqlab.real.pulsar.broker import RealPulsar
from tests.oracle.pulsar.driver import JavaDriver

VERSIONS = ("4.2.4", "4.0.7")
DATA = Path(__file__).parent / "data"
PLACE = "persistent://public/default"
LONG = 600_000


class Recorder(Live):
    """Keeps what it was answered, by path."""

    def __init__(self, ask: Ask) -> None:
        self.answers: dict[str, Any] = {}
        super().__init__(ask)

    def get(self, path: str) -> Any:
        return self._keep(path, lambda: Live.get(self, path))

    def entry(self, path: str, payload: bool) -> tuple[dict[str, str], str]:
        def ask() -> dict[str, Any]:
            headers, body = Live.entry(self, path, payload)
            return {"headers": {k: v for k, v in headers.items() if "pulsar" in k}, "body": body}

        kept = self._keep(path, ask)
        return kept["headers"], kept["body"]

    def _keep(self, path: str, ask: Callable[[], Any]) -> Any:
        is_v2 = path.startswith(("persistent/", "namespaces/"))
        whole = path if path.startswith("/") else (V2 if is_v2 else V3) + path
        try:
            self.answers[whole.partition("?")[0]] = found = ask()
        except Refused as refused:
            status, _, reason = str(refused).removeprefix("the broker says ").partition(": ")
            self.answers[whole.partition("?")[0]] = {"status": int(status), "reason": reason}
            raise
        return found


class Scene:
    """A real Pulsar and a Java client of it."""

    def __init__(self, pulsar: RealPulsar, driver: JavaDriver) -> None:
        self.pulsar, self._driver = pulsar, driver
        for line in ("client app", f"producer p app {PLACE}/orders",
                     f"consumer c app {PLACE}/orders billing Shared"):  # fmt: skip
            self(line)

    def __call__(self, line: str) -> Any:
        return self._driver.perform(line)

    def ask(self, method: str, path: str, body: object = None) -> None:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.pulsar.admin + path, data, headers, method=method)
        urllib.request.urlopen(request, timeout=40).close()

    def unload(self, topic: str) -> None:
        self.ask("PUT", f"{V2}persistent/public/default/{topic}/unload")


@contextmanager
def scene(version: str) -> Iterator[Scene]:
    with RealPulsar(version) as pulsar, JavaDriver(pulsar.address, pulsar.admin, version) as driver:
        yield Scene(pulsar, driver)


def hold_open(of: Scene) -> None:
    """Five transactions are aborted, one is open, and one has an acknowledgement."""
    of(f"begin done app {LONG}")
    of("send p paid txn=done")
    of("commit done")
    for n in range(5):
        of(f"begin a{n} app {LONG}")
        of(f"send p cancelled-{n} txn=a{n}")
        of(f"abort a{n}")
    (first, *_) = of("receive c 700")
    of(f"begin open app {LONG}")
    of("send p unpaid txn=open")
    of("send p plain")
    of(f"begin acks app {LONG}")
    of(f"ack c {first['id']} txn=acks")


def leave_hanging(of: Scene) -> None:
    """The topic forgets what has ended; then a client goes on with it."""
    of(f"begin late app {LONG}")
    of("send p first txn=late")
    of("commit late")
    of.unload("orders")
    of("reopen late")
    of("send p late txn=late")
    of("send p plain")


def freeze(of: Scene) -> None:
    of(f"begin frozen app {LONG}")
    of("send p paid txn=frozen")
    of("register frozen persistent://public/elsewhere/stock")
    of("later end commit frozen")
    time.sleep(2)


def lose_bookies(of: Scene) -> None:
    """A ledger needs three of them from now on, and there is one."""
    of("send p plain")
    policy = {f"bookkeeper{name}": 3 for name in ("Ensemble", "WriteQuorum", "AckQuorum")}
    of.ask("POST", f"{V2}namespaces/public/default/persistence",
           {**policy, "managedLedgerMaxMarkDeleteRate": 0})  # fmt: skip
    time.sleep(1)
    of.unload("__transaction_buffer_snapshot")
    of(f"begin first app {LONG}")
    of("later send send p paid txn=first")
    time.sleep(2)


def lose_acks(of: Scene) -> None:
    """The first acknowledgement in a transaction makes a log of the subscription's own."""
    (first, *_) = of("receive c 700")
    of(f"begin acks app {LONG}")
    of(f"later ack ack c {first['id']} txn=acks")
    time.sleep(2)


def keep(of: Scene, version: str, name: str) -> None:
    ask = Ask(of.pulsar.admin, now_ms=time.time_ns() // 1_000_000)
    recorder = Recorder(ask)
    read_admin(recorder, ask)
    folder = DATA / f"pulsar-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(recorder.answers, indent=1, sort_keys=True)
    (folder / f"{name}.json").write_text(text + "\n", "utf-8")


def main(version: str) -> None:
    with scene(version) as of:
        hold_open(of)
        keep(of, version, "open")
        of.pulsar.kill()
        of.pulsar.start()
        keep(of, version, "unloaded")
    with scene(version) as of:
        leave_hanging(of)
        keep(of, version, "hanging")
    with scene(version) as of:
        freeze(of)
        keep(of, version, "frozen")
    with scene(version) as of:
        lose_bookies(of)
        keep(of, version, "not-ready")
        lose_acks(of)
        keep(of, version, "acks-error")
        of.unload("orders")
        time.sleep(1)
        keep(of, version, "no-bookies")


if __name__ == "__main__":
    main(sys.argv[1])
