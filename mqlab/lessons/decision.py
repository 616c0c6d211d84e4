"""The decision: six questions about one's own system, and what follows from the answers.

Everything is in `decision.toml`: the questions, the rules, and of each way its settings, times,
limits and clients. The terminal, lab 12 and the site's page ask this table. Answers are one line,
as in `beside=row&reader=numbers`, which the page has in its address.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ..kernel import Text, Words, tr
from ..registry.cases.prices import ORDER
from ..registry.matrix import Excluded, Found, Proof, Told
from ..registry.prices import count_prices

#: a scenario and its title → what leads there
Link = Callable[[str, str], str]

TRIED = tr("recorded")
NOT_TRIED = tr("not tried")
SEARCHED = Words("Impossible with it (searched). Without it: {run}.")
SHOWN = Words("Without it: {run}. With it: not searched.")
TOLD = Words("Shown by an example, not searched: {run}.")
NOT_COVERED = tr("Not covered: the engine has no example of it.")
RECOMMENDED = Words("**{title}.** {says}")
HURTS = Words("What goes wrong otherwise: {run}.")
COUNTED = Words(
    "One order in the example: messages {messages}, writes {writes}, flushes {flushes}."
)
FLUSHED = Words("One order in the example: messages {messages}, writes {writes}, each flushed.")
MEASURED = Words("; measured: {seen}")
SECONDS = Words("{says}: {least} to {most} s ({source})")
AT_MOST = Words("{says}: {most} s ({source})")
ABOUT = {
    "price": tr("Cost"), "settings": tr("Settings"), "times": tr("Times, by default"),
    "limits": tr("Limits"), "versions": tr("Versions"), "processes": tr("To operate"),
    "watch": tr("To watch"), "not_for": tr("Not for"), "clients": tr("Clients"),
}  # fmt: skip
ASKED = Words("{name}: no answer “{given}”; there are {there}")
TWICE = Words("{name}: both “{first}” and “{second}” are given; write one answer")
UNASKED = Words("there is no question “{name}”; there are {there}")


@dataclass(frozen=True, slots=True)
class Question:
    """`options`: what may be answered → in words."""

    name: str
    says: Text
    options: Mapping[str, Text]


@dataclass(frozen=True, slots=True)
class Rule:
    """The first rule that fits is right. `when`: question → the answers that it is for; `way`: what
    is recommended; `run`: the story that would hurt otherwise."""

    when: Mapping[str, tuple[str, ...]]
    way: str
    says: Text
    run: Told

    def fits(self, answers: Mapping[str, str]) -> bool:
        return all(answers[name] in those for name, those in self.when.items())

    def tell(self, link: Link) -> str:
        """What is recommended, why, and what would happen otherwise."""
        title = str(list_ways()[self.way].title)
        said = RECOMMENDED(title=title[0].upper() + title[1:], says=self.says)
        return f"{said}\n\n{HURTS(run=_lead(self.run, link))}"


@dataclass(frozen=True, slots=True)
class Setting:
    """`code`: as it is written; "" for a habit. `proofs`: what shows that it is needed."""

    code: str
    says: Text
    proofs: tuple[Proof, ...]

    def tell(self, link: Link) -> str:
        """What the engine shows about it."""
        found = next((one for one in self.proofs if isinstance(one, Found)), None)
        told = next((one for one in self.proofs if isinstance(one, Told)), None)
        if found:
            name = f"{found.broker}/counterexamples/{found.case.name.replace('_', '-')}"
            searched = found.case.off or len(self.proofs) > 1 + bool(told)
            return str((SEARCHED if searched else SHOWN)(run=link(name, str(found.sentence))))
        return str(TOLD(run=_lead(told, link)) if told else NOT_COVERED)


@dataclass(frozen=True, slots=True)
class Way:
    """The facts of a way. `lists`: what `ABOUT` names, in sentences; `times`: how long what takes
    at the least and at the most in seconds, the settings that make it so, and what was measured on
    a released broker (`tests/oracle/times.py`) or ""; `clients`: language, name, what it does, and
    its recording or ""."""

    name: str
    title: Text
    lists: Mapping[str, tuple[Text, ...]]
    settings: tuple[Setting, ...]
    times: tuple[tuple[Text, int, int, str, str], ...]
    clients: tuple[tuple[str, str, Text, str], ...]

    def price(self) -> Text:
        """What one order costs, counted in its execution; as written for a way that has none."""
        if self.name not in ORDER:
            return self.lists["price"][0]
        price = list(count_prices(ORDER[self.name]).values())[-1]
        counted = FLUSHED if self.name == "pulsar" else COUNTED
        return counted(messages=price.messages, writes=price.writes, flushes=price.flushes)

    def tell(self, link: Link, language: str = "") -> Iterator[str]:
        """Yield what is known of this way to send as lines of Markdown, a section each: cost,
        settings, times, the lists of limits, versions, processes, what to watch and what it is not
        for, and clients (of `language` only, if it is given, by its code). `link`: from a
        scenario's name and title to a link in Markdown."""
        yield from _head("price", [str(self.price())])
        lines = [
            (f"`{row.code}`: " if row.code else "") + f"{row.says} *{row.tell(link)}*"
            for row in self.settings
        ]
        yield from _head("settings", lines)
        yield from _head(
            "times",
            [
                (
                    str(AT_MOST(says=says, most=most, source=f"`{source}`"))
                    if least == most
                    else str(SECONDS(says=says, least=least, most=most, source=f"`{source}`"))
                )
                + (str(MEASURED(seen=seen)) if seen else "")
                for says, least, most, source, seen in self.times
            ],
        )
        for about in ("limits", "versions", "processes", "watch", "not_for"):
            yield from _head(about, list(map(str, self.lists[about])))
        names = ask_questions()["language"].options
        clients = [
            f"{names[code]}: {name}: " + "; ".join(filter(None, (str(does), str(done))))
            for code, name, does, tried in self.clients
            if language in ("", code)
            # names one value: whether it was tried here
            for done in (TRIED if tried else NOT_TRIED,)
        ]
        yield from _head("clients", clients)


def _lead(told: Told, link: Link) -> str:
    """A counterexample's title begins with what is switched off."""
    title = str(told.sentence).rstrip(".。")
    if "/counterexamples/" in told.story:
        title = re.split(": |：", title, maxsplit=1)[-1]
    return link(told.story, title)


def _head(about: str, lines: list[str]) -> Iterator[str]:
    """A heading with its list; nothing where the list is empty."""
    if lines:
        yield f"**{ABOUT[about]}**\n"
        yield from (f"- {line}" for line in lines)
        yield ""


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def ask_questions() -> dict[str, Question]:
    """The six, by name, in their order."""
    return {
        one["name"]: Question(one["name"], tr(one["says"]), _read_options(one["options"]))
        for one in _read()["questions"]
    }


def _read_options(options: list[dict[str, str]]) -> dict[str, Text]:
    """The names of languages are the same in each."""
    return {
        x["name"]: Text(x["code"], x["code"]) if "code" in x else tr(x["says"]) for x in options
    }


@cache
def list_rules() -> tuple[Rule, ...]:
    """The first that fits is right; the last one always does."""
    return tuple(
        Rule(
            {name: tuple(those) for name, those in one["when"].items()},
            one["way"], tr(one["says"]), Told(one["run"]),
        )
        for one in _read()["rules"]
    )  # fmt: skip


@cache
def list_ways() -> dict[str, Way]:
    """What is recommended, each with its facts."""
    return {name: _read_way(name, one) for name, one in _read()["ways"].items()}


def _read_way(name: str, way: Mapping[str, Any]) -> Way:
    clients = [
        (language, client, tr(does), "".join(recording))
        for language, client, does, *recording in way.get("clients", ())
    ]
    clients += [(lang, client, Text(""), "") for lang, client in way.get("untried", {}).items()]
    return Way(
        name,
        tr(way["title"]),
        {about: tuple(map(tr, _as_list(way[about]))) for about in ABOUT if about in way
         and about not in ("settings", "times", "clients")},
        tuple(Setting(x.get("set", ""), tr(x["says"]), tuple(_read_proofs(x)))
              for x in way["settings"]),
        tuple((tr(says), least, most, source, "".join(measured))
              for least, most, says, source, *measured in way.get("times", ())),
        tuple(clients),
    )  # fmt: skip


def _as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _read_proofs(setting: Mapping[str, str]) -> Iterator[Proof]:
    broker, _, name = setting.get("proof", "").partition("/")
    if name:
        yield Found(broker, name)
        if "instead" in setting:
            yield Excluded(broker, name, setting["instead"])
    if "run" in setting:
        yield Told(setting["run"])


def read_answers(line: str) -> dict[str, str]:
    """The answers of a line such as `beside=row&reader=half`. ValueError for one that there is
    not."""
    answers: dict[str, str] = {}
    questions = ask_questions()
    for name, given in parse_qsl(line.lstrip("#"), keep_blank_values=True):
        if answers.setdefault(name, given) != given:
            raise ValueError(str(TWICE(name=name, first=answers[name], second=given)))
        if name not in questions:
            raise ValueError(str(UNASKED(name=name, there=", ".join(questions))))
        if given not in (options := questions[name].options):
            raise ValueError(str(ASKED(name=name, given=given, there=", ".join(options))))
    return answers


def decide(answers: Mapping[str, str]) -> Rule:
    """The rule for these answers. ValueError where a question has none."""
    for name, question in ask_questions().items():
        if name not in answers:
            raise ValueError(str(ASKED(name=name, given="", there=", ".join(question.options))))
    return next(rule for rule in list_rules() if rule.fits(answers))


def advise(answers: Mapping[str, str], link: Link) -> str:
    """What is recommended for these answers, why, and all that is known of it, as Markdown."""
    rule = decide(answers)
    facts = "\n".join(list_ways()[rule.way].tell(link, answers["language"]))
    return f"{rule.tell(link)}\n\n{facts}".rstrip()


def write_answers(answers: Mapping[str, str]) -> str:
    """The line of these answers, in the order of the questions."""
    return urlencode([(name, answers[name]) for name in ask_questions() if name in answers])


def lead_to_command(story: str, title: str) -> str:
    """In a terminal an example is a command."""
    return f"{title} (`mqlab view {story}`)"
