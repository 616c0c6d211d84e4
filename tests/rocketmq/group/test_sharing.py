"""Queues shared out, and whose turn it is to be asked."""

from __future__ import annotations

import pytest

from mqlab.rocketmq.group import Producers, allocate_queues

QUEUES = tuple(f"orders-{n}" for n in range(5))


@pytest.mark.parametrize(
    ("members", "shares"),
    [(("a",), (5,)), (("b", "a"), (3, 2)), (("a", "b", "c"), (2, 2, 1)),
     (tuple("abcdef"), (1, 1, 1, 1, 1, 0))],
)  # fmt: skip
def test_all_come_to_the_same_answer(members, shares):
    parts = [allocate_queues(me, members, QUEUES) for me in sorted(members)]
    assert tuple(map(len, parts)) == shares
    assert sum(parts, ()) == QUEUES, "each queue once, in order"


def test_who_is_not_in_the_group_reads_nothing():
    assert allocate_queues("x", ("a",), QUEUES) == ()


def test_one_counter_for_all_groups():
    producers = Producers().register("g", "a").register("g", "b").register("h", "c")
    asked = []
    for group in ("g", "h", "g", "g"):
        producers, client = producers.choose(group)
        asked.append(client)
    assert asked == ["a", "c", "a", "b"]


def test_a_client_in_two_groups_is_forgotten_in_both():
    producers = Producers().register("g", "a").register("h", "a").register("h", "b")
    assert dict(producers.forget("a", ("g", "h")).groups.items()) == {"h": ("b",)}
    assert producers.register("g", "a") == producers
