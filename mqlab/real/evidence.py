"""What a narrated line rests on: a recording, a document it contradicts, or the model alone.

A line is *recorded* only if the question it belongs to, with its answer, stands word for word
(normalised as recordings are) in the recording of the scenario of that name. What brokers do
among themselves is never seen from outside: it stays *model*. *Contradicts* comes from the
table below, which holds what articles about Kafka's transactions say against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from ..kernel import Fact, Text, Trace
from .normal import normalised
from .recording import FOLDER, Observation, load

BROKER = "kafka-4.3.1"
RECORDED = Text("recorded on Kafka 4.3.1", "录自 Kafka 4.3.1")
BROKERS = re.compile(r"^tc(@|$)|-\d+(@\d+)?$")  # a coordinator or a leader: nobody sees them
SENT, LATE, ANSWERED = "→", "⇥", "⇒"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """`glyph`, `line` (a pattern) and `node` (a pattern) name facts of which many articles about
    Kafka say what `says` holds, in their own sense, and no stronger."""

    glyph: str
    line: str
    says: Text
    node: str = ""

    def meets(self, fact: Fact) -> bool:
        return (
            fact.glyph == self.glyph
            and re.search(self.line, fact.text.en) is not None
            and re.search(self.node, fact.node) is not None
        )

    def beside(self, why: Text) -> Text:
        """The fact's own sentence, and the articles'."""
        en = f"Many articles say: “{self.says.en}”. Kafka does what this line shows."
        zh = f"许多文章说：“{self.says.zh}”。Kafka 的做法如这一行所示。"
        return Text(f"{why.en} {en}".strip(), f"{why.zh}{zh}" if why.zh or not why.en else zh)


OTHERWISE = Text("contradicts many articles", "与许多文章的说法不同")
TABLE = (
    Contradiction(
        "▮",
        r"^(commit|abort) marker @",
        Text("control messages are written by the client", "控制消息由客户端写入"),
    ),
    Contradiction(
        "⇨",
        r"^HW=(\d+) LSO=(?!\1$)",
        Text("the control message advances the high watermark", "控制消息推进高水位"),
    ),
    Contradiction(
        "⇒",
        r"^ok epoch=\d+$",
        Text("the epoch marks each rebirth of a producer", "epoch 标记生产者的每一次重生"),
        r"^tc$",
    ),
    Contradiction(
        "☞",
        r"^begin: ok",
        Text("opening a transaction sends a request", "开启事务会发送请求"),
    ),
    Contradiction(
        "→",
        r"^EndTxn ",
        Text(
            "the producer writes its commit message into __transaction_state",
            "生产者把提交消息写入 __transaction_state",
        ),
    ),
    Contradiction(
        "→",
        r"^AddPartitionsToTxn \{[^}]*\}$",
        Text("the producer adds partitions before it sends", "生产者在发送之前添加分区"),
        r"-\d+$",
    ),
    Contradiction(
        "→",
        r"^Fetch @",
        Text("the coordinator pushes markers to consumers", "协调器把标记推送给消费者"),
    ),
)


def evident(trace: Trace, scenario: str) -> Trace:
    """The trace with the evidence of each fact; `scenario`: the name of its recording."""
    recorded = _recorded(f"{profile_of(trace.system)}/{scenario}")
    seen: set[int] = set()
    pairs = list(_pairs(trace.facts))
    for (_, places), observation in zip(pairs, normalised(o for o, _ in pairs), strict=True):
        if not BROKERS.search(observation.who) and _key(observation) in recorded:
            seen.update(places)
    facts = tuple(_judged(f, i in seen) for i, f in enumerate(trace.facts))
    return replace(trace, facts=facts)


def _judged(fact: Fact, recorded: bool) -> Fact:
    odd = next((row for row in TABLE if row.meets(fact)), None)
    if odd is None:
        return replace(fact, evidence=RECORDED) if recorded else fact
    words = OTHERWISE
    if recorded:
        words = Text(f"{words.en}, {RECORDED.en}", f"{words.zh}，{RECORDED.zh}")
    return replace(fact, evidence=words, why=odd.beside(fact.why))


def profile_of(system: str) -> str:
    """The folder of recordings for a system line."""
    words = system.split()
    if "transaction_version=0" in words:
        return "tv0"
    return "tv2-legacy" if "client=legacy" in words else "tv2"


def _pairs(facts: Iterable[Fact]) -> list[tuple[Observation, list[int]]]:
    """Questions with their answers, and the places of the facts that tell them. A connection
    answers in order; what arrives late has been told once when it left."""
    waiting: dict[tuple[str, str], list[tuple[str, list[int]]]] = {}
    found = []
    for place, fact in enumerate(facts):
        if fact.glyph == SENT and fact.peer:
            waiting.setdefault((fact.node, fact.peer), []).append((fact.text.en, [place]))
        elif fact.glyph == LATE:
            for text, places in waiting.get((fact.node, fact.peer), []):
                if text == fact.text.en:
                    places.append(place)
                    break
        elif fact.glyph == ANSWERED and waiting.get((fact.peer, fact.node)):
            asked, places = waiting[fact.peer, fact.node].pop(0)
            told = Observation(fact.peer, fact.node, asked, fact.text.en)
            found.append((told, [*places, place]))
    return found


def _key(observation: Observation) -> tuple[str, str, str]:
    """Whom, what and the answer; of several replicas of a role ("orders-0@1") the role."""
    to = observation.to.partition("@")[0]
    to = "gc" if to.startswith("__consumer_offsets") else to
    return to, observation.asked, observation.answered


@cache
def _recorded(name: str) -> frozenset[tuple[str, str, str]]:
    """What stands in the recordings of a scenario: its own program's, and the story told
    question by question. Nothing where the recordings are not installed."""
    profile, _, scenario = name.partition("/")
    paths = [FOLDER / BROKER / profile / f"{p}{scenario}.json" for p in ("", "scn-")]
    return frozenset(_key(o) for path in paths if path.exists() for o in load(path).observations)
