"""The kernel's own parts: maps, disks, choices, applications, tokens, play, simulate."""

import json
import random
from pathlib import Path

import pytest

from mqlab.kafka.log import Batch
from mqlab.kernel import Append, Flush, Map, MemoryDisk, Put, Trace, Truncate, parse, replay
from mqlab.kernel.application import AppState
from mqlab.kernel.simulate import simulate
from mqlab.kernel.text import Text, Words
from mqlab.kernel.trace import diff, patch
from mqlab.lessons.registry import open_run, playing, scenario, system

FOLDER = Path(__file__).parents[2]
TORN = """
system kafka partitions=2
run app: init, begin, send orders-0 a, send orders-1 b, commit
kill tc when=WriteTxnMarkers#1 after=1
"""
LINE = "kafka 'app=init; begin; send orders-0 a; send orders-1 b; commit'"


def test_a_map_behaves_like_a_dictionary_at_every_size():
    dice = random.Random(7)
    model: dict[int, int] = {}
    mapping: Map[int, int] = Map()
    for _ in range(5_000):
        key = int(dice.random() * 400)
        if dice.random() < 0.6:
            model[key] = mapping_value = int(dice.random() * 10)
            mapping = mapping.set(key, mapping_value)
        else:
            model.pop(key, None)
            mapping = mapping.remove(key)
        assert len(mapping) == len(model)
    assert mapping.items() == sorted(model.items())
    assert mapping == Map(model.items())
    assert hash(mapping) == hash(Map(model.items()))
    assert mapping != Map({**model, -1: 0}.items())


def test_keys_with_one_hash_stay_apart_in_a_large_map():
    size = 2**61 - 1  # hash(n) == hash(n + size) for integers
    pairs = [(n + k * size, n) for n in range(40) for k in range(3)]
    mapping: Map[int, int] = Map(pairs)
    assert mapping.items() == sorted(pairs)
    assert mapping.remove(size + 3).get(3) == 3


def test_an_older_map_is_left_as_it_was():
    old = Map((n, n) for n in range(100))
    new = old.set(5, 0).remove(6)
    assert (old[5], old[6], len(old)) == (5, 6, 100)
    assert (new[5], 6 in new, len(new)) == (0, False, 99)


def test_a_kill_keeps_what_was_written_and_a_power_cut_what_was_flushed():
    disk = MemoryDisk().after(Append("log", Batch(("a",), base=0))).after(Put("t", "k", 1))
    disk = disk.after(Flush()).after(Append("log", Batch(("b",), base=1))).after(Put("t", "k", 2))
    assert disk.log("log").end == 2
    cut = disk.power_cut()
    assert (cut.log("log").end, cut.table("t")["k"]) == (1, 1)


def test_a_log_is_read_by_offset_and_cut_back():
    disk = MemoryDisk()
    for base, count in ((0, 2), (2, 1), (3, 4)):
        disk = disk.after(Append("log", Batch(("x",) * count, count, base)))
    read = [b.base for b in disk.log("log").read(1, 4)]
    assert read == [0, 2, 3]
    assert disk.after(Truncate("log", 3)).log("log").end == 3
    with pytest.raises(ValueError, match="the end is 7"):
        disk.after(Append("log", Batch(("x",), base=9)))


@pytest.mark.parametrize(
    "text",
    ["call app", "app>tc", "app<tc", "app>tc#1", "tc.", "fire tc", "fire tc timeout app",
     "break app tc", "lose app>tc", "kill tc", "power tc", "restart tc", "app>tc kill=2",
     "tc. power=1", "run app init; begin", "a>b@3"],
)  # fmt: skip
def test_a_choice_is_one_line_of_text(text):
    assert str(parse(text)) == text


def test_what_is_no_choice_is_refused_with_advice():
    with pytest.raises(ValueError, match="expected `call NODE`"):
        parse("do something")
    with pytest.raises(ValueError, match="nothing is under way from app to tc"):
        replay(system("kafka"), ["app>tc"])
    with pytest.raises(ValueError, match="not running"):
        replay(system("kafka"), ["kill tc", "kill tc"])


def test_a_function_application_is_run_again_against_its_results():
    asked = []

    def program(client):
        first = client("one")
        asked.append(first)
        if client("two") == "again":
            client("three")

    assert AppState(program).next_call() == "one"
    assert AppState(program, ("1",)).next_call() == "two"
    assert AppState(program, ("1", "again")).next_call() == "three"
    assert AppState(program, ("1", "enough")).next_call() is None
    assert AppState(program, ("1",), waiting=True).next_call() is None
    assert asked == ["1", "1", "1"]


def test_a_trace_survives_json_and_draws_without_role_code():
    trace = scenario(TORN)
    again = Trace.from_json(trace.to_json())
    assert again == trace
    assert again.narrate("zh") != again.narrate("en")
    with pytest.raises(ValueError, match=r"not a mqlab.trace/1 file"):
        Trace.from_json({"format": "other"})


def test_every_scenarios_trace_is_what_the_committed_schema_says():
    import jsonschema

    schema = json.loads((FOLDER / "mqlab/kernel/trace.schema.json").read_text("utf-8"))
    judge = jsonschema.Draft202012Validator(schema)
    for path in sorted((FOLDER / "datasets/scenarios").rglob("*.scn")):
        judge.validate(scenario(path.read_text("utf-8")).to_json())
    wrong = scenario(TORN).to_json()
    wrong["facts"][0]["glyph"] = "?"
    assert not judge.is_valid(wrong)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": [1, 2]}, {"a": [1, 3, 4]}),
        ({"a": [1, 2, 3]}, {"a": [1]}),
        ({"a": "x"}, {"a": ["x", "y"]}),
        ([], [{"k": 1}]),
        ([{"k": 1}], [{"k": 1}]),
        ({"a": 1}, {"b": 1}),
    ],
)
def test_patch_applies_what_diff_found(old, new):
    assert patch(old, diff(old, new)) == new


def test_words_are_filled_in_both_languages():
    words = Words("{n} of {what}", "{what} 的 {n}")
    assert words(n=1, what=Text("two", "二")) == Text("1 of two", "二 的 1")


def test_a_token_reopens_exactly_its_run_and_another_engine_is_refused():
    play = playing(TORN)
    play.do("restart tc")
    again = open_run(play.token)
    assert again.trace.narrate() == play.trace.narrate()
    with pytest.raises(ValueError, match="not a token"):
        open_run("nonsense")
    from mqlab.kernel import token as tokens

    made = tokens.encode(play.system, ("kill tc",))
    line, choices, _ = tokens.open_token(made)
    with pytest.raises(ValueError, match="another version of the engine"):
        tokens.check(play.system, "0" * 12)
    assert (line, choices) == (play.system.line(), ("kill tc",))


def test_a_token_of_a_run_with_a_learners_rule_is_not_opened_without_the_rule():
    from dataclasses import replace

    from mqlab.kernel import Play

    def rule(firsts, hw):
        return hw

    token = Play(replace(system(LINE), rules=(("lso", rule),))).token
    with pytest.raises(ValueError, match="or of the function in it"):
        open_run(token)


def test_play_offers_what_may_happen_and_takes_it_back():
    play = playing(TORN)
    before = play.trace.narrate()
    options = {o.choice: o for o in play.options()}
    assert options["restart tc"].kind == "restart"
    assert "kill tc" not in options, "tc is down already"
    play.do("restart tc")
    assert play.trace.narrate() != before
    play.undo()
    assert play.trace.narrate() == before
    play.reset()
    assert len(play.trace) == 0
    with pytest.raises(ValueError, match="not possible"):
        play.do("fire tc")


def test_an_option_says_how_many_effects_its_step_has():
    play = playing(TORN)
    play.do("restart tc")
    markers = {o.choice: o for o in play.options()}["tc."]
    assert (markers.kind, markers.node, markers.effects) == ("local", "tc", 2)
    play.do("tc. kill=1")
    assert "killed (1 of 2 effects done)" in play.trace.narrate()


def test_simulation_is_the_same_for_the_same_seed_only():
    def told(seed):
        return simulate(system(LINE), seed, faults=[(30, "kill tc"), (500, "restart tc")])

    assert told(1).narrate() == told(1).narrate()
    assert len({told(seed).narrate() for seed in range(6)}) > 1
    assert "CompleteCommit" in told(1).narrate()
    stamps = [fact.at_ms for fact in told(1).facts]
    assert stamps == sorted(stamps)


def test_every_simulated_run_is_a_schedule_that_replays():
    trace = simulate(system(LINE), 3)
    again = replay(system(LINE), trace.choices)
    assert [f.text for f in again.facts] == [f.text for f in trace.facts]
