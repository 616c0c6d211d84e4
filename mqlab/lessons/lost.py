"""The second exercise of lab 14: a rule that finds a lost commit in what a broker lets one see.

The rule is asked at every moment of the recordings of real Kafkas at which the frontiers of a
partition were looked at, about each producer whose state the coordinator had reported by then. It
must accuse the broker in two recordings (KAFKA-20734) and in no other. Three things no recording
has, so some moments are asked again, with another answer to the last commit or another state: an
open transaction of a producer that has committed one before, the loss of a commit that was never
acknowledged to the client, and the loss of an abort's marker after an earlier commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from ..kernel import Text, Words, tr
from ..places import RECORDINGS
from ..recordings.recording import Observation, Recording, load
from .check import Belief, Hinted, Rule, RuleError, ask_rule, call_rule, expect_truth, list_beliefs
from .exercises import read_hints
from .verdict import NOT_WRITTEN, Verdict

#: the recordings in which an acknowledged commit is lost
LOST_IN = ("leaderless-marker", "skip-leaderless-marker")
#: the stories that lab 14 plays: the engine's execution of the loss, and what other brokers do
RUN = "kafka/leaderless-marker"
ELSEWHERE = ("pulsar/late-write-hides-committed", "rocketmq/committed-and-parked")
Given = tuple[str, str, int, int, int]
FOUND = Words("{count} moments, and it accuses where it should")
MISSES = Words("{name}: lost({given}) misses the loss")
ACCUSES = Words("{name}: lost({given}) accuses a broker that did nothing wrong")
UNTOLD = Words("{name}: lost({given}) finds a lost commit, and no commit was acknowledged")
ABORTED = Words("{name}: lost({given}) finds a lost commit, and the missing marker is of an abort")
BECAUSE = Words("{head}. {message}")


@dataclass(frozen=True, slots=True)
class Moment:
    """`name`: of the recording, as "kafka-4.3.1/tv2/basic-commit"; `given`: what the rule is given;
    `lost`: what it must say."""

    name: str
    given: Given
    lost: bool


@dataclass
class _Seen:
    """What one has seen so far: of each producer id the answer to its last commit and its state,
    of each partition its batches."""

    ids: dict[str, str] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    logs: dict[str, dict[int, str]] = field(default_factory=dict)

    def take(self, seen: Observation) -> None:
        match seen.asked.split()[0]:
            case "InitProducerId" if "pid=" in seen.answered:
                self.ids[seen.who] = _pid_in(seen.answered)
            case "EndTxn" if " commit " in seen.asked and seen.who in self.ids:
                self.commits[self.ids[seen.who]] = seen.answered.split()[0]
            case "DescribeTransactions" if "pid=" in seen.answered:
                self.states[_pid_in(seen.answered)] = seen.answered.split()[0]
            case place if seen.who == "log" and place[1:].isdigit():
                self.logs.setdefault(seen.to, {})[int(place[1:])] = seen.answered

    def ask(self, seen: Observation) -> Iterator[Given]:
        """What a rule is asked when the frontiers of a partition are known."""
        hw, lso = (int(one.partition("=")[2]) for one in seen.answered.split())
        for pid, state in sorted(self.states.items()):
            yield self.commits.get(pid, ""), state, hw, lso, self._open_since(seen.to, pid)

    def _open_since(self, partition: str, pid: str) -> int:
        since = -1
        for offset, batch in sorted(self.logs.get(partition, {}).items()):
            if batch.startswith((f"COMMIT pid={pid}", f"ABORT pid={pid}")):
                since = -1
            elif f"transactional pid={pid} " in batch and since < 0:
                since = offset
        return since


def _pid_in(answered: str) -> str:
    return answered.partition("pid=")[2].split()[0]


def look(recording: Recording) -> list[Moment]:
    """Every moment of a recording at which the rule is asked."""
    seen, moments = _Seen(), []
    name = f"{recording.broker}/{recording.name}"
    for one in recording.observations:
        seen.take(one)
        if one.asked == "frontiers":
            lost = recording.scenario in LOST_IN
            moments += [Moment(name, given, lost) for given in seen.ask(one)]
    return moments


def turn(moment: Moment) -> Iterator[Moment]:
    """The same moment, had the client got another answer to its last commit, or aborted since."""
    commit, state, *_, open_since = moment.given
    if moment.lost:
        for other in (("", state), ("CONCURRENT_TRANSACTIONS", state), (commit, "CompleteAbort")):
            yield replace(moment, given=(*other, *moment.given[2:]), lost=False)
    elif state == "Ongoing" and open_since >= 0 and not commit:
        yield replace(moment, given=("ok", *moment.given[1:]))


@cache
def list_recorded(graded: bool = False) -> tuple[Moment, ...]:
    """Those of 4.3.1 with today's protocol; `graded`: those of every other recording too, and of
    the other loss. The loss that a learner knows comes first."""
    paths = sorted(RECORDINGS.glob("kafka-*/*/*.json"))
    wanted = [p for p in paths if graded or (_is_of_today(p.parts) and p.stem != LOST_IN[1])]
    moments = [moment for path in wanted for moment in look(load(path))]
    return tuple(sorted(moments, key=lambda one: (not one.lost, one.name)))


def list_moments(graded: bool = False) -> tuple[Moment, ...]:
    """Those that were recorded, and after them those that are asked a second time."""
    told = list_recorded(graded)
    return (*told, *(other for one in told for other in turn(one)))


def _is_of_today(parts: tuple[str, ...]) -> bool:
    return parts[-3:-1] == ("kafka-4.3.1", "tv2")


@dataclass(frozen=True)
class Lost(Hinted):
    """The exercise. `other`: the message for a wrong rule that acts on none of the beliefs."""

    beliefs: tuple[Belief, ...]
    hints: tuple[Text, ...]

    def check(self, rule: Rule, graded: bool = False) -> Verdict:
        """Judge a rule by every moment; `graded`: of the unnamed recordings too."""
        moments = list_moments(graded)
        distinct = {one.given: one for one in reversed(moments)}
        try:
            if all(call_rule(rule, given) is None for given in distinct):
                return Verdict(False, NOT_WRITTEN)
            answers = {given: ask_rule(rule, given, EXPECTS) for given in distinct}
        except RuleError as error:
            return Verdict(False, error.args[0])
        wrong = next((one for one in moments if answers[one.given] != one.lost), None)
        if wrong is None:
            return Verdict(True, FOUND(count=len(moments)))
        return self._refute(wrong, answers)

    def _refute(self, moment: Moment, answers: dict[Given, bool]) -> Verdict:
        belief = next(
            (b for b in self.beliefs if all(b.rule(*given) == it for given, it in answers.items())),
            None,
        )
        arguments = ", ".join(map(repr, moment.given))
        commit, state, *_, open_since = moment.given
        if moment.lost:
            words = MISSES
        elif open_since >= 0 and state == "CompleteAbort":
            words = ABORTED
        else:
            words = UNTOLD if commit != "ok" and state == "CompleteCommit" else ACCUSES
        head = words(name=moment.name, given=arguments)
        if belief is None:
            return Verdict(False, head)
        return Verdict(False, BECAUSE(head=head, message=belief.message), belief.name)


EXPECTS = expect_truth(tr("True or False is asked for"))
BELIEFS = list_beliefs(
    "14 lost",
    {
        "ok means that all is well": lambda commit, state, hw, lso, open_since: False,
        "what cannot be read yet is lost": lambda commit, state, hw, lso, open_since: (
            commit == "ok" and lso < hw
        ),
        "decided and open is lost": lambda commit, state, hw, lso, open_since: (
            commit == "ok" and open_since >= 0
        ),
        "an open transaction is a fault": lambda commit, state, hw, lso, open_since: (
            open_since >= 0
        ),
        "what is open after an ok is lost": lambda commit, state, hw, lso, open_since: (
            commit == "ok" and "Prepare" not in state and open_since >= 0
        ),
        "completed and open is lost, whatever the client heard": lambda _, state, *more: (
            state == "CompleteCommit" and more[-1] >= 0
        ),
        "what holds readers back is mine": lambda commit, state, hw, lso, open_since: (
            state == "CompleteCommit" and lso < hw
        ),
        "a completed commit is suspicious": lambda commit, state, hw, lso, open_since: (
            state == "CompleteCommit"
        ),
    },
)
HINTS = read_hints("14 lost")
LOST = Lost(BELIEFS, HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"lost": (LOST, "rule")}
