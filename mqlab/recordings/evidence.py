"""What a narrated line rests on: a recording, a document it contradicts, or the model alone.

A line is *recorded* only if the question it belongs to, with its answer, is word for word
(normalised as recordings are) in the recording of the scenario of that name. Messages say
themselves what they are, there as here; the narration is not read. A question that is sent one-way
has no answer and needs none. What brokers do among themselves is never seen from outside: it
stays *model*. *Contradicts* comes from a table of what articles about a broker say to the contrary.
Both are the broker's, and handed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..kernel import Fact, FactKind, Text, Trace, Words, tr
from ..kernel.run import put_in_words
from ..places import RECORDINGS
from .recording import Observation, load, normalise

RECORDED = Words("recorded on {broker}")


ARTICLES = Words("Many articles say: “{says}”. {broker} does what this line shows.")


@dataclass(frozen=True, slots=True)
class Contradiction:
    """`kind`, `shows` (asked of the fact's body) and `node` (a pattern) name facts of which many
    articles about the broker say what `says` holds, in their own sense, and no stronger."""

    kind: FactKind
    shows: Callable[[Any], bool]
    says: Text
    node: str = ""

    def meets(self, fact: Fact) -> bool:
        return (
            fact.kind is self.kind
            and re.search(self.node, fact.node) is not None
            and self.shows(fact.body)
        )

    def explain(self, why: Text, broker: str) -> Text:
        """The fact's own sentence, and the articles'."""
        other = ARTICLES(says=self.says, broker=broker)
        return Text(f"{why.en} {other.en}".strip(), why.zh + other.zh)


NEVER = re.compile(r"(?!)")
UNANSWERED = ""
OTHERWISE = tr("contradicts many articles")


@dataclass(frozen=True, slots=True)
class Witness:
    """What one broker's recordings can say of a trace. `broker` and `version`: "Kafka", "4.3.1";
    `contradictions`: see there. `profile_of`: the folder of profiles for a system line.
    `is_seen`: whether what this node asks is seen from outside. `role_of`: the role in a
    recording for a node that is asked. `ids`: as of an `Oracle`. `one_way`: finds questions without
    an answer. `other_versions`: profiles that were recorded on another version, with it.
    `note_answer`: a narrated answer in a recording's words, where its client notes less than a
    broker says."""

    broker: str
    version: str
    profile_of: Callable[[str], str]
    is_seen: Callable[[str], bool]
    role_of: Callable[[str], str]
    ids: re.Pattern[str]
    contradictions: tuple[Contradiction, ...] = ()
    one_way: re.Pattern[str] = NEVER
    other_versions: tuple[tuple[str, str], ...] = ()
    note_answer: Callable[[str], str] = str

    def find_version(self, profile: str) -> str:
        """The version that this profile was recorded on."""
        return dict(self.other_versions).get(profile, self.version)

    def cite_recording(self, profile: str) -> Text:
        """The evidence of a fact that a recording of this profile shows."""
        return RECORDED(broker=f"{self.broker} {self.find_version(profile)}")


def add_evidence(trace: Trace, scenario: str, witness: Witness) -> Trace:
    """The trace with the evidence of each fact; `scenario`: the name of its recording."""
    profile = witness.profile_of(trace.system)
    recorded, shown = _recorded(witness, profile, scenario), witness.cite_recording(profile)
    seen: set[int] = set()
    pairs = list(_match(trace.facts, witness.one_way))
    questions = normalise((o for o, _ in pairs), witness.ids)
    for (_, places), observation in zip(pairs, questions, strict=True):
        if witness.is_seen(observation.who) and _key(witness, observation) in recorded:
            seen.update(places)
    cited: set[Contradiction] = set()
    facts = tuple(
        _label(f, shown if i in seen else None, witness, cited) for i, f in enumerate(trace.facts)
    )
    return replace(trace, facts=facts)


def _label(fact: Fact, recorded: Text | None, witness: Witness, cited: set[Contradiction]) -> Fact:
    """The fact with its evidence: `recorded` (None where no recording shows it), that it
    contradicts many articles, or both. Of each contradiction only the first fact is marked; `cited`
    collects those marked so far. A marked fact has the one without the mark as its `plain`."""
    contradiction = next((row for row in witness.contradictions if row.meets(fact)), None)
    if contradiction in cited:
        contradiction = None
    elif contradiction is not None:
        cited.add(contradiction)
    plain = replace(fact, evidence=recorded) if recorded is not None else fact
    if contradiction is None:
        return plain
    evidence = OTHERWISE
    if recorded is not None:
        evidence = Text(f"{evidence.en}, {recorded.en}", f"{evidence.zh}，{recorded.zh}")
    why = contradiction.explain(fact.why, witness.broker)
    return replace(fact, evidence=evidence, why=why, plain=plain)


def _match(facts: Iterable[Fact], one_way: re.Pattern[str]) -> list[tuple[Observation, list[int]]]:
    """Pair each request of a narration with its answer, as an observation, which recordings of real
    brokers consist of, with the indexes of the facts that narrate the two; one without an answer is
    left out, unless its words match `one_way`, which has none. A connection answers in order; a
    late delivery of a request counts as part of it."""
    # by (who asks, who is asked), in the order in which they were sent
    unanswered: dict[tuple[str, str], list[tuple[Fact, list[int]]]] = {}
    pairs = []
    for index, fact in enumerate(facts):
        # `pushed`: an answer that travels as a message of its own
        sent = fact.kind is FactKind.SEND or fact.pushed
        if sent and one_way.search(words := _word(fact)):
            pairs.append((Observation(fact.node, fact.peer, words, UNANSWERED), [index]))
        elif fact.kind is FactKind.SEND:
            unanswered.setdefault((fact.node, fact.peer), []).append((fact, [index]))
        elif fact.kind is FactKind.LATE:
            for question, indexes in unanswered.get((fact.node, fact.peer), []):
                if question.body == fact.body:
                    indexes.append(index)
                    break
        elif fact.pushed:
            continue  # no recording has what a broker pushes
        elif fact.kind is FactKind.REPLY and unanswered.get((fact.peer, fact.node)):
            question, indexes = unanswered[fact.peer, fact.node].pop(0)
            asked, answered = _word(question), _word(fact)
            pairs.append((Observation(fact.peer, fact.node, asked, answered), [*indexes, index]))
    return pairs


def _word(fact: Fact) -> str:
    """What a message says of itself: recordings note it in the same words."""
    return put_in_words(fact.body).en


def _key(witness: Witness, observation: Observation) -> tuple[str, str, str]:
    """Whom, what and the answer."""
    unanswered = witness.one_way.search(observation.asked)
    answered = UNANSWERED if unanswered else witness.note_answer(observation.answered)
    return witness.role_of(observation.to), observation.asked, answered


@cache
def _recorded(witness: Witness, profile: str, scenario: str) -> frozenset[tuple[str, str, str]]:
    """What is in the recordings of a scenario: its own program's, and the story question by
    question. Nothing where the recordings are not installed."""
    folder = RECORDINGS / f"{witness.broker.lower()}-{witness.find_version(profile)}" / profile
    paths = [folder / f"{prefix}{scenario}.json" for prefix in ("", "scn-")]
    return frozenset(
        _key(witness, o) for path in paths if path.exists() for o in load(path).observations
    )
