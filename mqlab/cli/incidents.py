"""`mqlab incidents [WORDS]`: what has really happened to people, as scenarios; searched by what an
operator saw, by broker, release and mechanism.

An incident is a scenario whose comments name a public report (`scenario/language.py`, HEAD).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..kernel import Text, Words
from ..kernel.catalogue import translate
from ..kernel.text import LANGUAGES, Lang, tr
from ..places import RECORDINGS, SCENARIOS
from ..registry.tables import wrap
from ..scenario import Script, parse_script
from ..scenario.language import read_typed
from .errors import UserError
from .language import add_language

HELP = "search publicly reported incidents by symptom, broker or release, and step through them"

NOT_FIXED = tr("not fixed")
FIXED = Words("fix: {release}")
SEE = Words("see it:  {command}")
HELPED = Words("what would have helped:  {command}")
ASK = Words("Before you run it: {question}")
RECORDED = Words("recorded on the released broker: {where}")
SEVERAL = Words("{n} incidents; add words to narrow the search; a single one is printed in full")


@dataclass(frozen=True)
class Incident:
    """`name`: of its scenario, below datasets/scenarios. `typed`: what shows it instead."""

    name: str
    script: Script
    typed: str = ""

    def said(self, key: str) -> Text:
        """What the head says under this key."""
        english = self.script.head.get(key, "")
        return Text(english, translate(english, domain="labs"))

    @property
    def system(self) -> str:
        return self.script.system.split()[0]

    @property
    def recordings(self) -> list[str]:
        """Where a real broker was recorded to do the same, as kafka-4.3.1/tv2."""
        stem = self.script.head.get("recorded", Path(self.name).name)
        paths = (*RECORDINGS.rglob(f"{stem}.json"), *RECORDINGS.rglob(f"scn-{stem}.json"))
        return sorted(path.parent.relative_to(RECORDINGS).as_posix() for path in paths)

    @cached_property
    def words(self) -> str:
        """All that a search looks through, in small letters."""
        texts = (self.script.title, self.script.story, self.said("mechanism"))
        plain = (self.name, self.system, *self.script.head.values())
        return " ".join((*plain, *(t.of(lang) for t in texts for lang in LANGUAGES))).lower()

    @property
    def answers(self) -> tuple[Text, ...]:
        """Of its question, in alphabetical order: the right one is first in the file."""
        options = sorted(filter(None, self.script.head.get("answers", "").split(" | ")))
        return tuple(Text(one, translate(one, domain="labs")) for one in options)


def list_incidents() -> Iterator[Incident]:
    """All scenarios that tell a public report; the incidents' own folder first."""
    paths = sorted(SCENARIOS.rglob("*.scn"), key=lambda p: (p.parent.name != "incidents", p))
    for path in paths:
        text = path.read_text("utf-8")
        if "# report: " in text:
            name = path.relative_to(SCENARIOS).with_suffix("").as_posix()
            yield Incident(name, parse_script(text))
    for path in sorted(SCENARIOS.rglob("*.run")):
        if "# report: " in (text := path.read_text("utf-8")):
            name = path.relative_to(SCENARIOS).with_suffix("").as_posix()
            yield Incident(name, *read_typed(text))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "For example: mqlab incidents commit ok gone; mqlab incidents rocketmq 5.5"
    parser.add_argument(
        "words", nargs="*", help="words that the incident must contain, all of them"
    )
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    wanted = [word.lower() for word in args.words]
    found = [one for one in list_incidents() if all(word in one.words for word in wanted)]
    if not found:
        raise UserError(
            "no incident contains all of: {}; `mqlab incidents` lists all incidents",
            " ".join(args.words),
        )
    for one in found:
        print("\n".join(tell(one, args.lang, whole=len(found) == 1)), end="\n\n")
    if len(found) > 1:
        print(SEVERAL(n=len(found)).of(args.lang))
    return 0


def tell(incident: Incident, lang: Lang, whole: bool) -> Iterator[str]:
    """Yield the printed lines of an incident: its title, system, mechanism, recordings and the
    command that shows it; with `whole` also its story and the question, with its answers, that one
    answers before the scenario is seen."""
    script, head = incident.script, incident.script.head  # `head`: its comments "# key: value"
    fixed = incident.said("fixed")  # "no", or the release that fixed it
    yield script.title.of(lang)
    state = NOT_FIXED if fixed.en in ("", "no") else FIXED(release=fixed)
    about = (incident.said("versions"), state)
    yield "  " + " · ".join((incident.system, head["report"], *(one.of(lang) for one in about)))
    yield f"  {incident.said('mechanism').of(lang)}"
    if incident.recordings:
        yield "  " + RECORDED(where=", ".join(incident.recordings)).of(lang)
    if whole:
        yield from wrap(script.story.of(lang), 92, "  ", "  ")
        yield "  " + ASK(question=script.question.of(lang)).of(lang)
        yield from (f"    – {answer.of(lang)}" for answer in incident.answers)
    yield "  " + SEE(command=incident.typed or f"mqlab run {incident.name} --explain").of(lang)
    if helped := head.get("helped"):  # the name of the scenario that shows what would have helped
        path, command = Path(incident.name).parent / helped, ""
        if incident.typed:  # both are then shown by a command of their own
            _, command = read_typed((SCENARIOS / f"{path}.run").read_text("utf-8"))
        yield "  " + HELPED(command=command or f"mqlab run {path} --explain").of(lang)
