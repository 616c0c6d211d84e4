"""What a learner can build: each with its sittings, its process and its words.

One more needs a package beside `check_round`, its page in `speech.PAGES`, an entry here, and its
files in `labs/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...kafka.claims import CLAIMS as KAFKA
from ...kernel import Text, Words, run_choices
from ...pulsar.claims import CLAIMS as PULSAR
from ...rocketmq.claims import CLAIMS as ROCKETMQ
from . import explain as coordinator_explain
from . import sittings as coordinator_sittings
from .check_round import explain as round_explain
from .check_round import sittings as round_sittings
from .check_round.hosting import RoundHost
from .host import FileHost, Host
from .pending_acks import explain as acks_explain
from .pending_acks import sittings as acks_sittings
from .pending_acks.hosting import AckHost
from .trial import Trial

OF_ANOTHER = Words("`{name}` is no system of this file, which is {noun}: begin with `{broker}`")
BROKEN = Words("“{sentence}” is broken: {why}")


@dataclass(frozen=True)
class What:
    """`name`: as in a command; `broker`: whose part it is; `host`: the process of its file;
    `arrange`: a trial's system with what that process starts; `sittings`: by number; `claims`:
    those that a system line may name; `restart`: the node whose return shows where an execution
    leads; `breaks`: said of code that raises; `say_why`: what an execution shows of a claim;
    `say_missing`: why nothing good ever happens, by an execution that can go no further."""

    name: str
    broker: str
    host: type[FileHost]
    arrange: Callable[[Trial, Callable[..., Any]], Any]
    sittings: Mapping[int, tuple[Trial, ...]]
    claims: Mapping[str, object]
    restart: str
    breaks: Words
    say_why: Callable[[Any, tuple[str, ...], str], Text]
    say_missing: Callable[[Any, tuple[str, ...]], Text]

    def explain(self, system: Any, schedule: tuple[str, ...], name: str) -> Text:
        """Why the claim of this name does not hold at the end of an execution, or never comes
        true."""
        if broken := system.find_fault(run_choices(system, schedule).world):
            return self.breaks(broken=broken)
        claim = next(one for one in system.properties() if one.name == name)
        if claim.kind == "sometimes":
            return self.say_missing(system, schedule)
        return BROKEN(sentence=claim.sentence, why=self.say_why(system, schedule, name))

    def list_trials(self, sitting: int) -> tuple[Trial, ...]:
        """Those of a sitting and of all before it, each once. KeyError where there is no such
        sitting."""
        numbers = range(1, sitting + 1)
        return tuple(dict.fromkeys(trial for number in numbers for trial in self.sittings[number]))

    def list_unasked(self, sitting: int) -> tuple[str, ...]:
        """The claims that no search up to this sitting's asks."""
        first, *others = (one for one in self.list_trials(sitting) if one.timed is None)
        return tuple(name for name in first.dropped if all(name in t.dropped for t in others))

    def arrange_line(self, line: str, start: Callable[..., Any], dropped: tuple[str, ...]) -> Any:
        """A system of the user's own choice, with what the file's process starts: `line` may begin
        with the broker's name. ValueError for another's, and for what is no system line."""
        name, _, rest = line.strip().partition(" ")
        if "=" in name or not name:
            rest = line
        elif name != self.broker:
            raise ValueError(str(OF_ANOTHER(name=name, noun=self.host.noun, broker=self.broker)))
        return self.arrange(Trial("", rest, dropped=dropped), start)

    def arrange_play(self, line: str, start: Callable[..., Any]) -> Any:
        """The same, to be played. Its picture has no light for what must stay reachable: of that a
        single moment tells nothing."""
        system = self.arrange_line(line, start, ())
        lasting = (one.name for one in system.properties() if one.kind == "can_always")
        return replace(system, dropped=tuple(lasting))


COORDINATOR = What(
    "coordinator",
    "kafka",
    Host,
    coordinator_sittings.arrange,
    coordinator_sittings.SITTINGS,
    KAFKA,
    coordinator_sittings.TC,
    coordinator_explain.BREAKS,
    coordinator_explain.explain,
    coordinator_explain.explain_missing,
)
CHECK_ROUND = What(
    "check-round",
    "rocketmq",
    RoundHost,
    round_sittings.arrange,
    round_sittings.SITTINGS,
    ROCKETMQ,
    "broker",
    round_explain.BREAKS,
    round_explain.explain,
    lambda *_: round_explain.NOTHING_DONE,
)
PENDING_ACKS = What(
    "pending-acks",
    "pulsar",
    AckHost,
    acks_sittings.arrange,
    acks_sittings.SITTINGS,
    PULSAR,
    "orders-0",
    acks_explain.BREAKS,
    acks_explain.explain,
    lambda *_: acks_explain.NOTHING_DONE,
)
WHATS = {what.name: what for what in (COORDINATOR, CHECK_ROUND, PENDING_ACKS)}


def find_what(source: str) -> What:
    """What a file is, by the page that it imports from: a coordinator where that is no other's."""
    others = (what for what in WHATS.values() if what is not COORDINATOR)
    return next((one for one in others if f"from {one.host.page} import" in source), COORDINATOR)
