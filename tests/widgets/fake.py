"""A play without a system: the sample run, one fact a choice, and a kill that is refused."""

from __future__ import annotations

from dataclasses import replace

from mqlab.kernel.play import Option
from mqlab.kernel.text import Text
from mqlab.kernel.trace import Trace

from .sample import sample


class FakePlay:
    def __init__(self) -> None:
        self.whole = sample()
        self.done: list[str] = []

    @property
    def trace(self) -> Trace:
        n = len(self.done)
        return replace(
            self.whole, facts=self.whole.facts[:n], snapshots=self.whole.snapshots[: n + 1]
        )

    @property
    def token(self) -> str:
        return "token-" + "-".join(self.done)

    def options(self) -> tuple[Option, ...]:
        fact = self.whole.facts[len(self.done)]
        return (
            Option("next", Text(fact.line()), "deliver", fact.node, effects=2),
            Option("kill tc", Text("kill tc", "杀死 tc"), "kill", "tc"),
            Option("break app tc", Text("break the connection app – tc"), "break", "app"),
        )

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
