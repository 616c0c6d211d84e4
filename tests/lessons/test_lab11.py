"""Lab 11's exercises: a wrong rule hears what it did and which sum came out, listed or not."""

from __future__ import annotations

import itertools

import pytest

from mqlab.lessons.lab11 import BELIEFS, DECIDE, HALF_HOUR, HOUR, STEPS, Bench, written


def test_batches_of_any_size_write_the_same_income() -> None:
    assert sum(written(HALF_HOUR)) == sum(written(HOUR)) == 17_169_190
    assert all(tenths > 0 for tenths in written(HALF_HOUR)[1:]), "no cancellation hides a double"


@pytest.mark.parametrize(("name", "rule", "belief"), BELIEFS, ids=[name for name, *_ in BELIEFS])
def test_each_belief_hears_its_own_sum(name, rule, belief) -> None:
    verdict = DECIDE.check(rule)
    assert verdict.misconception == name
    assert str(belief) in str(verdict.message) and "instead of £17,169.19" in str(verdict.message)


def test_their_sums_differ() -> None:
    said = [str(DECIDE.check(rule).message) for _, rule, _ in BELIEFS]
    assert [text[text.index("the income is") :].split()[3] for text in said] == [
        "£21,836.51",
        "£11,302.89",
        "£10,533.62",
    ]


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda p, b: "skip", 'decide(-1, 0) gave "skip", not "write"; the income is £0.00'),
        (lambda p, b: "stop", "the job stopped, and the income is £0.00"),
        (
            lambda p, b: "stop" if b == p else "write",
            'decide(3, 3) gave "stop", not "skip"; the job stopped, and the income is £11,302.89',
        ),
        (lambda p, b: "yes", 'the answers are "write", "skip", "stop"'),
        (
            lambda p, b: "skip" if b == p else "write" if b == p + 1 or p == 4 else "stop",
            'decide(4, 6) gave "write", not "stop"',
        ),
    ],
)
def test_an_unlisted_wrong_rule_hears_what_it_did(rule, says: str) -> None:
    verdict = DECIDE.check(rule)
    assert not verdict.ok and not verdict.misconception
    assert says in str(verdict.message)


def test_a_rule_that_is_not_written_or_raises_starts_no_spark() -> None:
    def stub(progress: int, batch: int) -> str:
        raise NotImplementedError

    said: list[str] = []
    bench = Bench("127.0.0.1:1")
    bench.try_rule(stub, said.append)
    bench.try_rule(lambda progress, batch: "write" if 1 // 0 else "skip", said.append)
    assert "nothing is written yet" in said[0]
    assert "raised ZeroDivisionError" in said[1]
    bench.stop()


def test_one_order_of_the_steps_is_right_and_each_wrong_one_hears_why() -> None:
    keys = [piece.key for piece in STEPS.pieces]
    verdicts = {order: STEPS.judge(order) for order in itertools.permutations(keys)}
    right = [order for order, verdict in verdicts.items() if verdict.ok]
    assert right == [("fence", "read", "decide", "write", "commit")]
    assert {v.misconception for v in verdicts.values() if not v.ok} == set(STEPS.messages)
    assert not STEPS.check(right[0][:-1]).ok
