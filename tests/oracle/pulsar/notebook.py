"""The notebook of a program: whom it asks, what came, and the names and numbers it is noted with.

Two things differ from run to run and are taken out here. *Positions*: a real one is a ledger's id
and an entry's; noted is its place in the topic, counted over all its ledgers from 0. *Transaction
ids*: a coordinator counts on through all scenarios; noted is how far a transaction's is from the
first of this one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from mqlab.recordings.recording import Observation

from .driver import Driver, Thrown

PATIENCE_S = 20.0
PAUSE_S = 0.1
#: reads in a row that must agree before what a broker does by the way counts as done
AGREEING = 4
ADMIN = "/admin/v2/persistent/public/default"
TRANSACTIONS = "/admin/v3/transactions"


@dataclass(frozen=True, slots=True)
class Profile:
    """A release line."""

    name: str
    level: int


PROFILES = {"4.2": Profile("4.2", 42)}


class Control(Protocol):
    """A hand on a broker."""

    def kill(self) -> None:
        """kill -9."""

    def stop(self) -> None:
        """SIGTERM, and wait."""

    def start(self) -> None:
        """With the data there is; returns when it serves."""

    def pause(self, seconds: float) -> None:
        """Let so much of its time pass."""


@dataclass(frozen=True)
class Target:
    """A running broker. `driver`: a client of it that does as it is told; `version`: of that
    client."""

    broker: str
    driver: Driver
    control: Control
    version: str = "4.2.4"


@dataclass(frozen=True, slots=True)
class Txn:
    """A transaction of a program. `label`: what the driver calls it; `owner`: its client."""

    label: str
    owner: str
    most: int
    least: int


@dataclass
class Notebook:
    """One run of one program."""

    target: Target
    profile: Profile
    prefix: str = ""
    notes: list[Observation] = field(default_factory=list)
    clients: dict[str, str] = field(default_factory=dict)
    _begun: list[Txn] = field(default_factory=list)
    _wire: dict[tuple[str, str], str] = field(default_factory=dict)

    def note(self, who: str, to: str, question: object, answer: object) -> None:
        self.notes.append(Observation(who, to, str(question), str(answer)))

    # -- lines -----------------------------------------------------------------------------

    def perform(self, line: str) -> Any:
        """Raises Thrown where the client threw."""
        return self.target.driver.perform(line)

    def attempt(self, line: str) -> str:
        """`ok …`, or the exception's name."""
        try:
            answer = self.perform(line)
        except Thrown as thrown:
            return str(thrown)
        return "ok" if answer == "ok" else f"ok {answer}"

    def http(self, method: str, path: str, body: str = "") -> Any:
        """The answer of the admin interface: status, headers about an entry, body."""
        return self.perform(f"http {method} {path} {body}".rstrip())

    def json(self, path: str) -> Any:
        """What the admin interface says there; its status where it says nothing."""
        response = self.http("GET", path)
        return json.loads(response["body"]) if response["status"] == 200 else response["status"]

    def wait_until(self, ask: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
        """Ask until it is so; False where it never is."""
        for _ in range(round(patience_s / PAUSE_S)):
            if ask():
                return True
            self.pause(PAUSE_S)
        return ask()

    def pause(self, seconds: float) -> None:
        """Let time pass at the broker."""
        self.target.control.pause(seconds)

    def settle(self, read: Callable[[], Any]) -> Any:
        """What is read once it no longer changes: a broker does something by the way."""
        seen = [read()]

        def agree() -> bool:
            now = read()
            seen[:] = [*seen, now] if now == seen[-1] else [now]
            return len(seen) >= AGREEING

        self.wait_until(agree)
        return seen[-1]

    # -- names and numbers -----------------------------------------------------------------

    def wire(self, name: str) -> str:
        """The name on the wire of a topic of this program, without its namespace."""
        return re.sub(r"[^A-Za-z0-9_-]", "-", self.prefix) + name

    def url(self, topic: str) -> str:
        """The whole name of a topic. "elsewhere/orders-0": of a namespace of this program."""
        space, _, name = topic.rpartition("/")
        return f"persistent://public/{self.wire(space) if space else 'default'}/{self.wire(name)}"

    def stats(self, topic: str) -> dict[str, Any]:
        """What the broker says of the topic's ledgers and cursors."""
        answer = self.json(f"{ADMIN}/{self.wire(topic)}/internalStats")
        return answer if isinstance(answer, dict) else {}

    def place(self, topic: str, wire: str) -> str:
        """The position of a topic that is "ledger:entry" (and ":index") on the wire, counted over
        all its ledgers."""
        if wire not in ("-1:-1", "-1:-1:-1") and (topic, wire) not in self._wire:
            ledger, entry, *index = map(int, wire.split(":"))
            before = [x for x in self.stats(topic).get("ledgers", ()) if x["ledgerId"] < ledger]
            place = sum(x["entries"] for x in before) + entry
            self._wire[topic, wire] = ":".join(map(str, [place, *index]))
        return self._wire.get((topic, wire), "-1")

    def entries(self, topic: str) -> Iterable[tuple[int, str]]:
        """Every entry of a topic: its position, and "ledger/entry"."""
        stats = self.stats(topic)
        last_ledger, last = map(int, stats.get("lastConfirmedEntry", "-1:-1").split(":"))
        place = 0
        for ledger in stats.get("ledgers", ()):
            number = ledger["ledgerId"]
            count = last + 1 if number == last_ledger else ledger["entries"]
            for entry in range(count if number <= last_ledger else 0):
                yield place, f"{number}/{entry}"
                place += 1

    def least(self, least: int) -> int:
        """A transaction's number, counted from this program's first."""
        return least - (self._begun[0].least if self._begun else 0)

    def name(self, txn: Txn | None) -> str:
        """ " in (0,1)", or nothing."""
        return "" if txn is None else f" in {self.id(txn)}"

    def id(self, txn: Txn) -> str:
        return f"({txn.most},{self.least(txn.least)})"
