"""Lab 05's exercises: right rules pass, each belief meets its own sentence and its own run;
its settings are those of the real clients."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from mqlab.explore import Budget, explore
from mqlab.kafka.log import Batch
from mqlab.kafka.log.role import Partition
from mqlab.lessons.kafka.lab05 import (
    ACCEPT,
    IN_FLIGHT,
    PRODUCE,
    TRIALS,
    answers,
    construct_producer,
    count_payments,
    first,
    list_producers,
)
from mqlab.lessons.kafka.systems.payments import KAFKA, PIECES
from mqlab.registry import scenario, system
from tests.lessons.course.test_points import list_told

Five = tuple[tuple[int, int], ...]
Seen = tuple[int, int, int]


def right(five: Five, known: int, batch: Seen) -> str:
    epoch, first, last = batch
    if epoch != known:
        fresh = epoch > known and (known == -1 or first == 0)
        return "append" if fresh else "refuse"
    if (first, last) in five:
        return "duplicate"
    following = (five[-1][1] + 1) % 2**31 if five else 0
    return "append" if first == following else "refuse"


def newest(five: Five) -> int:
    return five[-1][1] if five else -1


def but(wrong: Callable[[Five, int, Seen], str | None]) -> Callable[..., str]:
    """The right rule with one belief in its place."""
    return lambda five, known, b: wrong(five, known, b) or right(five, known, b)


#: beside those on the instructor's page
BELIEFS: dict[str, Callable[..., Any]] = {
    "nothing is ever taken": lambda five, known, b: "refuse",
    "what is answered need not be stored": lambda five, known, b: "duplicate",
    "any overlap is a duplicate": but(
        lambda five, known, b: (
            "duplicate" if b[0] == known and b[1] in {first for first, _ in five} else None
        )
    ),
    "an overlap is new": but(
        lambda five, known, b: "append" if b[0] == known and b[1] <= newest(five) < b[2] else None
    ),
    "a new epoch begins anywhere": but(lambda five, known, b: "append" if b[0] > known else None),
    "an old epoch is as good as a new one": but(
        lambda five, known, b: "append" if b[0] != known and b[1] == 0 else None
    ),
}


@pytest.mark.parametrize("name", BELIEFS)
def test_every_belief_is_told_apart_and_refuted_by_a_run(name: str) -> None:
    verdict = ACCEPT.check(BELIEFS[name])
    assert not verdict.ok
    assert verdict.misconception == name
    told = [message for trial in TRIALS for key, message in trial.says.values() if key == name]
    assert verdict.message in told
    trace = verdict.trace()
    assert trace is not None
    assert [light.name for light in trace.snapshot(-1).lights if not light.ok]


def test_the_beliefs_are_all_that_the_trials_name() -> None:
    named = {key for trial in TRIALS for key, _ in trial.says.values()}
    # A rule cannot remember, so only one with a memory could be stuck after a refusal.
    assert named - set(BELIEFS) - list_told("05 accept") == {"a refusal is for ever"}


def test_three_orders_of_a_produce_are_right_and_all_others_meet_a_run() -> None:
    taken = []
    for order in itertools.permutations(PIECES):
        verdict = PRODUCE.judge(order)
        if verdict.ok:
            taken.append(order)
            assert order in PRODUCE.right
        else:
            unreached = verdict.misconception in ("told", "arrives")
            assert (verdict.trace() is None) == unreached, order
            assert verdict.message == PRODUCE.messages[verdict.misconception]
    assert len(taken) == len(PRODUCE.right)


@pytest.mark.parametrize(
    ("order", "broken"),
    [
        ((), "arrives"),
        (("duplicate", "fence", "sequence"), "arrives"),
        (("duplicate", "fence", "sequence", "append"), "told"),
    ],
)
def test_a_wrong_order_says_what_it_breaks(order: tuple[str, ...], broken: str) -> None:
    verdict = PRODUCE.judge(order)
    assert not verdict.ok
    assert verdict.misconception == broken


def test_only_an_idempotent_producer_may_retry_and_no_producer_may_start_over() -> None:
    calls = "send payments-0 p1; send payments-0 p2; flush"
    broken = Budget(breaks=2)
    plain = explore(
        system(f"payments producers=order-service:plain 'order-service={calls}'"), broken
    )
    assert "money" in plain.counterexamples
    safe = explore(system(f"payments 'order-service={calls}'"), broken)
    assert safe.complete
    assert safe.ok, safe
    again = explore(
        system(f"payments 'order-service={calls}'"), Budget(kills=1, killable=("order-service",))
    )
    assert "money" in again.counterexamples


def test_what_is_remembered_shrinks_to_one_batch_at_a_restart_and_survives_a_reconnect() -> None:
    asked = ", ".join(f"produce payments-0 p{n} seq={n}" for n in range(5))
    line = f"system payments producers=hand:raw\nrun hand: {asked}\n"
    last = "run hand: produce payments-0 p3 seq=3, produce payments-0 p4 seq=4"
    kept = scenario(f"{line}break hand payments-0\n{last}")
    assert [row.split()[-1] for row in answers(kept).splitlines()[-2:]] == ["@3", "@4"]
    assert "0 @0, 1 @1, 2 @2, 3 @3, 4 @4" in list_producers(kept)
    gone = scenario(f"{line}kill payments-0\nrestart payments-0\n{last}")
    said = [row.split()[-1] for row in answers(gone).splitlines()[-2:]]
    assert said == ["OUT_OF_ORDER_SEQUENCE_NUMBER", "@4"]


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("produce payments-9 p1 seq=0", "no partition 'payments-9'; there are: payments-0"),
        ("produce payments-0 p1", "a batch needs a sequence number"),
        ("produce payments-0 p1 seq=2147483648", "up to 2147483647"),
        ("produce payments-0 p1 seq=0 size=3", "'size=3': expected `produce"),
    ],
)
def test_a_batch_that_cannot_be_read_says_what_to_write(line: str, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        scenario(f"system payments producers=hand:raw\nrun hand: {line}")


def test_an_unknown_piece_or_setting_says_which_there_are() -> None:
    with pytest.raises(ValueError, match=r"no piece 'guess' in order\.produce; there are: duplic"):
        system("payments order.produce=guess")
    with pytest.raises(ValueError, match="expected 1; for several take `system kafka`"):
        system("payments replicas=3")
    with pytest.raises(ValueError, match="no client 'go'; there are: java, librdkafka"):
        construct_producer("go")
    with pytest.raises(ValueError, match=r"no setting 'linger\.ms'; there are: enable"):
        construct_producer("java", linger_ms=5)


#: what kafka-clients 4.3.1 did with these settings, by `new ProducerConfig(…)`
JAVA: list[tuple[dict[str, Any], str]] = [
    ({}, "idempotent"),
    ({IN_FLIGHT: 5}, "idempotent"),
    ({IN_FLIGHT: 6}, "ConfigException"),
    ({IN_FLIGHT: 6, "acks": "1"}, "ConfigException"),
    ({IN_FLIGHT: 6, "enable.idempotence": False}, "not idempotent"),
    ({"acks": "1"}, "not idempotent"),
    ({"acks": "1", "enable.idempotence": True}, "ConfigException"),
    ({"retries": 0}, "not idempotent"),
    ({"retries": 0, "enable.idempotence": True}, "ConfigException"),
]


@pytest.mark.parametrize(("settings", "said"), JAVA, ids=lambda x: str(x))
def test_settings_of_the_java_client(settings: dict[str, Any], said: str) -> None:
    given = {name.replace(".", "_"): value for name, value in settings.items()}
    assert construct_producer("java", **given).split(":")[0] == said


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"enable.idempotence": True},
        {"enable.idempotence": True, IN_FLIGHT: 5},
        {"enable.idempotence": True, IN_FLIGHT: 6},
        {"enable.idempotence": True, "acks": "1"},
        {"enable.idempotence": True, "retries": 0},
        {IN_FLIGHT: 6},
    ],
    ids=str,
)
def test_settings_of_the_real_librdkafka(settings: dict[str, Any]) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    said = construct_producer("librdkafka", **{k.replace(".", "_"): v for k, v in settings.items()})
    try:
        kafka.Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **settings})
    except kafka.KafkaException as error:
        assert said.removeprefix("KafkaException: ") in str(error)
    else:
        assert not said.startswith("KafkaException")


def test_a_power_cut_loses_what_was_acknowledged_and_no_number_tells() -> None:
    """A leader that knows nothing of a producer takes any number (recorded:
    unknown-producer-any-sequence), so the hole is not found; the light finds it."""
    cut = scenario(
        "system payments\nrun order-service: send payments-0 p1, flush, send payments-0 p2, flush\n"
        "power-cut payments-0 when=p2 after=0\nrestart payments-0"
    )
    said = [f.text.en for f in cut if f.node == "payments-0" and f.glyph == "⇒"]
    assert said == ["ok @0", "ok @0"]
    assert count_payments(cut) == "p2  counted 1×"
    lights = {light.name: light.ok for light in cut.snapshot(-1).lights}
    assert lights == {"money": False, "in order": True, "no zombie": True}
    flushed = first(cut, "flush: ok")
    assert all(light.ok for light in cut.snapshot(flushed).lights)


def test_money_waits_while_a_leader_is_down_or_a_producer_is_at_work() -> None:
    run = scenario(
        "system payments\nkill payments-0 when=p1 after=0\n"
        "run order-service: send payments-0 p1, flush"
    )
    assert all(light.ok for light in run.snapshot(-1).lights)


def test_the_same_payment_to_two_partitions_is_counted_twice() -> None:
    both = scenario(
        "system payments partitions=2\n"
        "run order-service: send payments-0 p1, send payments-1 p1, flush"
    )
    assert count_payments(both) == "p1  counted 2×"
    assert [light.ok for light in both.snapshot(-1).lights if light.name == "money"] == [False]


def test_an_id_comes_from_a_broker_and_nobody_says_none() -> None:
    run = scenario("system payments\nrun order-service: send payments-0 p1, flush")
    assert run.facts[0].line() == "order-service → broker  InitProducerId"
    assert [lane.name for lane in run.snapshot(0).lanes] == [
        "order-service",
        "broker",
        "payments-0",
    ]
    plain = scenario("system payments producers=order-service:plain")
    assert [lane.name for lane in plain.snapshot(0).lanes] == ["order-service", "payments-0"]


@pytest.mark.parametrize(("v2", "error"), [(False, ""), (True, "OUT_OF_ORDER_SEQUENCE_NUMBER")])
def test_a_transactional_producer_of_today_begins_with_0_where_nothing_is_known(
    v2: bool, error: str
) -> None:
    """KAFKA-18202 (ProducerAppendInfo#checkSequence): what lab 05 says beside its rule."""
    batch = Batch(("a",), 1, -1, 7, 0, 6, transactional=True)
    part = Partition(KAFKA).with_guard(batch, 1, v2=v2)
    refused = part.check_data(batch, 1)
    assert (refused.name if refused else "") == error
    first_one = Batch(("a",), 1, -1, 7, 0, 0, transactional=True)
    assert not Partition(KAFKA).with_guard(first_one, 1, v2=v2).check_data(first_one, 1)
