"""Lab 04, check-back: what its cells import."""

from __future__ import annotations

from functools import cache

from ...registry.cases.rocketmq import CLAIM_CASES, SAFEGUARD_CASES
from ...registry.searches import tabulate_cases
from ...registry.tables import in_words as in_words
from ...registry.tables import table
from ..java import ask_java, open_rocketmq
from ..java import read_recording as read_recording
from ..laid import Laid
from ..laid import compare_silence as compare_silence
from ..steps import first as first
from .asking import come_back as come_back
from .asking import describe_delayed as describe_delayed
from .asking import describe_limit as describe_limit
from .asking import describe_taken_back as describe_taken_back
from .asking import tabulate_answerers as tabulate_answerers
from .asking import tabulate_deliveries as tabulate_deliveries
from .asking import tabulate_duplicates as tabulate_duplicates
from .asking import tabulate_first_questions as tabulate_first_questions
from .asking import tabulate_registrations as tabulate_registrations
from .asking import tabulate_rollbacks as tabulate_rollbacks
from .endings import Outcomes, measure_outcomes
from .endings import look_back as look_back
from .endings import wait_for_checks as wait_for_checks
from .exercises.answering import LISTENER as LISTENER
from .exercises.story import STORY as STORY
from .systems import COMMIT as COMMIT
from .systems import ROLLBACK as ROLLBACK
from .systems import UNKNOWN as UNKNOWN

#: what each safeguard of check-back and of the consumer is for
NEEDED = (
    *("check_back", "any_producer", "put_back", "immunity", "op_topic", "check_limit"),
    *("exception_is_unknown", "consumer_retry", "idempotent_consumer"),
)


def tabulate_safeguards() -> str:
    """What breaks without each safeguard, and in how few choices; the search runs now."""
    return tabulate_cases("without", [(name, SAFEGUARD_CASES[name]) for name in NEEDED])


def tabulate_claims() -> str:
    """What even RocketMQ does not promise: the shortest execution of each; the search runs now."""
    return tabulate_cases("with everything on", CLAIM_CASES.items())


# ---- how often check-back helps ----------------------------------------------------------

LOSSES = (0, 0.1, 0.2, 0.3)
#: by its name: whether the broker asks, and how often at most
ASKING = {"never asked": (False, 15), "asked once": (True, 1), "asked up to 15 times": (True, 15)}
#: what can become of an order, and the field of `Outcomes` that has its share
ENDS = {
    "row and message": "once",
    "message twice": "twice",
    "row alone": "split",
    "neither": "neither",
}
DEATH = 0.2


@cache
def count_shares() -> dict[str, list[Outcomes]]:
    """The day's first orders, ten times each: by how often the broker asks, for each loss."""
    return {
        name: [measure_outcomes(asks, loss, DEATH, most, seeds=10) for loss in LOSSES]
        for name, (asks, most) in ASKING.items()
    }


def tabulate_shares() -> str:
    """The share of orders with a row whose message comes, and how many come twice."""
    shares = count_shares()
    rows = [
        (f"{loss:.0%}", *(one[place] for one in shares.values()))
        for place, loss in enumerate(LOSSES)
    ]
    return table(" | ".join(("messages lost", *ASKING)), rows)


def count_ends(loss: float, death: float, checks: int) -> list[list[int]]:
    """For each of `ENDS`, the orders that come to it without check-back and with it."""
    runs = [measure_outcomes(asks, loss, death, checks, seeds=10) for asks in (False, True)]
    return [[getattr(one, end) for one in runs] for end in ENDS.values()]


def die_in_java(fetch: bool = False) -> Laid:
    """A released Java client dies before its end; another of its group is asked."""
    return ask_java(open_rocketmq, "rocketmq-5.5.0/5.5/java-heir", fetch)
