"""The committed scenarios as a gallery shows them, each with what it can be found by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mqlab_widgets.legend import SHAPES, find_kind

from ..brokers import list_brokers
from ..kernel import LANGUAGES, Text, Trace
from ..places import SCENARIOS
from ..registry import SYSTEMS, find_owner, with_evidence
from ..registry.searches import Case, searches_of
from ..scenario import Golden, load


@dataclass(frozen=True)
class Story:
    """A scenario file that was run. `broker`: the name of its room, as in `mqlab.brokers`;
    `case`: the case of that broker's searches whose shortest run it is, or None."""

    golden: Golden
    broker: str
    case: Case | None

    @property
    def name(self) -> str:
        """Where it stands below the folder of scenarios, without its ending."""
        return self.golden.path.relative_to(SCENARIOS).with_suffix("").as_posix()

    @property
    def title(self) -> Text:
        return self.golden.script.title

    @property
    def commands(self) -> str:
        """The file without its narration: what one would write."""
        return "\n".join(block.source.strip() for block in self.golden.blocks) + "\n"

    @property
    def text(self) -> Text:
        """The story in words, without its title."""
        return self.golden.script.story

    @property
    def anomaly(self) -> Text:
        """The kind of what goes wrong, without what stands in brackets; empty where all is well."""
        if self.case is None:
            return Text("")
        english, chinese = (
            re.split(r" \(|（", self.case.anomaly.of(lang))[0] for lang in LANGUAGES
        )
        return Text(english, chinese)

    @property
    def safeguards(self) -> tuple[str, ...]:
        """Those that are off."""
        words = self.golden.script.system.split()
        off = [word.removeprefix("off=") for word in words if word.startswith("off=")]
        return tuple(name for names in off for name in names.split(","))

    @cached_property
    def trace(self) -> Trace:
        return with_evidence(self.golden.run.trace, self.golden.path.stem)

    @property
    def evidence(self) -> list[tuple[int, str]]:
        """How many of its steps a real broker has shown, and how many the model alone."""
        kinds = Counter(map(find_kind, self.trace.facts))
        return [(kinds[kind], kind) for kind in SHAPES if kinds[kind]]

    @property
    def recorded(self) -> bool:
        """Whether a real broker has shown any of its steps."""
        return any(kind == "recorded" for _, kind in self.evidence)

    @property
    def words(self) -> str:
        """All that a search looks through, in small letters."""
        names = (self.name, self.golden.script.system)
        texts = (self.title, self.text, self.anomaly)
        both = (text.of(lang) for text in texts for lang in LANGUAGES)
        return " ".join((*names, *both)).lower()


def list_stories(paths: tuple[Path, ...] = ()) -> Iterator[Story]:
    """Those of the files, or all, by broker and name."""
    cases = {name: _cases(name) for name in list_brokers("searches")}
    rooms = {id(broker): name for name, broker in list_brokers().items()}
    for path in sorted(paths or SCENARIOS.rglob("*.scn")):
        golden = load(path, SYSTEMS)
        room = rooms[id(find_owner(golden.script.system.split()[0]))]
        is_case = path.parent.name == "counterexamples"
        yield Story(golden, room, cases.get(room, {}).get(path.stem) if is_case else None)


def _cases(broker: str) -> dict[str, Case]:
    """A broker's cases by the names of their files."""
    return {case.name.replace("_", "-"): case for case in searches_of(broker).cases}
