"""The words of a scenario, parsed. Knows no broker: systems come from a registry."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from ..kernel import System, Text

Registry = Mapping[str, type[System]]

DASHES = "---"  # between commands and the narration of what they cause
CHINESE = "#zh"  # a comment that begins so says in Chinese what those around it say

COMMANDS = [
    "run",
    "hold",
    "release",
    "lose",
    "late",
    "kill",
    "power-cut",
    "restart",
    "break",
    "partition",
    "heal",
    "fire",
    "at",
    "do",
]
_MESSAGE = re.compile(r"(\S+?)\s*(?:→|->)\s*(\S+)\s+(⇒|=>)?\s*(\w+)(?:#(\d+))?$")
_WHEN = re.compile(r"when=(⇒|=>)?(\w+)(?:#(\d+))?$")


@dataclass(frozen=True, slots=True)
class Message:
    """`src→dst Kind#n`; `answer`: the reply to it (which travels from dst to src)."""

    src: str
    dst: str
    kind: str
    n: int = 1
    answer: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One command. `message` for hold, release, lose, late; `kind`, `n`, `after` for a
    stop inside a step; `answers`: the clients whom answers of a node that stops still reach;
    `words` for the rest."""

    number: int
    command: str
    words: tuple[str, ...] = ()
    message: Message | None = None
    kind: str = ""
    n: int = 1
    after: int = 0
    answers: tuple[str, ...] = ()

    @property
    def armed(self) -> bool:
        return self.command in ("hold", "lose", "late") or bool(self.kind)


@dataclass(frozen=True, slots=True)
class Script:
    """`comments`: the lines before the first command, without their #; the first is the
    title. `chinese`: the same of the lines that begin with #zh. `system`: the system line with
    its `off` lines folded in."""

    comments: tuple[str, ...]
    chinese: tuple[str, ...]
    system: str
    lines: tuple[Line, ...]

    @property
    def title(self) -> Text:
        english, chinese = ((*comments, "")[0] for comments in (self.comments, self.chinese))
        return Text(english.rstrip("."), chinese.rstrip("。"))

    @property
    def story(self) -> Text:
        """What is told below the title."""
        return Text(" ".join(self.comments[1:]), "".join(self.chinese[1:]))


class ScenarioError(ValueError):
    """A scenario that cannot be read; the message names the line and what was expected."""


def parse_script(text: str) -> Script:
    """The commands of a scenario; narration (from dashes to the next blank line) is passed
    over. Raises ScenarioError with the line's number and what to write instead."""
    comments: list[str] = []
    chinese: list[str] = []
    system, off = "", []
    lines: list[Line] = []
    telling = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        telling = bool(line) if telling else line == DASHES
        if telling:
            continue
        if line.startswith("#"):
            if not system:
                (chinese if line.startswith(CHINESE) else comments).append(read_comment(line))
            continue
        if not line:
            continue
        word, _, rest = line.partition(" ")
        if word == "system":
            system = rest.strip()
        elif word == "off":
            off += rest.replace(",", " ").split()
        elif word in COMMANDS:
            if not system:
                raise ScenarioError(f"line {number}: begin with a line `system NAME …`")
            lines.append(_line(number, word, rest.strip()))
        else:
            known = ", ".join(("system", "off", *COMMANDS))
            raise ScenarioError(f"line {number}: {word!r} is no command; there are: {known}")
    if not system:
        raise ScenarioError("no line `system NAME …`, for example: system kafka partitions=2")
    line = system + (f" off={','.join(off)}" if off else "")
    return Script(tuple(comments), tuple(chinese), line, tuple(lines))


def read_comment(line: str) -> str:
    """The words of a comment, in whichever language."""
    return line.removeprefix(CHINESE).lstrip("# ")


def _line(number: int, command: str, rest: str) -> Line:
    if command in ("hold", "release", "lose", "late"):
        m = _MESSAGE.match(rest)
        if not m:
            raise ScenarioError(f"line {number}: expected `{command} from→to Kind#n`, not {rest!r}")
        src, dst, answer, kind, n = m.groups()
        message = Message(src, dst, kind, int(n or 1), bool(answer))
        return Line(number, command, message=message)
    if command == "do":
        return Line(number, command, (rest,))
    if command == "run":
        node, colon, calls = rest.partition(":")
        if not colon or not calls.strip():
            raise ScenarioError(f"line {number}: expected `run NODE: call, call …`")
        text = "; ".join(call.strip() for call in calls.split(","))
        return Line(number, command, (node.strip(), text))
    words = tuple(rest.split())
    if command in ("kill", "power-cut") and len(words) > 1:
        return _stop(number, command, words)
    if command == "restart" and len(words) == 2:
        if not re.fullmatch(r"(kill|power)=\d+", words[1]):
            raise ScenarioError(
                f"line {number}: expected `restart NODE` or `restart NODE kill=K`, not {rest!r}"
            )
        return Line(number, command, words)
    expected = {"kill": 1, "power-cut": 1, "restart": 1, "break": 2, "at": 1, "heal": 0}
    if command in expected and len(words) != expected[command]:
        raise ScenarioError(f"line {number}: `{command}` takes {expected[command]} word(s)")
    if command == "fire" and len(words) > 1:
        words = (words[0], " ".join(words[1:]))  # a timer's name may have several words
    if command == "fire" and not words:
        raise ScenarioError(f"line {number}: expected `fire NODE` or `fire NODE timer`")
    if command == "at" and not words[0].isdigit():
        raise ScenarioError(f"line {number}: expected `at MILLISECONDS`, not {rest!r}")
    return Line(number, command, words)


def _stop(number: int, command: str, words: tuple[str, ...]) -> Line:
    node, *options = words
    kind, n, after = "", 1, 0
    answers: tuple[str, ...] = ()
    for option in options:
        if m := _WHEN.match(option):
            kind, n = m[2] + ("Response" if m[1] else ""), int(m[3] or 1)
        elif option.startswith("after=") and option[6:].isdigit():
            after = int(option[6:])
        elif option.startswith("answers=") and option[8:]:
            answers = tuple(sorted({*filter(None, option[8:].split(","))}))
        else:
            raise ScenarioError(
                f"line {number}: expected `{command} NODE when=Kind#n after=K answers=CLIENT`, "
                f"not {option!r}"
            )
    return Line(number, command, (node,), kind=kind, n=n, after=after, answers=answers)


def system_of(line: str, registry: Registry) -> System:
    """The system of a system line; ScenarioError names what there is."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        why = f"{error}: close every quote, as in 'app=init; commit'"
        raise ScenarioError(f"the system line cannot be read ({why})") from error
    if not words or words[0] not in registry:
        known = ", ".join(sorted(registry))
        raise ScenarioError(f"no system {words[0] if words else ''!r}; there are: {known}")
    options: dict[str, str] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise ScenarioError(f"{word!r} in the system line: expected key=value")
        options[key] = value
    try:
        return registry[words[0]].from_options(options)
    except ValueError as error:
        raise ScenarioError(f"system {words[0]}: {error}") from error
