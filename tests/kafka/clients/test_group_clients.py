"""A consumer in a group, and a worker that consumes and produces: what their calls give."""

import pytest

from mqlab.registry import scenario


def outcomes(trace, node):
    """(call, what it gave) of every call of a client, in order."""
    texts = [f.text.en for f in trace.facts if f.glyph == "☞" and f.node == node]
    return [tuple(text.split(": ", 1)) for text in texts]


def run(text):
    return scenario(f"# a story\n{text}")


def test_a_poll_needs_a_partition_or_a_group():
    trace = run("system kafka groups=1 readers=reader\nrun reader: poll")
    (told,) = outcomes(trace, "reader")
    assert told == ("poll read_committed", "failed subscribe first, or name a partition")


@pytest.mark.parametrize(
    ("offset", "got"), [(0, "p1, p2, p3, q"), (2, "p3, q"), (3, "q"), (4, "nothing")]
)
def test_a_position_inside_a_batch_skips_what_is_before_it(offset, got):
    trace = run(
        "system kafka partitions=1 producers=app:- readers=one\n"
        "run app: send orders-0 p1|p2|p3, send orders-0 q, flush\n"
        f"run one: seek orders-0@{offset}, poll orders-0, poll orders-0\n"
    )
    told = [outcome for call, outcome in outcomes(trace, "one")[1:]]
    assert told == [f"ok {got}", "ok nothing"]


def test_a_member_that_was_dropped_hears_it_and_comes_back_as_a_new_one():
    trace = run(
        "system kafka partitions=1 groups=1 readers=one\n"
        "run one: subscribe g orders\n"
        "fire __consumer_offsets-0 session/g/one-1\n"
        "fire one heartbeat\n"
        "run one: group-metadata, poll, group-metadata\n"
    )
    assert outcomes(trace, "one")[1:] == [
        ("group-metadata", "ok member= generation=-1"),
        ("poll read_committed", "ok nothing"),
        ("group-metadata", "ok member=one-2 generation=3"),
    ]


@pytest.mark.parametrize(
    ("isolation", "reset", "position"),
    [
        ("read_committed", "latest", "ok 1"),
        ("read_uncommitted", "latest", "ok 2"),
        ("read_committed", "earliest", "ok 0"),
    ],
)
def test_without_a_position_of_the_group_its_reset_says_where_to_read(isolation, reset, position):
    trace = run(
        "system kafka partitions=2 groups=1 producers=plain:-,app readers=one\n"
        "run plain: send orders-0 a, send orders-1 b, flush\n"
        "run app: init, begin, send orders-0 open, flush\n"
        "run one: commit-offsets g orders-1@0\n"
        f"run one: subscribe g orders auto_offset_reset={reset}, poll {isolation}\n"
        "run one: seek orders-1@9, poll read_committed, position orders-1\n"
    )
    told = outcomes(trace, "one")
    fetched = [f.text.en for f in trace.facts if f.node == "one" and "Fetch @" in f.text.en]
    read = {"earliest": "ok a, b", "latest": "ok b"}[reset]
    assert told[2][1] == read and f"Fetch @{position[3:]} {isolation}" in "\n".join(fetched)
    assert told[5] == ("position orders-1", "ok 1")  # beyond the end: with earliest b comes again


def test_a_position_is_reset_before_anything_is_read():
    trace = run(
        "system kafka partitions=1 groups=1 producers=app:- readers=one\n"
        "run app: send orders-0 a, flush\n"
        "run one: subscribe g orders auto_offset_reset=latest, position orders-0\n"
        "run app: send orders-0 b, flush\nrun one: poll\n"
    )
    assert [result for _, result in outcomes(trace, "one")[1:]] == ["ok 1", "ok b"]


def test_a_static_member_keeps_its_partitions_over_a_restart_and_does_not_leave():
    trace = run(
        "system kafka partitions=1 groups=1 readers=one\n"
        "run one: subscribe g orders group_instance_id=shop-0, group-metadata\n"
        "kill one\nrestart one\nrun one: unsubscribe\n"
    )
    metadata = [result for call, result in outcomes(trace, "one") if call == "group-metadata"]
    assert metadata == ["ok member=shop-0-1 generation=1", "ok member=shop-0-2 generation=1"]
    assert not [f for f in trace.facts if "LeaveGroup" in f.text.en]
    assert not [f for f in trace.facts if "Rebalance, generation 2" in f.text.en]


def test_who_has_the_name_of_a_static_member_takes_its_place():
    trace = run(
        "system kafka partitions=1 groups=1 readers=one,two\n"
        "run one: subscribe g orders group_instance_id=shop-0\n"
        "run two: subscribe g orders group_instance_id=shop-0\n"
        "run one: poll\nfire one heartbeat\nrun one: poll, commit-offsets g orders-0@0\n"
        "run two: commit-offsets g orders-0@0\n"
    )
    assert [result for _, result in outcomes(trace, "one")[1:]] == [
        "ok nothing", "failed FENCED_INSTANCE_ID", "failed FENCED_INSTANCE_ID",
    ]  # fmt: skip
    assert outcomes(trace, "two")[-1] == ("commit-offsets g {orders-0@0}", "ok")


def test_a_refused_commit_is_final_and_the_next_poll_joins_again():
    trace = run(
        "system kafka partitions=1 groups=1 readers=one\n"
        "run one: subscribe g orders\n"
        "fire __consumer_offsets-0 session/g/one-1\n"
        "run one: commit-offsets g orders-0@1, poll, commit-offsets g orders-0@1\n"
    )
    assert [told for _, told in outcomes(trace, "one")[1:]] == [
        "failed UNKNOWN_MEMBER_ID",
        "ok nothing",
        "ok",
    ]


@pytest.mark.parametrize("client", ["v2", "legacy"])
def test_a_worker_gives_its_group_metadata_to_its_transaction(client):
    trace = run(
        f"system kafka client={client} partitions=1 groups=1 producers=app:- workers=worker\n"
        "run app: send orders-0 a, flush\n"
        "run worker: init, subscribe g orders, poll, begin, send-offsets g orders-0@1, commit\n"
        "run worker: committed g orders-0\n"
    )
    told = dict(outcomes(trace, "worker"))
    assert told["send-offsets g {orders-0@1} member=worker-1 generation=1"] == "ok"
    assert told["committed g {orders-0}"] == "ok orders-0@1"


def test_a_killed_worker_begins_with_nothing_but_what_was_committed():
    """Its program runs again from line one; the second poll starts where the commit said."""
    trace = run(
        "system kafka partitions=1 groups=1 producers=app:- workers=worker:w\n"
        "run app: send orders-0 a, send orders-0 b, flush\n"
        "run worker: init, subscribe g orders, poll, begin, send-offsets g orders-0@1, commit\n"
        "run worker: begin, send-offsets g orders-0@2\n"
        "kill worker\n"
        "fire __consumer_offsets-0 session/g/worker-1\n"
        "restart worker\n"
        "fire worker retry\n"
        "fire worker retry\n"
    )
    polled = [told for call, told in outcomes(trace, "worker") if call.startswith("poll")]
    assert polled == ["ok a, b", "ok b"]
