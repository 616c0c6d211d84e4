"""The words of a scenario, parsed. Knows no broker: systems come from a registry."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..kernel import System, Text, Words
from ..kernel.catalogue import translate
from ..kernel.text import BadValue, say_unknown, shorten, tr
from ..kernel.usages import QUOTED, check_signs, split

Registry = Mapping[str, type[System]]

#: what the comments of an incident say in lines of their own, as `# report: KAFKA-5202`: what kind
#: of thing was seen (lost, half, twice, waits, refused, numbers), the public report, which releases
#: it concerns and which one fixed it, how it comes about, the scenario of what would have helped, a
#: question with its answers (the first is right), the fact that shows it, and the recording of a
#: real broker where that has another name than the scenario
HEAD = re.compile(
    r"#+ *(symptom|report|versions|fixed|mechanism|helped|answers|shown|recorded): +(.+)"
)

MORE = Words("and {n} more")
DASHES = "---"  # between commands and the narration of what they cause


@dataclass(frozen=True, slots=True)
class Command:
    """`usages`: how it is written. `does`: what happens then, for the guide and a first file."""

    usages: tuple[str, ...]
    does: Text

    def __str__(self) -> str:
        return "` or `".join(self.usages)


_ANY_STOP = "NODE when=Kind#n after=K answers=CLIENT"
COMMANDS = {
    "run": Command(("run NODE: call, call …",), tr("an application calls its client")),
    "kill": Command(
        ("kill NODE", f"kill {_ANY_STOP}"),
        tr("the process dies: its memory is gone, its disk is kept"),
    ),
    "power-cut": Command(
        ("power-cut NODE", f"power-cut {_ANY_STOP}"),
        tr("the same, and what was not flushed to the disk is lost"),
    ),
    "restart": Command(
        ("restart NODE", "restart NODE kill=K"),
        tr(
            "it starts and recovers from its disk, a client makes all its calls again; K: it is "
            "killed again after K effects of that"
        ),
    ),
    "break": Command(
        ("break A B",), tr("the connection from A to B breaks; what is in flight on it is lost")
    ),
    "partition": Command(
        ("partition A,B | C",), tr("messages between the two groups wait until `heal`")
    ),
    "heal": Command(("heal",), tr("the network is whole again")),
    "fire": Command(
        ("fire NODE", "fire NODE TIMER"),
        tr("a timer runs out: time passes only where a line says so"),
    ),
    "at": Command(
        ("at MILLISECONDS", "at 15m"),
        tr("what follows happens at this time, in milliseconds or with a unit"),
    ),
    "clock": Command(
        ("clock NODE +1h", "clock NODE -200ms"),
        tr("from here on the clock of NODE is fast, or slow; units: ms, s, m, h, d"),
    ),
    "hold": Command(
        ("hold from→to Kind#n",),
        tr("it waits, and with it all that follows on its connection, until `release`"),
    ),
    "release": Command(("release from→to Kind#n",), tr("what was held or late arrives")),
    "late": Command(
        ("late from→to Kind#n",),
        tr(
            "its connection breaks, the client continues with a new one, and the old request "
            "arrives at `release`"
        ),
    ),
    "lose": Command(
        ("lose from→to Kind#n",),
        tr("its connection breaks and it is lost; the client asks again, or at `fire NODE retry`"),
    ),
    "drop": Command(
        ("drop from→to Kind#n",),
        tr("the process that gets the request throws it away; no connection breaks"),
    ),
    "do": Command(("do CHOICE",), tr("one choice of a schedule, and nothing runs after it")),
}
#: commands about a message; all but `release` wait for it from the beginning
OF_MESSAGES = ("hold", "release", "lose", "late", "drop")
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AHEAD = re.compile(r"[+-][0-9]{1,9}(ms|s|m|h|d)")
_AT = re.compile(r"[0-9]{1,15}|[0-9]{1,9}(ms|s|m|h|d)")
_MESSAGE = re.compile(r"(\S+?)\s*(?:→|->)\s*(\S+)\s+(⇒|=>)?\s*(\w+)\s*(?:#([1-9][0-9]{0,5}))?$")
#: a comment after a command; `Produce # 2` is a message
_BEHIND = re.compile(r"\s#(\s+(?![0-9])|$)")
_WHEN = re.compile(r"when=(⇒|=>)?(\w+)(?:#([1-9][0-9]{0,5}))?$")
_AGAIN = re.compile(r"(kill|power)=[0-9]{1,6}")
_AFTER = re.compile(r"after=([0-9]{1,6})$")
_ANSWERS = re.compile(r"answers=([^\s,]+(?:,[^\s,]+)*)$")


#: How the line of a scenario's question begins.
ASKS = "#?"


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
    """One command. `message` for those `OF_MESSAGES`; `kind`, `n`, `after` for a
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
        return (self.command in OF_MESSAGES and self.command != "release") or bool(self.kind)


@dataclass(frozen=True, slots=True)
class Script:
    """`comments`: the lines before the first command, without their #; the first is the
    title. `system`: the system line with its `off` lines folded in. `parts`: of which lines, by
    their numbers, that was made. `asked`: what a reader may guess before seeing it (a line `#?`);
    the title answers it. `head`: what an incident's comments say by name (`HEAD`)."""

    comments: tuple[str, ...]
    system: str
    lines: tuple[Line, ...]
    parts: tuple[tuple[int, str], ...] = ()
    asked: str = ""
    head: Mapping[str, str] = field(default_factory=dict)

    @property
    def question(self) -> Text:
        """`asked`, or the title where the file asks nothing."""
        return read_comments((self.asked,)) if self.asked else self.title

    @property
    def title(self) -> Text:
        said = read_comments(self.comments[:1])
        return Text(said.en.rstrip("."), said.zh.rstrip("。"))

    @property
    def story(self) -> Text:
        """What is shown below the title."""
        return read_comments(self.comments[1:])


class ScenarioError(BadValue):
    """A scenario that cannot be read; the message names the line and what was expected."""


def raise_all(errors: Sequence[Exception]) -> None:
    """One ScenarioError that names the first ten of these, a line each, and how many follow;
    nothing where there are none."""
    if told := [*errors[:10]]:
        more = [MORE(n=len(errors) - len(told))] if len(errors) > len(told) else []
        raise ScenarioError("\n".join(["{}"] * len([*told, *more])), *told, *more)


def parse_script(text: str) -> Script:
    """Parse a scenario: its comments, question (a comment that begins with ASKS), head (comments
    such as `# versions: 4.2`, which HEAD matches), system line, commands; the narration (from
    dashes to the next blank line) is skipped. Comments after the system line are
    skipped too. Raises one ScenarioError for all lines that cannot be read, each with its number
    and what to write instead; it stops at a command before the system line."""
    comments: list[str] = []
    question = ""
    system_parts: list[tuple[int, str]] = []
    commands: list[Line] = []
    head: dict[str, str] = {}
    in_narration = False
    errors: list[ScenarioError] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        line = raw.strip()
        # dashes begin a narration, a blank line ends it
        in_narration = bool(line) if in_narration else line == DASHES
        if in_narration:
            continue
        if line.startswith("#"):
            if line.startswith(ASKS) and not system_parts:
                question = line.removeprefix(ASKS).strip()
            elif not system_parts and (head_entry := HEAD.fullmatch(line)):
                name, text_of_name = head_entry.groups()
                if name in head:
                    twice = ScenarioError(
                        "line {}: `{}:` is there twice; write it once", number, name
                    )
                    errors.append(twice)
                head[name] = text_of_name
            elif not system_parts:
                comments.append(line.lstrip("# "))
            continue
        if not line:
            continue
        word, rest = (*line.split(maxsplit=1), "")[:2]  # rest "": the line is one word
        known = ("system", "off", *COMMANDS)
        if word != "system" and word in known and not system_parts:
            if not errors:  # else one of them may be that of a misspelt system line
                errors.append(ScenarioError("line {}: a line `system NAME …` comes first", number))
            break
        try:
            if word not in known:
                raise ScenarioError(
                    "line {}: {}", number, say_unknown("command", word, (*known, DASHES))
                )
            _check_line(number, line)
            if word in COMMANDS:
                commands.append(_line(number, word, rest.strip()))
            elif word == "off" and rest.strip() and commands:
                raise ScenarioError(
                    "line {}: `off` holds from the start: write it above the first command", number
                )
            elif word == "system" or rest.strip():  # a menu may leave `off` without a safeguard
                system_parts.append((number, _part(number, word, rest, bool(system_parts))))
        except ScenarioError as error:
            errors.append(error)
    raise_all(errors)
    if not system_parts:
        raise ScenarioError("no line `system NAME …`, for example: system kafka partitions=2")
    [(_, line), *more] = system_parts  # the system line, then `off` lines, read as "off=…"
    if more:
        line += " off=" + ",".join(text.removeprefix("off=") for _, text in more)
    return Script(tuple(comments), line, tuple(commands), tuple(system_parts), question, head)


def _check_line(number: int, line: str) -> None:
    """ScenarioError for what is read as part of a value, and meant as something else: a comment
    after the command, and signs of an input method."""
    if _BEHIND.search(re.sub(QUOTED, "", line)):
        raise ScenarioError("line {}: a comment has a line of its own, above the command", number)
    try:
        check_signs(line)
    except ValueError as error:
        raise ScenarioError("line {}: {}", number, error) from error


def read_typed(text: str) -> tuple[Script, str]:
    """An incident that runs no engine: its comments, and below them what to type, `$ mqlab …`."""
    comments, _, typed = text.partition("\n$ ")
    return parse_script(f"{comments}\nsystem spark"), typed.strip()


def _part(number: int, word: str, rest: str, later: bool) -> str:
    """What a line `system` or `off` adds to the system's line."""
    if not rest.strip():
        raise ScenarioError("line {}: expected `system NAME …`, not {!r}", number, word)
    if word == "off":
        return f"off={','.join(rest.replace(',', ' ').split())}"
    if later:
        raise ScenarioError("line {}: a scenario has one system; leave the second out", number)
    return rest.strip()


def read_comments(lines: Iterable[str]) -> Text:
    """What comments that are together say. The catalogues have the Chinese of the project's own;
    those of other authors are said as they are written."""
    english = " ".join(line.lstrip("# ") for line in lines)
    return Text(english, translate(english, domain="labs") or translate(english))


def _line(number: int, command: str, rest: str) -> Line:
    """Parse one command of a scenario, whose words after the first are `rest`. Raises ScenarioError
    with the form that is expected. `number`: that of the line in the file."""
    refused = ScenarioError(
        "line {}: expected `{}`, not {!r}", number, COMMANDS[command], shorten(rest, 60)
    )
    if command in OF_MESSAGES:
        matched = _MESSAGE.match(rest)
        if not matched:
            raise ScenarioError("{}; an arrow may be written ->", refused)
        # `src → dst ⇒ Kind #n`; answer: whether there is a ⇒; n: the n-th message of the kind
        src, dst, answer, kind, n = matched.groups()
        if command == "drop" and answer:
            raise ScenarioError(
                "line {0}: a process drops requests only, not {1!r}; an answer is lost "
                "with its connection: `lose {1}`",
                number,
                rest,
            )
        message = Message(src, dst, kind, int(n or 1), bool(answer))
        return Line(number, command, message=message)
    if command == "do":
        return Line(number, command, (rest,))
    if command == "run":
        node, _, calls = rest.partition(":")
        if not node.strip() or not calls.strip(" ,;"):
            raise refused
        try:
            text = "; ".join(call.strip() for call in split(calls, ","))
        except ValueError as error:
            raise ScenarioError("line {}: {}", number, error) from error
        return Line(number, command, (node.strip(), text))
    words = tuple(rest.split())
    if command in ("kill", "power-cut") and len(words) > 1:  # `when=`, `after=` or `answers=`
        stop = _stop(number, command, words)
        if stop is None:
            raise refused
        return stop
    if command == "fire" and len(words) > 1:
        words = tuple(rest.split(maxsplit=1))  # a timer's name may have several words
    # of `partition a, b | c`: the names on each side of a |
    groups = [group.replace(",", " ").split() for group in rest.split("|")]
    names = [name for group in groups for name in group]
    # whether the words are what the command takes; one that is not listed takes one word
    is_valid = {
        "restart": len(words) == 1 or (len(words) == 2 and _AGAIN.fullmatch(words[1])),
        "partition": len(groups) > 1 and all(groups) and len(names) == len(set(names)),
        "break": len(words) == 2,
        "heal": not words,
        "fire": words,
        "at": _AT.fullmatch(rest),
        "clock": len(words) == 2 and _AHEAD.fullmatch(words[1]),
    }
    if not is_valid.get(command, len(words) == 1):
        raise refused
    return Line(number, command, words)


def read_ms(word: str) -> int:
    """`+1h`, `-200ms` or `1500` in milliseconds."""
    many = word.rstrip("msdh")
    return int(many) * _UNITS[word.removeprefix(many) or "ms"]


def _stop(number: int, command: str, words: tuple[str, ...]) -> Line | None:
    """A stop with options; None where they are not `when=`, perhaps with `after=`, or `answers=`,
    each at most once."""
    node, *options = words
    when = [m for option in options if (m := _WHEN.match(option))]
    after = [m for option in options if (m := _AFTER.match(option))]
    answers = [m for option in options if (m := _ANSWERS.match(option))]
    each = (len(when), len(after), len(answers))
    if sum(each) < len(options) or max(each) > 1 or (after and not when):
        return None
    kind = when[0][2] + ("Response" if when[0][1] else "") if when else ""
    n = int(when[0][3] or 1) if when else 1
    done = int(after[0][1]) if after else 0
    clients = tuple(sorted(set(answers[0][1].split(",")))) if answers else ()
    return Line(number, command, (node,), kind=kind, n=n, after=done, answers=clients)


def make_system(script: Script, registry: Registry) -> System:
    """The system of a script; ScenarioError names the line that is wrong."""
    try:
        return system_of(script.system, registry)
    except ScenarioError as error:
        found, line = script.parts[0][0], ""
        for number, part in script.parts:  # the first without which it can be made is to blame
            line = f"{line} {part}"
            try:
                system_of(line, registry)
            except ScenarioError:
                found = number
                break
        raise ScenarioError("line {}: {}", found, error) from error


def system_of(line: str, registry: Registry) -> System:
    """Make the system that a system line describes. Raises ScenarioError, with what to write
    instead, where the line cannot be read. `off=` may be there several times; any other option
    once. `registry`: the classes of systems by name."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ScenarioError(
            "the system line cannot be read: close every quote, as in 'app=init; commit'"
        ) from error
    name = words[0] if words else ""
    if name not in registry:
        raise ScenarioError(say_unknown("system", name, sorted(registry)))
    options: dict[str, str] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise ScenarioError(
                "{!r} in the system line: expected key=value without blanks, and quotes around a "
                "client's calls, as in 'app=init; commit'",
                shorten(word, 60),
            )
        if key in options and key != "off":
            raise ScenarioError("{}= appears twice in the system line; write it once", key)
        options[key] = ",".join(filter(None, (options.get(key), value)))
    try:
        return registry[words[0]].from_options(options)
    except ValueError as error:
        raise ScenarioError("system {}: {}", words[0], error) from error
