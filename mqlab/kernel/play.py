"""The learner chooses: what may happen now, doing it, taking it back.

A play is nothing but a system and a list of choices, so a token holds it whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .choice import Choice
from .run import Run, put_in_words
from .system import System
from .text import Text, Words
from .token import Token, decode, encode
from .trace import Trace
from .world import Moved, apply, current, list_choices

DELIVER = Words("{src} → {dst}  {what}", "{src} → {dst}  {what}")
DELIVER_LATE = Words("{src} ⇥ {dst}  {what} (late)", "{src} ⇥ {dst}  {what}（迟到）")
ANSWER = Words("{src} ⇒ {dst}  {what}", "{src} ⇒ {dst}  {what}")
OWN = Words("{node}: {what}", "{node}：{what}")
APPENDED = Words("learns that its record in {log} is safe", "得知它在 {log} 的记录已安全")
CALLS = Words("{node} calls {what}", "{node} 调用 {what}")
TIMER = Words("{node}: timer {name} runs out", "{node}：定时器 {name} 到时")
BREAK = Words("break the connection {a} – {b}", "断开连接 {a} – {b}")
KILL = Words("kill {node}", "杀死 {node}")
POWER = Words("cut {node}'s power", "{node} 断电")
RESTART = Words("restart {node}", "重启 {node}")


@dataclass(frozen=True, slots=True)
class Option:
    """Something that may happen now. `kind`: call, deliver, local, timer, break, kill,
    power or restart. `effects`: how many effects the step would have, so that the node
    may be killed after 0 … effects of them (`f"{choice} kill=1"`)."""

    choice: str
    label: Text
    kind: str
    node: str
    effects: int = 0


class Play:
    """A system under the learner's hand.

    Holding a message back needs no choice: what is not delivered waits. Raises ValueError,
    with what to do, for a choice that is not possible now.
    """

    def __init__(
        self, system: System, choices: tuple[str, ...] = (), title: Text = Text("")
    ) -> None:
        self.system = system
        self.title = title
        self._run = Run(system, title)
        for choice in choices:
            self._run.do(choice)

    @property
    def trace(self) -> Trace:
        return self._run.trace

    @property
    def token(self) -> str:
        """The run so far as text that reopens it."""
        return encode(self.system, self._run.trace)

    def open_token(self, token: str) -> Text:
        """Go to the run that a token of this very system holds. What is different here, where
        another engine made it, or nothing. Raises ValueError for any other text, and for a
        run that is not possible here."""
        found = decode(token)
        if found.line != self.system.line():
            raise ValueError(
                f"this token belongs to another system, {found.line}: open it with "
                "`mqlab open TOKEN`, or with open_run(token) in a cell"
            )
        return self.replay(found)

    def replay(self, token: Token) -> Text:
        """The same for a token whose system line this system was made from."""
        run = Run(self.system, self.title)
        for number, choice in enumerate(token.choices, 1):
            try:
                run.do(choice)
            except ValueError as error:
                raise ValueError(
                    "this token was made by another version of the engine, or with a function "
                    f"that it does not hold; its choice {number} of {len(token.choices)} is not "
                    f"possible here: {error}"
                ) from error
        self._run = run
        return token.note(self.system, run.trace)

    def do(self, choice: str) -> None:
        self._run.do(choice)

    def undo(self) -> None:
        """Take the last choice back; nothing happens at the beginning."""
        self._again(self._run.choices[:-1])

    def reset(self) -> None:
        self._again([])

    def _again(self, choices: list[str]) -> None:
        self._run = Run(self.system, self.title)
        for choice in choices:
            self._run.do(choice)

    def options(self) -> tuple[Option, ...]:
        """Everything that may happen now: steps first, then faults."""
        world = self._run.world
        steps = [self._option(c) for c in list_choices(self.system, world)]
        faults = []
        for name, node in world.nodes.items():
            if not node.up:
                restart = Choice("restart", name)
                effects = _effects(apply(self.system, world, restart))
                label = RESTART(node=name)
                faults.append(Option(str(restart), label, "restart", name, effects))
                continue
            for a, b in node.conns:
                faults.append(Option(f"break {a} {b}", BREAK(a=a, b=b), "break", name))
            faults.append(Option(f"kill {name}", KILL(node=name), "kill", name))
            faults.append(Option(f"power {name}", POWER(node=name), "power", name))
        return (*steps, *faults)

    def _option(self, choice: Choice) -> Option:
        world = self._run.world
        moved = apply(self.system, world, choice)
        effects = _effects(moved)
        event = moved[0].event
        node = moved[0].node
        match choice.kind:
            case "request":
                late = choice.conn != current(self.system, world, choice.a, choice.b)
                words = DELIVER_LATE if late else DELIVER
                what = put_in_words(getattr(event, "body", ""))
                label, kind = words(src=choice.a, dst=choice.b, what=what), "deliver"
            case "response":
                what = put_in_words(getattr(event, "body", ""))
                label, kind = ANSWER(src=choice.b, dst=choice.a, what=what), "deliver"
            case "call":
                label = CALLS(node=node, what=put_in_words(getattr(event, "body", "")))
                kind = "call"
            case "fire":
                label, kind = TIMER(node=node, name=getattr(event, "timer", "")), "timer"
            case _:
                label, kind = OWN(node=node, what=_own(event)), "local"
        return Option(str(choice), label, kind, node, effects)


def _effects(moved: list[Moved]) -> int:
    return sum(m.stage is not None and m.stage.effect is not None for m in moved)


@cache
def _own(event: object) -> Text:
    """A node's own event in words."""
    if hasattr(event, "log"):
        return APPENDED(log=event.log)
    if hasattr(event, "body"):
        return put_in_words(event.body)
    return Text(f"{type(event).__name__} {getattr(event, 'peer', '')}".rstrip())
