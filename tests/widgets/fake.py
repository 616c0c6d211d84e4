"""A play without a system: the sample run, one fact a choice, and a kill that is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqlab.kernel import Property, System
from mqlab.kernel.offers import Gap, Option
from mqlab.kernel.text import Text
from mqlab.kernel.trace import Trace

from .sample import sample

STOPS = (Text("nothing had left"), Text("1 of 2 had left"), Text("2 of 2 had left"))
ENDS = ("app", "tc")


class FakePlay:
    system = System()
    start: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.whole = sample()
        self.done: list[str] = []

    @property
    def trace(self) -> Trace:
        return self.find_trace(self.choices)

    @property
    def token(self) -> str:
        return "token-" + "-".join(self.done)

    def options(self) -> tuple[Option, ...]:
        fact = self.whole.facts[len(self.done)]
        sent = len(self.done)  # the fact before stands for the one that sent this message
        return (
            Option(
                "next", Text(fact.line()), "deliver", fact.node, stops=STOPS, ends=ENDS, sent=sent
            ),
            Option("kill tc", Text("kill tc", "杀死 tc"), "kill", "tc"),
            Option("break app tc", Text("break the connection app – tc"), "break", "app"),
        )

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(self.done)

    @property
    def visited(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self.choices[:n] for n in range(len(self.done) + 1))

    def watch(self, claim: Property) -> None:
        raise NotImplementedError

    def gaps(self) -> tuple[Gap, ...]:
        if len(self.done) < 2:
            return ()
        return (Gap(1, "app", 1, "next kill=1", "next power=1", Text("1 of 2 had left")),)

    def branch(self, keep: int, choice: str) -> None:
        self.done = [*self.done[:keep], choice]

    def go_to(self, choices: Sequence[str]) -> None:
        self.done = list(choices)

    def go_on(self, held: Sequence[str] = ()) -> None:
        self.done += [] if "next" in held else ["next", "next"]

    def find_trace(self, choices: tuple[str, ...]) -> Trace:
        n = len(choices)
        facts, snapshots = self.whole.facts[:n], self.whole.snapshots[: n + 1]
        return replace(self.whole, facts=facts, snapshots=snapshots)

    def do(self, choice: str) -> None:
        if choice not in ("next", "next kill=1"):
            raise ValueError(f"{choice!r} is not possible now; choose 'next'")
        self.done.append(choice)

    def open_token(self, token: str) -> Text:
        if not token.startswith("token-next"):
            raise ValueError("this is not a token: paste the whole text that was copied")
        self.done = token.removeprefix("token-").removesuffix("-old").split("-")
        return (
            Text("it tells the same as then", "与当时相同") if token.endswith("-old") else Text("")
        )

    def undo(self) -> None:
        self.done = self.done[:-1]

    def reset(self) -> None:
        self.done = []
