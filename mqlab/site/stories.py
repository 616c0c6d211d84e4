"""The committed scenarios as a gallery shows them, each with what it can be found by."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mqlab_widgets import Player
from mqlab_widgets.lecture import Lecture
from mqlab_widgets.legend import find_kind

from ..brokers import list_brokers
from ..kernel import LANGUAGES, Text, Trace, pick, spoken, translate
from ..kernel.snapshot import Lane
from ..places import LABS, SCENARIOS
from ..registry import SYSTEMS, find_owner, scenario, with_evidence
from ..registry.cases.prices import ORDER
from ..registry.searches import Case, searches_of
from ..scenario import Golden, load


@dataclass(frozen=True)
class Story:
    """A scenario file that was run. `broker`: the name of its module, as in `mqlab.brokers`;
    `case`: the case of that broker's searches whose shortest execution it is, or None."""

    golden: Golden
    broker: str
    case: Case | None

    @property
    def name(self) -> str:
        """Where it is below the folder of scenarios, without its ending."""
        return self.golden.path.relative_to(SCENARIOS).with_suffix("").as_posix()

    @property
    def title(self) -> Text:
        return self.golden.script.title

    @property
    def question(self) -> Text:
        """What its page asks, and its title answers."""
        return self.golden.script.question

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
        """The kind of what goes wrong, without what is in brackets; empty where all is well."""
        if self.case is None:
            return Text("")
        english, chinese = (
            re.split(r" \(|（", self.case.anomaly.of(lang))[0] for lang in LANGUAGES
        )
        return Text(english, chinese)

    @property
    def anomalies(self) -> tuple[Text, ...]:
        """The same one by one."""
        if not self.anomaly.en:
            return ()
        chinese = re.split("[，、]", self.anomaly.of("zh"))
        return tuple(map(Text, self.anomaly.en.split(", "), chinese))

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
    def recorded(self) -> int:
        """How many of its steps a real broker has shown."""
        return sum(find_kind(fact) == "recorded" for fact in self.trace.facts)

    @property
    def outsiders(self) -> list[Lane]:
        """Who is there besides the parts of a broker."""
        lanes = self.trace.snapshots[-1].lanes
        return [lane for lane in lanes if not lane.part.en]

    @property
    def words(self) -> str:
        """All that a search looks through, in small letters."""
        names = (self.name, self.golden.script.system, *self.golden.script.head.values())
        texts = (self.question, self.title, self.text, self.anomaly)
        both = (text.of(lang) for text in texts for lang in LANGUAGES)
        return " ".join((*names, *both)).lower()


def list_stories(paths: tuple[Path, ...] = ()) -> Iterator[Story]:
    """Those of the files, or all, by broker and name."""
    cases = {name: _cases(name) for name in list_brokers("searches")}
    names = {id(broker): name for name, broker in list_brokers().items()}
    for path in sorted(paths or SCENARIOS.rglob("*.scn")):
        golden = load(path, SYSTEMS)
        name = names[id(find_owner(golden.script.system.split()[0]))]
        is_case = path.parent.name == "counterexamples"
        yield Story(golden, name, cases.get(name, {}).get(path.stem) if is_case else None)


def _cases(broker: str) -> dict[str, Case]:
    """A broker's cases by the names of their files."""
    return {case.name.replace("_", "-"): case for case in searches_of(broker).cases}


# ---- One slot of a lecture: scenes that fill the screen, a vote in each, notes and a handout
#
# Its source is a list of scenes. A scene is an execution of the engine, shown twice: as a story,
# with the sentences of its steps, and as the protocol, cut where a fact looks like a sign; each
# piece ends with a caption written by hand. The pages lead from one to the next with Page Down.

SAID = ("title", "before", "ask", "options", "idea", "notes", "caption")  # in the spoken language
MOST_WORDS = 6
"""Of a caption in English: it is read while the picture moves."""
SOURCE = LABS / "lecture" / "lecture.toml"
INDEX = "index.html"
PAGES = ("vote", "story", "answer", "protocol")
"""Of a scene, in their order."""
BLANK = "<span class='blank'></span>"
Write = Callable[[str, str, Mapping[str, Any] | str], None]
"""Writes a page: its name, its template, and what that shows, or the page itself."""


@dataclass(frozen=True, slots=True)
class Scene:
    """`short`: its minutes in the short plan, 0 where it is left out; `ask`, `options`, `answer`
    (from 1): the vote; `idea`: a sentence, whose words in brackets the handout leaves blank;
    `cuts`: where each piece of the trace ends, and its caption."""

    title: Text
    minutes: int
    short: int
    notes: str
    ask: str
    options: tuple[str, ...]
    answer: int
    idea: str
    trace: Trace
    cuts: tuple[tuple[int, Text], ...]

    @property
    def told(self) -> tuple[tuple[int, Text], ...]:
        """The same of the story: its sentences."""
        return tuple((fact.index, fact.story) for fact in self.trace if fact.story.en)


def read_scenes(source: Path = SOURCE) -> tuple[Mapping[str, Any], tuple[Scene, ...]]:
    """What the source says of the whole, and its scenes, each of them run. ValueError for a caption
    that is too long, and for a sign that no fact of the trace looks like."""
    lecture = tomllib.loads(source.read_text("utf-8"))
    return pick(lecture, SAID, domain="labs"), tuple(map(_read, lecture["scenes"]))


def list_pages(scenes: Sequence[Scene]) -> list[tuple[str, Scene, str]]:
    """The pages of the screen in their order: name, scene, which of `PAGES`."""
    return [(f"{n}-{kind}.html", one, kind) for n, one in enumerate(scenes, 1) for kind in PAGES]


def write_lecture(write: Write) -> int:
    """Write the pages of a lecture with `write` (name, template, what it shows): each scene's, in
    the order of the lecture, each leading to the next; the speaker's page; the handout with answers
    and without. Returns how many."""
    lecture, scenes = read_scenes()
    pages = list_pages(scenes)
    names = [name for name, _, _ in pages]
    # The last page leads back to the speaker's.
    for (name, scene, kind), following in zip(pages, [*names[1:], INDEX], strict=True):
        if kind in ("vote", "answer"):
            shown = {"scene": scene, "following": following, "answers": kind == "answer"}
            write(f"lecture/{name}", "vote.html", {**shown, "fill": fill})
        else:
            facts = tuple(fact.plain or fact for fact in scene.trace)  # no word of articles
            trace = replace(scene.trace, title=scene.title, facts=facts)
            cuts = scene.told if kind == "story" else scene.cuts
            # `after`: a caption appears when its scene has been played.
            player_page = Lecture(scene.title, cuts, _lead_to(following), after=True)
            write(f"lecture/{name}", "", player_page.page(Player(trace, step=0, level=kind)))
    shown = {"lecture": lecture, "scenes": scenes, "pages": pages, "fill": fill,
             "markdown": MarkdownIt().render}  # fmt: skip
    write(f"lecture/{INDEX}", "lecture.html", shown)
    for name, answers in ("handout", False), ("handout-answers", True):
        write(f"lecture/{name}.html", "handout.html", {**shown, "answers": answers})
    return len(pages) + 3  # the speaker's page and two handouts


def fill(idea: str, answers: bool = True) -> str:
    """A sentence as HTML, with its bracketed words marked, or with blanks for them."""
    return re.sub(r"\[(.*?)\]", r"<b>\1</b>" if answers else BLANK, escape(idea))


def _lead_to(name: str) -> Text:
    """The address of a page beside those of the language that is spoken, in each language."""
    if spoken() == "en":
        return Text(name, f"../zh/lecture/{name}")
    return Text(f"../../lecture/{name}", name)


def _read(both: Mapping[str, Any]) -> Scene:
    scene = pick(both, SAID, domain="labs")
    trace = _run(scene)
    return Scene(
        _read_text(both, "title"), scene["minutes"], scene["short"], scene["notes"], scene["ask"],
        tuple(scene["options"]), scene["answer"], scene["idea"], trace,
        tuple(_cut(trace, both["captions"])),
    )  # fmt: skip


def _read_text(both: Mapping[str, str], key: str) -> Text:
    """What the source says under this key, in both languages."""
    return Text(both[key], translate(both[key], "", "labs"))


def _run(scene: Mapping[str, Any]) -> Trace:
    if "run" in scene:
        return scenario(scene["run"])
    if "story" in scene:
        return scenario((SCENARIOS / f"{scene['story']}.scn").read_text("utf-8"))
    way = ORDER[scene["way"]]
    if "kill" not in scene:
        return scenario(way.text)
    return way.play_kill(scene["stage"], scene["kill"], scene.get("line", ""))


def _cut(trace: Trace, captions: Sequence[Mapping[str, str]]) -> Iterator[tuple[int, Text]]:
    """Each caption with the position up to which it is shown."""
    start = 0
    for one in captions:
        caption, sign = _read_text(one, "caption"), one.get("until", "")
        if len(caption.en.split()) > MOST_WORDS:
            raise ValueError(f"“{caption}” has more than {MOST_WORDS} words")
        lines = enumerate((fact.line("en") for fact in trace.facts[start:]), start + 1)
        end = next((at for at, line in lines if line.startswith(sign)), 0) if sign else len(trace)
        if not end:
            raise ValueError(f"“{caption}”: no fact after position {start} looks like “{sign}”")
        while end > start + 1 and trace.facts[end - 1].fold:
            end -= 1  # what is folded away is no place to stop at
        yield end, caption
        start = end
