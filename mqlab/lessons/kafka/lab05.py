"""Lab 05, the idempotent producer: what its cells import, and its Parsons exercise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...explore import Budget
from ...kernel import System, Text, Trace, Words, tr
from ...registry import scenario, system
from ..check import expect_word
from ..exercises import read_beliefs, read_hints
from ..parsons import Parsons, Piece
from ..steps import first as first
from ..trials import Stories
from .systems.payments import answers as answers
from .systems.payments import count_payments as count_payments
from .systems.payments import list_producers as list_producers
from .systems.payments import snapshot_files as snapshot_files
from .systems.ruled import put_rule

HAND = "# Batches sent by hand\nsystem payments producers=hand:raw"
BY_HAND = "payments producers=hand:raw order.produce={} 'hand={}'"
SHOP = "payments order.produce={} 'order-service=send payments-0 p1; flush'"


def by_hand(*story: str) -> Trace:
    """`by_hand("p1 seq=0; p2 seq=1", "break hand payments-0", "p2 seq=1")`: one leader is sent
    these batches by hand; what holds no `seq=` is a line of a scenario."""
    lines = [HAND]
    for text in story:
        batches = [f"produce payments-0 {batch.strip()}" for batch in text.split(";")]
        lines.append(f"run hand: {', '.join(batches)}" if "seq=" in text else text)
    return scenario("\n".join(lines))


def _produces(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """An order service that is answered, a leader that dies once, a retry, a gap and a zombie."""

    def alone(*batches: str) -> System:
        calls = "; ".join(f"produce payments-0 {batch}" for batch in batches)
        return system(BY_HAND.format(",".join(order), calls))

    return (
        (system(SHOP.format(",".join(order))), Budget()),
        (alone("p1 seq=0"), Budget(kills=1, killable=("payments-0",))),
        (alone("p1 seq=0", "p1 seq=0"), Budget()),
        (alone("p1 seq=0", "p3 seq=2"), Budget()),
        (alone("p1 seq=0", "p2 seq=0 epoch=1", "p3 seq=0"), Budget()),
    )


PRODUCE = Parsons(
    name="produce",
    question=tr("A batch arrives at the leader. Arrange the leader's steps so that no payment is "
                "counted twice and none is lost. Not every piece is needed."),
    pieces=(
        Piece("append", tr("append the batch to the log")),
        Piece("sequence", tr("its first number is not the next one? refuse it, and stop")),
        Piece("flush", tr("flush the log to disk"),
              tr("a leader never waits for a flush: it answers when the batch is replicated. A "
                 "crash of one machine then loses nothing that another does not have"),
              "durable means flushed"),
        Piece("answer", tr("answer the producer: ok")),
        Piece("fence", tr("its epoch is older than the one remembered? refuse it, and stop")),
        Piece("ask", tr("ask the other partitions whether they have this payment"),
              tr("numbers belong to one partition, and leaders do not ask each other: the same "
                 "payment sent to two partitions is two records"),
              "partitions compare what they hold"),
        Piece("duplicate",
              tr("exactly one of the last five batches? answer ok with its old offset, and stop")),
    ),
    systems=_produces,
    messages={
        "arrives": tr("no payment ever gets into the log: nothing is appended"),
        "told": tr("the producer gets no answer, and sends its batch for ever"),
        "welcome": tr("a batch that is in the log already never has the next number: a leader that "
                      "checks the number first refuses a retry that should get ok"),
        "true ok": tr("the producer got ok before its batch was in the log: the leader dies in "
                      "between, and the payment is lost, since it is never sent again"),
        "money": tr("a batch that came twice was appended twice: a leader that appends before it "
                    "checks for a duplicate counts the payment twice"),
        "no zombie": tr("a batch of an older epoch was written after the newer one had begun"),
        "in order": tr("a batch was appended while the one before it was missing: the log has a "
                       "hole"),
    },
    right={
        ("duplicate", "fence", "sequence", "append", "answer"): tr(
            "no schedule breaks a promise, and this is Kafka's own sequence",
        ),
        ("fence", "duplicate", "sequence", "append", "answer"): tr(
            "no schedule breaks a promise. Kafka checks for a duplicate first; as it looks only "
            "at batches of the same epoch, both sequences have the same result",
        ),
        ("duplicate", "sequence", "fence", "append", "answer"): tr(
            "no schedule breaks a promise. Only the error differs: a replaced producer mostly "
            "gets OUT_OF_ORDER_SEQUENCE_NUMBER, and does not learn that it was replaced",
        ),
    },
)  # fmt: skip


def lose_an_answer(idempotent: bool) -> str:
    """As `released.lose_an_answer`; a server is loaded only when this is called."""
    from . import released

    return released.lose_an_answer(idempotent=idempotent)


# ---- The exercise of lab 05: the rule by which a leader takes, recognises or refuses a batch
#
# A learner's `accept` goes into the leader (`systems/ruled.py`). Each trial is a short
# story whose every schedule is searched; which promise breaks in which story says what the
# learner believes, so that every wrong rule meets its own sentence and its own shortest execution.

ANSWERS = ("append", "duplicate", "refuse")
Rule = Callable[..., Any]
#: ((ranges of the last five, epoch known here, (epoch, first, last)), …): rules are called
#: with these twice, so that one that raises or has a memory is found before any search.
SAMPLES = (
    ((), -1, (0, 0, 0)),
    (((0, 0),), 0, (0, 1, 3)),
    (((0, 0), (1, 3)), 0, (0, 1, 3)),
    (((4, 4),), 1, (0, 0, 0)),
)


@dataclass(frozen=True)
class Trial:
    """A story (what `hand` sends, or another system line), and, by the name of the promise
    that breaks in it, the misconception (a number of the list, or a name) with its message."""

    story: str
    says: Mapping[str, tuple[str, Text]]
    budget: Budget = field(default_factory=Budget)

    def build_case(self, rule: Rule) -> tuple[System, Budget]:
        calls = [f"produce payments-0 {words}" for words in self.story.split("; ")]
        line = f"payments producers=hand:raw 'hand={'; '.join(calls)}'"
        if self.story.startswith("payments"):
            line = self.story
        return put_rule(line, "accept", rule), self.budget


(
    NEVER, RETRY_IS_NEW, ERROR, UNTRUE, GAP, NUMBERS, LARGEST, OLDER, OVERLAP, OVERLAP_TWICE,
    EPOCHLESS, ANYWHERE, ZOMBIE, FROM_ZERO, WRAP, STUCK,
) = read_beliefs("05 accept").items()  # fmt: skip
TRIALS = (
    Trial("p1 seq=0", {"welcome": NEVER, "true ok": UNTRUE}),
    Trial("p1 seq=0; p1 seq=0", {"money": RETRY_IS_NEW, "welcome": ERROR, "true ok": UNTRUE}),
    Trial("p1 seq=0; p3 seq=2; p2 seq=1; p3 seq=2",
          {"in order": GAP, "welcome": STUCK, "true ok": UNTRUE}),
    Trial("p1 seq=0; p2|p3|p4 seq=1; p2|p3|p4 seq=1; p5 seq=4",
          {"welcome": NUMBERS, "in order": NUMBERS, "true ok": NUMBERS, "money": NUMBERS}),
    Trial("p1 seq=0; p2 seq=1; p3 seq=2; p4 seq=3; p5 seq=4; p1 seq=0",
          {"welcome": LARGEST, "money": LARGEST}),
    Trial("p1 seq=0; p2 seq=1; p3 seq=2; p4 seq=3; p5 seq=4; p6 seq=5; p1 seq=0",
          {"true ok": OLDER, "money": RETRY_IS_NEW}),
    Trial("p1 seq=0; p2 seq=1; p2|p3 seq=1", {"true ok": OVERLAP, "money": OVERLAP_TWICE}),
    Trial("p1 seq=0; p2 seq=0 epoch=1; p3 seq=1 epoch=1",
          {"true ok": EPOCHLESS, "welcome": EPOCHLESS}),
    Trial("p1 seq=0; p3 seq=1 epoch=1", {"in order": ANYWHERE, "true ok": EPOCHLESS}),
    Trial("p1 seq=0; p2 seq=1; p4 seq=3 epoch=1", {"in order": ANYWHERE}),
    Trial("p1 seq=0; p2 seq=0 epoch=1; p3 seq=0; p3 seq=1",
          {"no zombie": ZOMBIE, "true ok": ZOMBIE, "in order": ZOMBIE}),
    Trial("p7 seq=6; p8 seq=7", {"welcome": FROM_ZERO, "true ok": FROM_ZERO}),
    Trial("p1 seq=2147483647; p2 seq=0; p3 seq=1",
          {"welcome": WRAP, "true ok": WRAP, "in order": WRAP}),
    Trial("p1|p2|p3 seq=2147483646; p4 seq=1",
          {"welcome": WRAP, "true ok": WRAP, "in order": WRAP}),
    Trial("payments 'order-service=send payments-0 p1; send payments-0 p2; flush'",
          {"money": RETRY_IS_NEW, "in order": GAP, "arrives": NEVER, "told": NEVER},
          Budget(breaks=2)),
)  # fmt: skip
#: what only grading tries: the same beliefs, with other numbers
UNSEEN = (
    Trial("p1 seq=40; p2 seq=41; p1 seq=40; p4 seq=43; p3 seq=42",
          {"welcome": NUMBERS, "in order": GAP, "counted once": RETRY_IS_NEW, "true ok": UNTRUE}),
    Trial("p1|p2 seq=7 epoch=3; p3|p4|p5 seq=9 epoch=3; p3|p4|p5 seq=9 epoch=3; p6 seq=12 epoch=3",
          {"welcome": NUMBERS, "in order": NUMBERS, "counted once": NUMBERS, "true ok": NUMBERS}),
    Trial("p1 seq=0 epoch=6; p2 seq=0 epoch=9; p3 seq=1 epoch=6; p4 seq=1 epoch=9",
          {"no zombie": ZOMBIE, "true ok": ZOMBIE, "in order": ZOMBIE, "welcome": EPOCHLESS}),
)  # fmt: skip
HINTS = read_hints("05 accept")


ACCEPT = Stories(
    name="accept",
    trials=TRIALS,
    unseen=UNSEEN,
    samples=SAMPLES,
    expects=expect_word(*ANSWERS),
    hints=HINTS,
    right=Words(
        "{n} scenarios, every schedule of each: no payment is counted twice, none is lost, and "
        "nothing is refused that Kafka accepts"
    )(n=len(TRIALS)),
)


# ---- What a producer makes of its settings at construction, before any broker is asked
#
# The Java client (4.3) is modelled from ProducerConfig#postProcessAndValidateIdempotenceConfigs;
# its sentences are those of kafka-clients 4.3.1. librdkafka (2.16) has its own check and its
# own default. Settings that neither check looks at are of no interest here.

Setting = str | int | bool

IN_FLIGHT = "max.in.flight.requests.per.connection"
JAVA: dict[str, Setting] = {
    "enable.idempotence": True,
    "acks": "all",
    "retries": 2**31 - 1,
    IN_FLIGHT: 5,
}
LIBRDKAFKA: dict[str, Setting] = {
    "enable.idempotence": False,
    "acks": "all",
    "retries": 2**31 - 1,
    IN_FLIGHT: 1_000_000,
}


def construct_producer(client: str, **settings: Setting) -> str:
    """`construct_producer("java", acks="1")`: "idempotent", "not idempotent", or the exception.

    Names are written with `_` for `.`. ValueError for a client or a setting that is unknown.
    """
    if client not in ("java", "librdkafka"):
        raise ValueError(f"no client {client!r}; there are: java, librdkafka")
    given = {name.replace("_", "."): value for name, value in settings.items()}
    defaults = JAVA if client == "java" else LIBRDKAFKA
    for name in given:
        if name not in defaults:
            raise ValueError(f"no setting {name!r}; there are: {', '.join(defaults)}")
    if client == "java":
        return _java(given, {**defaults, **given})
    return _librdkafka(given, {**defaults, **given})


def _java(given: dict[str, Setting], settings: dict[str, Setting]) -> str:
    """How the Java client resolves its idempotence settings: "idempotent", "not idempotent", or the
    text of its error. `given`: by the program; `settings`: those and the defaults. What contradicts
    an idempotence that the program asked for is an error; what contradicts the default switches it
    off, but more than five in flight is always an error."""
    if not settings["enable.idempotence"]:
        return "not idempotent"
    explicit = "enable.idempotence" in given
    switched_off = False
    if settings["retries"] == 0:
        if explicit:
            return _config("Must set retries to non-zero when using the idempotent producer.")
        switched_off = True
    if settings["acks"] not in ("all", "-1"):
        if explicit:
            return _config(
                "Must set acks to all in order to use the idempotent producer. Otherwise we "
                "cannot guarantee idempotence."
            )
        switched_off = True
    if int(settings[IN_FLIGHT]) > 5:
        return _config(
            f"To use the idempotent producer, {IN_FLIGHT} must be set to at most 5. Current "
            f"value is {settings[IN_FLIGHT]}."
        )
    return "not idempotent" if switched_off else "idempotent"


def _librdkafka(given: dict[str, Setting], now: dict[str, Setting]) -> str:
    """With idempotence, what was not set is lowered to what idempotence needs."""
    if not now["enable.idempotence"]:
        return "not idempotent"
    if int(given.get(IN_FLIGHT, 5)) > 5:
        return "KafkaException: `max.in.flight` must be set <= 5 when `enable.idempotence` is true"
    if now["acks"] not in ("all", "-1"):
        return "KafkaException: `acks` must be set to `all` when `enable.idempotence` is true"
    if now["retries"] == 0:
        return "KafkaException: `retries` must be set >= 1 when `enable.idempotence` is true"
    return "idempotent"


def _config(why: str) -> str:
    return f"ConfigException: {why}"


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"accept": (ACCEPT, "rule"), "produce": (PRODUCE, "value")}
