"""Choices: everything random or timed, one line of text each, so that a schedule can be
pasted.

    call app            the application makes its next call
    app>store           the oldest request from app reaches store
    app<store           the oldest answer from store reaches app
    app>store#0         the same on connection 0, which broke since (a late request)
    app>store+1         the one after the oldest (a replica's name may hold an @: orders-0@1)
    store.              store's next event of its own (Appended, a message to itself)
    fire store          store's next timer runs out;  `fire store retry` names one
    break app store     the connection breaks;  `lose app>store` loses its oldest request too
    drop app>store      the process of store throws the oldest request away; nothing breaks
    refuse app store    store is down, and app hears that nothing listens at its address
    kill store          the process dies between two steps;  `power store`: a power cut
    restart store       a stopped node starts;  `restart store kill=1`: it is stopped again
                          after the first effect of its recovery
    app>store kill=1    the step is done, but the process dies after its first effect
    … answers=app,pay   of any stop: what the node had answered these clients still arrives;
                          what it had answered others is lost
    run app init; begin   the application is given more calls (a scenario's line)
"""

from __future__ import annotations

import re
from dataclasses import replace

from .maps import frozen
from .text import BadValue


@frozen
class Choice:
    """`kind` is one of call, request, response, local, fire, break, lose, drop, refuse, kill,
    power, restart. `a` is the node or client role, `b` the server role, a timer's name where one
    is named. `stop`: after how many effects the node stops (-1: it does not), by `how`;
    `answers`: the clients whom its answers in flight still reach, in alphabetical order."""

    kind: str
    a: str
    b: str = ""
    conn: int = 0
    index: int = 0
    stop: int = -1
    how: str = "kill"
    answers: tuple[str, ...] = ()

    def stop_after(self, effects: int, how: str = "kill", answers: tuple[str, ...] = ()) -> Choice:
        return replace(self, stop=effects, how=how, answers=answers)

    def check_stop(self, most: int) -> None:
        """ValueError where a step is to be stopped after more effects than it has."""
        if self.stop > most:
            raise BadValue(
                "{0}={1}: that step has {2} effects; write {0}=0 to {0}={2}",
                self.how,
                self.stop,
                most,
            )

    def __str__(self) -> str:
        match self.kind:
            case "request" | "response":
                arrow = ">" if self.kind == "request" else "<"
                text = f"{self.a}{arrow}{self.b}"
                text += f"#{self.conn}" if self.conn else ""
                text += f"+{self.index}" if self.index else ""
            case "local":
                text = f"{self.a}."
            case "lose" | "drop":
                text = f"{self.kind} {self.a}>{self.b}"
            case _:
                text = f"{self.kind} {self.a} {self.b}".rstrip()
        text += f" {self.how}={self.stop}" if self.stop >= 0 else ""
        return text + (f" answers={','.join(self.answers)}" if self.answers else "")


_MESSAGE = re.compile(
    r"(?P<a>[^\s<>#+]+)(?P<arrow>[<>])(?P<b>[^\s<>#+]+)(#(?P<conn>\d+))?(\+(?P<i>\d+))?"
)
_ANSWERS = re.compile(r"(?P<stop>.*?)\s+answers=(?P<clients>\S+)")
_STOP = re.compile(r"(?P<rest>.*?)\s+(?P<how>kill|power)=(?P<n>\d+)")
#: only requests, and the oldest one on the connection that there is
_LOST = re.compile(r"(lose|drop) ([^\s<>#+]+)>([^\s<>#+]+)")
#: of how many nodes a choice speaks
_NODES = {"call": 1, "break": 2, "refuse": 2, "kill": 1, "power": 1, "restart": 1}


def parse(text: str) -> Choice:
    """Read a choice from its line of text (the forms are listed at the top of the module). Raises
    BadValue, a ValueError, with the expected forms. The suffixes `answers=…`, then `kill=N` or
    `power=N`, are cut off first, and the rest is read as a line of its own."""
    if text.startswith("run ") and len(words := text.split(maxsplit=2)) == 3:
        return Choice("run", words[1], words[2])  # a call may hold any of the words below
    if arriving := _ANSWERS.fullmatch(text):
        choice = parse(arriving["stop"])
        if choice.stop < 0 and choice.kind not in ("kill", "power"):
            raise BadValue(
                "{!r}: answers= belongs to a stop, and names the clients that still receive "
                "an answer",
                text,
            )
        return replace(choice, answers=tuple(sorted(set(arriving["clients"].split(",")))))
    if stop := _STOP.fullmatch(text):
        return parse(stop["rest"]).stop_after(int(stop["n"]), stop["how"])
    if m := _MESSAGE.fullmatch(text):
        kind = "request" if m["arrow"] == ">" else "response"
        return Choice(kind, m["a"], m["b"], int(m["conn"] or 0), int(m["i"] or 0))
    if re.fullmatch(r"\S+\.", text):
        return Choice("local", text[:-1])
    words = text.split()
    if len(words) > 1 and words[0] == "fire":
        # a timer's name is the rest of the line, with its blanks; "" means the node's next timer
        return Choice("fire", words[1], "".join(text.split(maxsplit=2)[2:]))
    if words and _NODES.get(words[0]) == len(words) - 1:
        return Choice(words[0], words[1], "".join(words[2:]))
    if lost := _LOST.fullmatch(text):
        return Choice(lost[1], lost[2], lost[3])
    raise BadValue(
        "{!r} is not a choice: expected `call NODE`, `A>B`, `A<B`, `NODE.`, `fire NODE`, "
        "`break A B`, `lose A>B`, `drop A>B`, `refuse A B`, `kill NODE`, `power NODE` or "
        "`restart NODE`",
        text,
    )
