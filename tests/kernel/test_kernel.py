"""The kernel's own parts: maps, disks, choices, applications, tokens, play, simulate."""

from __future__ import annotations

import base64
import json
import random
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mqlab import kernel
from mqlab.kernel import (
    FAILED,
    UNKNOWN,
    Append,
    Choice,
    Fact,
    FactKind,
    Flush,
    Map,
    MemoryDisk,
    Money,
    Outcome,
    Play,
    Put,
    Run,
    Trace,
    Truncate,
    build_failure,
    build_success,
    escape_unseen,
    parse,
    replay,
    simulate,
)
from mqlab.kernel import play as tokens
from mqlab.kernel.moves import list_choices
from mqlab.kernel.play import decode
from mqlab.kernel.role import AppState
from mqlab.kernel.simulate import Timing, simulate_world
from mqlab.kernel.text import NOTHING, Text, Words
from mqlab.kernel.trace import diff, patch
from tests.kernel.toy import TORN, Toy, Value, kept, make_toy

HALF = "killed: KeepResponse had left, Copy had not left"
ONE, TWO = make_toy("keep a"), make_toy("keep a", "keep b")


@dataclass(frozen=True, slots=True)
class Several:
    """An entry of several offsets."""

    base: int
    count: int = 1

    @property
    def last(self):
        return self.base + self.count - 1


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


@pytest.mark.parametrize("size", [0, 20, 23, 24, 100])
def test_many_keys_at_once_are_what_one_after_the_other_is(size):
    old: Map[int, int] = Map((n, n) for n in range(size))
    new = old.update((n, -n) for n in range(5, 9))
    assert new == Map({**dict(old.items()), **{n: -n for n in range(5, 9)}}.items())
    assert old == Map((n, n) for n in range(size))


def test_an_older_map_is_left_as_it_was():
    old = Map((n, n) for n in range(100))
    new = old.set(5, 0).remove(6)
    assert (old[5], old[6], len(old)) == (5, 6, 100)
    assert (new[5], 6 in new, len(new)) == (0, False, 99)


def test_a_kill_keeps_what_was_written_and_a_power_cut_what_was_flushed():
    disk = MemoryDisk().apply(Append("log", Several(0))).apply(Put("t", "k", 1))
    disk = disk.apply(Flush()).apply(Append("log", Several(1))).apply(Put("t", "k", 2))
    assert disk.log("log").end == 2
    cut = disk.power_cut()
    assert (cut.log("log").end, cut.table("t")["k"]) == (1, 1)


def test_a_log_is_read_by_offset_and_cut_back():
    disk = MemoryDisk()
    for base, count in ((0, 2), (2, 1), (3, 4)):
        disk = disk.apply(Append("log", Several(base, count)))
    read = [b.base for b in disk.log("log").read(1, 4)]
    assert read == [0, 2, 3]
    assert disk.apply(Truncate("log", 3)).log("log").end == 3
    with pytest.raises(ValueError, match="the end is 7"):
        disk.apply(Append("log", Several(9)))


@pytest.mark.parametrize(
    "text",
    ["call app", "app>tc", "app<tc", "app>tc#1", "tc.", "fire tc", "fire tc timeout app",
     "break app tc", "lose app>tc", "kill tc", "power tc", "restart tc", "app>tc kill=2",
     "tc. power=1", "run app init; begin", "a>b+3", "a>b#2+1", "kill tc answers=app",
     "app>tc kill=2 answers=app,pay", "run app send orders-0 kill=1; send orders-0 answers=app",
     "orders-0@1>orders-0@2"],
)  # fmt: skip
def test_a_choice_is_one_line_of_text(text):
    assert str(parse(text)) == text


def test_a_replica_is_no_place_in_a_queue():
    assert parse("app>orders-0@1") == Choice("request", "app", "orders-0@1")
    assert parse("app>orders-0@1+2") == Choice("request", "app", "orders-0@1", index=2)


def test_what_is_no_choice_is_refused_with_advice():
    with pytest.raises(ValueError, match="expected `call NODE`"):
        parse("do something")
    with pytest.raises(ValueError, match="answers= belongs to a stop"):
        parse("app>store answers=app")
    with pytest.raises(ValueError, match="nothing is in flight from app to store"):
        replay(ONE, ["app>store"])
    with pytest.raises(ValueError, match="not running"):
        replay(ONE, ["kill store", "kill store"])


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
    trace = replay(TWO, TORN)
    again = Trace.from_json(trace.to_json())
    assert again == trace
    assert again.narrate("zh") != again.narrate("en")
    with pytest.raises(ValueError, match=r"not a mqlab.trace/1 file"):
        Trace.from_json({"format": "other"})


def test_a_trace_is_what_the_committed_schema_says():
    import jsonschema

    schema = json.loads(Path(kernel.__file__).with_name("trace.schema.json").read_text("utf-8"))
    judge = jsonschema.Draft202012Validator(schema)
    trace = replay(TWO, (*TORN, "restart store")).to_json()
    judge.validate(trace)
    trace["facts"][0]["glyph"] = "?"
    assert not judge.is_valid(trace)


def test_money_travels_with_a_trace_and_old_traces_have_none():
    import jsonschema

    schema = json.loads(Path(kernel.__file__).with_name("trace.schema.json").read_text("utf-8"))
    judge = jsonschema.Draft202012Validator(schema)
    plain = replay(TWO, TORN)
    sums = [
        Money(500, 100 * (i > 3), Text("due", "应收"), Text("seen"))
        for i in range(len(plain.snapshots))
    ]
    shots = tuple(replace(s, money=sums[i] if i else None) for i, s in enumerate(plain.snapshots))
    data = replace(plain, snapshots=shots).to_json()
    judge.validate(data)
    assert Trace.from_json(data).snapshots == shots
    assert data["start"]["money"] is None and "=" in data["changes"][0]["money"]
    assert data["changes"][3]["money"] == {"seen": {"=": 100}}
    assert "money" not in data["changes"][4]
    old = plain.to_json()
    del old["start"]["money"]
    judge.validate(old)
    assert Trace.from_json(old) == plain
    data["changes"][3]["money"] = {"seen": {"=": "100"}}
    with pytest.raises(ValueError, match="whole number"):
        Trace.from_json(data)


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


def older(token, *end, choices=None):
    """The same token as another engine would have made it; `end`: what it says of the end."""
    found = tokens.decode(token)
    plain = [found.line, list(choices or found.choices), "0" * 12, *end]
    packed = zlib.compress(json.dumps(plain).encode())
    return base64.urlsafe_b64encode(packed).decode()


def test_a_token_reopens_exactly_its_run():
    play = Play(TWO, TORN)
    play.do("restart store")
    assert tokens.decode(play.token).line == "toy 'app=keep a; keep b'"
    again = Play(Toy.from_options({"app": "keep a; keep b"}))
    assert again.open_token(play.token) == NOTHING
    assert again.trace == play.trace
    assert again.token == play.token
    again.undo()
    assert len(again.trace) < len(play.trace), "it goes on from there"


def test_a_token_of_another_engine_is_replayed_and_says_what_changed():
    play = Play(TWO, TORN)
    held = tokens.decode(play.token)
    cases = [
        (
            (held.facts, held.narration),
            "All its 3 choices are possible here; the narration is what it",
        ),
        ((held.facts + 1, "00000000"), "is another: 6 facts then, 5 here"),
        ((), "so old a token does not say"),
    ]
    for end, says in cases:
        again = Play(TWO)
        assert says in again.open_token(older(play.token, *end)).en
        assert again.trace == play.trace


def test_a_token_that_cannot_be_replayed_says_where_and_changes_nothing():
    play = Play(TWO, TORN)
    before = play.trace
    with pytest.raises(ValueError, match="choice 2 of 2 is not possible here: `fire app`"):
        play.open_token(older(play.token, choices=["call app", "fire app"]))
    with pytest.raises(ValueError, match="another system, toy 'app=keep a': open it with"):
        play.open_token(Play(ONE).token)
    assert play.trace == before


def test_a_token_of_a_run_with_a_learners_function_says_that_it_does_not_hold_it():
    def program(client):
        client("keep a")

    made = tokens.decode(Play(Toy(programs=(("app", program),))).token)
    assert "with a function that it does not hold" in made.note(ONE, Play(ONE).trace).en
    assert "不包含的函数" in made.note(ONE, Play(ONE).trace).zh


def test_play_offers_what_may_happen_and_takes_it_back():
    play = Play(ONE, TORN)
    before = play.trace.narrate()
    options = {o.choice: o for o in play.options()}
    assert options["restart store"].kind == "restart"
    assert "kill store" not in options, "it is down already"
    play.do("restart store")
    assert play.trace.narrate() != before
    play.undo()
    assert play.trace.narrate() == before
    play.do("restart store")
    play.reset()
    assert play.trace.narrate() == before, "it begins again where it began"
    play.undo()
    assert play.trace.narrate() == before, "what it was given stays"
    with pytest.raises(ValueError, match="not possible"):
        play.do("fire app")


def test_an_option_says_how_many_effects_its_step_has():
    play = Play(ONE, TORN[:-1])
    safe = {o.choice: o for o in play.options()}["store."]
    assert (safe.kind, safe.node, safe.effects) == ("local", "store", 2)
    play.do("store. kill=1")
    assert HALF in play.trace.narrate()


def test_an_answer_leaves_only_when_its_append_is_safe():
    trace = replay(ONE, TORN[:2])
    assert [fact.line() for fact in trace] == ["app → store  keep a", "store ▮ disk  value a @0"]
    assert "store ⇒ app  kept @0" in [fact.line() for fact in replay(ONE, TORN)]


def test_a_stop_inside_a_step_keeps_the_effects_before_it_and_no_other():
    def facts(stop):
        return [fact.line() for fact in replay(ONE, (*TORN[:-1], f"store. kill={stop}"))][3:]

    assert facts(0) == ["store ✗   killed: KeepResponse had not left, Copy had not left"]
    assert facts(1) == ["store ⇒ app  kept @0", f"store ✗   {HALF}"]
    assert facts(2)[1] == "store → mirror  copy a"


def simulated(seed, line=TWO):
    return simulate(line, seed, faults=[(5, "kill store"), (500, "restart store")])


def test_simulation_is_the_same_for_the_same_seed_only():
    assert simulated(1).narrate() == simulated(1).narrate()
    assert len({simulated(seed).narrate() for seed in range(6)}) > 1
    assert "keep b: ok @1" in simulated(1).narrate()
    stamps = [fact.at_ms for fact in simulated(1).facts]
    assert stamps == sorted(stamps)


def test_a_timer_runs_out_in_its_own_time():
    def asked_again(retry_ms):
        (fact,) = (f for f in simulated(1, make_toy("keep a", retry_ms=retry_ms)) if f.glyph == "⏲")
        return fact.at_ms

    assert asked_again(300) - asked_again(100) == 200


def test_every_simulated_run_is_a_schedule_that_replays():
    trace = simulated(3)
    again = replay(TWO, trace.choices)
    assert [f.text for f in again.facts] == [f.text for f in trace.facts]


# ---- A node that is started may be stopped again after any effect of its recovery; a schedule and
#
# a play mean the same by it.

RECOVERY_TWO = make_toy("keep a", "keep b")
ONE_KEPT = ("call app", "app>store", "store.", "app<store")
STOPPED = (*ONE_KEPT, *ONE_KEPT, "kill store")  # it will send both copies again


def lines(trace):
    return [fact.line() for fact in trace]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("kill=0", "killed: 0 of 2 messages Copy had left"),
        ("kill=1", "killed: 1 of 2 messages Copy had left"),
        ("power=1", "power cut: 1 of 2 messages Copy had left"),
        ("kill=2", "killed: 2 of 2 messages Copy had left"),
    ],
)
def test_a_schedule_and_a_play_are_the_same_run(how, words):
    choices = (*STOPPED, f"restart store {how}")
    trace = replay(RECOVERY_TWO, choices)
    play = Play(RECOVERY_TWO, STOPPED)
    assert {option.choice: option.effects for option in play.options()}["restart store"] == 2
    play.do(choices[-1])
    assert lines(play.trace) == lines(trace)
    copies = ["store → mirror  copy a", "store → mirror  copy b"][: int(how[-1])]
    assert lines(trace)[len(replay(RECOVERY_TWO, STOPPED)) :] == [
        "store ↻   safe up to 2",
        *copies,
        f"store ✗   {words}",
    ]


def test_what_left_before_the_stop_is_under_way_and_the_next_start_recovers_all():
    play = Play(RECOVERY_TWO, (*STOPPED, "restart store kill=1"))
    assert "store>mirror#1" in {option.choice for option in play.options()}
    assert "store>mirror#2" not in {option.choice for option in play.options()}
    play.do("restart store")
    assert lines(play.trace)[-2:] == ["store → mirror  copy a", "store → mirror  copy b"]


@pytest.mark.parametrize(("how", "safe"), [("kill", 2), ("power", 0)])
def test_a_log_that_was_not_flushed_survives_the_process_and_not_the_power(how, safe):
    trace = replay(RECOVERY_TWO, (*STOPPED[:-1], f"{how} store", "restart store"))
    assert f"store ↻   safe up to {safe}" in lines(trace)


@pytest.mark.parametrize(
    ("last", "copies"),
    [
        (("store>mirror kill=1",), {"a": 0}),  # written, and the process is gone
        (("store>mirror power=1",), {}),  # written and not flushed
        (("store>mirror", "power mirror"), {"a": 0}),
    ],
)
def test_what_was_flushed_survives_a_power_cut(last, copies):
    run = Run(RECOVERY_TWO)
    for choice in (*ONE_KEPT, *last):
        run.do(choice)
    assert dict(run.world.disk("mirror").table("copies").items()) == copies


# ---- Timed runs over a network that is told: loss, delay, and how quickly an application calls

TEN = make_toy(*(f"keep {name}" for name in "abcdefghij"))
LOSSY = Timing(loss=0.4)


def kinds(trace):
    return [fact.kind for fact in trace]


def test_without_loss_no_connection_breaks():
    assert FactKind.BREAK not in kinds(simulate(TEN, 1))


def test_what_is_lost_is_lost_with_its_connection_and_asked_for_again():
    trace = simulate(TEN, 1, timing=LOSSY)
    assert kinds(trace).count(FactKind.BREAK) > 3
    assert kinds(trace).count(FactKind.RETURN) == 10


def test_a_lost_request_is_a_choice_of_its_own_and_so_is_a_lost_answer():
    lost = [choice for seed in range(4) for choice in simulate(TEN, seed, timing=LOSSY).choices]
    assert "lose app>store" in lost and "break app store" in lost


def test_only_the_named_way_loses():
    mirrored = make_toy(*(f"keep {name}" for name in "abcdefghij"))
    everywhere = simulate(mirrored, 1, timing=LOSSY).choices
    lost = {choice for choice in everywhere if choice.startswith(("lose", "break"))}
    elsewhere = Timing(loss=0.4, lossy=(("store", "app"),))
    assert lost
    assert simulate(mirrored, 1, timing=elsewhere).choices == simulate(mirrored, 1).choices
    here = Timing(loss=0.4, lossy=(("app", "store"),))
    named = simulate(mirrored, 1, timing=here).choices
    assert {c for c in named if c.startswith(("lose", "break"))} <= {
        "lose app>store",
        "break app store",
    }


def test_a_run_with_losses_is_a_schedule_that_replays():
    trace = simulate(TEN, 2, timing=LOSSY)
    assert replay(TEN, trace.choices).narrate() == trace.narrate()


def test_the_world_without_the_telling_is_the_one_the_told_run_ends_in():
    for seed in range(5):
        told = simulate(TEN, seed, timing=LOSSY, faults=[(50, "kill store"), (90, "restart store")])
        world = simulate_world(
            TEN, seed, timing=LOSSY, faults=[(50, "kill store"), (90, "restart store")]
        )
        assert TEN.snapshot(world) == told.snapshot(-1)
        assert sorted(kept(TEN, world)) == list("abcdefghij")


def test_slow_messages_take_their_time():
    def length(slowest_ms):
        return simulate(TEN, 1, timing=Timing(slowest_ms=slowest_ms)).facts[-1].at_ms

    assert length(200) > 5 * length(10)


def test_an_application_that_takes_its_time_calls_later():
    calm, quick = (
        simulate(TEN, 1, timing=Timing(call_ms=call_ms)).facts[-1].at_ms for call_ms in (500, 1)
    )
    assert calm > quick + 500


@pytest.mark.parametrize("loss", [0.1, 0.6])
def test_a_share_of_the_messages_is_lost(loss):
    """Of many deliveries about so many are losses; at random, so the bounds are wide."""
    choices = [c for s in range(12) for c in simulate(TEN, s, timing=Timing(loss=loss)).choices]
    lost = sum(c.startswith(("lose ", "break ")) for c in choices)
    arrived = sum(c.startswith(("app>store", "app<store")) for c in choices)
    assert loss - 0.1 < lost / (lost + arrived) < loss + 0.1


# ---- An outcome keeps the call itself: its words are for people, its fields for claims


@dataclass(frozen=True, slots=True)
class OutcomePut:
    key: str
    value: int

    def __str__(self):
        return f"put {self.key} {self.value}"


@pytest.mark.parametrize(
    ("outcome", "words", "ok"),
    [
        (build_success(OutcomePut("a", 1)), "put a 1: ok", True),
        (build_success(OutcomePut("a", 1), "@7"), "put a 1: ok @7", True),
        (build_failure(OutcomePut("a", 1), KeyError("a")), "put a 1: failed 'a'", False),
        (Outcome(OutcomePut("a", 1), UNKNOWN), "put a 1: unknown", False),
        (build_success("init"), "init: ok", True),
    ],
)
def test_an_outcome_in_words(outcome, words, ok):
    assert (str(outcome), outcome.ok) == (words, ok)


def test_the_call_is_kept_and_compared_as_itself():
    assert build_failure(OutcomePut("a", 1), "full").call == OutcomePut("a", 1)
    assert build_failure(OutcomePut("a", 1), "full").status == FAILED
    assert (
        build_success(OutcomePut("a", 1))
        == build_success(OutcomePut("a", 1))
        != build_success(OutcomePut("a", 2))
    )
    assert hash(build_success(OutcomePut("a", 1))) == hash(build_success(OutcomePut("a", 1)))
    assert build_success("put a 1") != build_success(
        OutcomePut("a", 1)
    )  # the same words, another call


# ---- What somebody else wrote: traces and tokens that are damaged or hostile ---------

TRACE = replay(make_toy("keep a"), (*TORN, "restart store"))


def damaged(change: str) -> Any:
    plain: dict[str, Any] = TRACE.to_json()
    if change == "a list":
        return [plain]
    if change == "no facts":
        del plain["facts"]
    if change == "fewer changes":
        plain["changes"].pop()
    if change == "a number as text":
        plain["facts"][3]["text"] = 7
    if change == "a text as number":
        plain["facts"][3]["index"] = "3"
    if change == "a huge list":
        plain["changes"][0]["logs"] = {"#": 10**9}
    if change == "an unknown field":
        plain["facts"][3]["colour"] = "red"
    if change == "a change of nothing":
        plain["changes"][1] = {"lanes": {"70": {"title": {"=": "x"}}}}
    if change == "null":
        plain["start"] = None
    return plain


CHANGES = [
    "a list", "no facts", "fewer changes", "a number as text", "a text as number", "a huge list",
    "an unknown field", "a change of nothing", "null",
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_trace_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(damaged(change)), "utf-8")
    with pytest.raises(ValueError):
        Trace.load(path)


def test_a_file_nested_too_deeply_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("[" * 100_000, "utf-8")
    with pytest.raises(ValueError):
        Trace.load(tmp_path / "run.json")


def test_an_undamaged_trace_is_read() -> None:
    assert Trace.from_json(damaged("")).facts == TRACE.facts


@pytest.mark.parametrize(
    "value",
    [None, 7, [], ["toy"], ["toy", [], "d", 4], ["toy", "ab", "d"], ["toy", [1], "d"],
     ["toy", [], "d", "4", "t"], ["toy", [], "d", 4, 5], ["toy", [], "d", 4, "t", 6]],
)  # fmt: skip
def test_a_token_of_another_shape_is_refused(value: Any) -> None:
    token = base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode()
    with pytest.raises(ValueError, match="this is not a token: paste the whole text"):
        decode(token)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\u2028\x9b\ud800", "\\u2028\\x9b\\ud800"),
        ("order-1 → 订单 £5 é", "order-1 → 订单 £5 é"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, written: str) -> None:
    assert escape_unseen(text) == written
    fact = Fact(1, 1, text, "→", Text(text), text)
    assert fact.line() == f"{written} → {written}  {written}"
    narrated = str(Trace("toy", (), (fact,), ()))
    assert narrated == fact.line(width=len(written)).rstrip()


def test_a_system_may_begin_with_what_is_on_its_disks() -> None:
    """The roles recover from it, at the beginning and after a power cut; no line says so."""
    kept_before = MemoryDisk().apply(Append("values", Value("b", 0))).apply(Flush())
    begun = replace(ONE, disks=(("store", kept_before),))
    run = Run(begun)
    assert "store>mirror" in {str(choice) for choice in list_choices(begun, run.world)}
    for choice in ("call app", "app>store", "power store", "restart store"):
        run.do(choice)
    values = [value.value for value in run.world.disk("store").log("values").entries]
    assert values == ["b"] and run.world.role("store").safe == 1
    assert begun.line() == ONE.line() and begun != ONE
