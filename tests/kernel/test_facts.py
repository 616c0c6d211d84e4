"""Every fact says what it is and holds the thing itself; what is saved holds its kind only."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import mqlab.kernel
from mqlab.kernel import (
    Append,
    Call,
    ConnectionLost,
    Fact,
    FactKind,
    Fired,
    Flush,
    Made,
    NodeSpec,
    Play,
    Property,
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Return,
    Run,
    Send,
    SetTimer,
    System,
    Text,
    Trace,
    Truncate,
    Words,
    World,
    claims,
    replay,
)
from mqlab.kernel.claims import Claim, claims_by_key, keep_answers, keep_last_world, select_lights
from mqlab.kernel.moves import initial
from mqlab.kernel.role import Caller
from mqlab.kernel.run import RECOVERED, describe_effect
from mqlab.kernel.trace import GLYPHS
from tests.kernel.toy import Keep, Toy, Value


@dataclass(frozen=True, slots=True)
class Asker(Quiet):
    def step(self, event, disk):
        match event:
            case Call(body=str(what)):
                return self, (Send("keeper", Keep(what)),)
            case Response(body=body):
                return self, (Return(body),)
            case ConnectionLost():
                return self, (Return("lost"),)
        return self, ()


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps what it is asked to, wakes up once, and says how much it has."""

    kept: int = 0

    def step(self, event, disk):
        match event:
            case Request(body=Keep("nothing")):
                return self, ()
            case Request(caller=caller, body=Keep(what)):
                entry = Value(what, disk.log("log").end)
                effects = (
                    Append("log", entry, notify=False),
                    Put("last", "is", what),
                    Flush(),
                    SetTimer("tidy", 1),
                    Reply(caller, f"kept {what}"),
                )
                return replace(self, kept=self.kept + 1), effects
            case Fired():
                return self, (Truncate("log", 0),)
        return self, ()

    def describe_changes(self, old):
        return (Text(f"{self.kept} kept"),) if old is not None and old.kept != self.kept else ()


@dataclass(frozen=True)
class Keeping(System):
    calls: tuple[str, ...] = ("a",)

    name = "keeping"

    def nodes(self):
        asker, keeper = (Asker(), ()), (Keeper(), ())
        return (
            NodeSpec("asker", (("asker", lambda disk, at_ms: asker),), self.calls),
            NodeSpec("keeper", (("keeper", lambda disk, at_ms: keeper),)),
        )


def told(*choices, calls=("a",)):
    facts = replay(Keeping(calls), choices).facts
    return [(f.kind, f.glyph, f.node, f.body) for f in facts]


def test_a_request_that_is_served_and_what_comes_of_it():
    assert told("call asker", "asker>keeper", "asker<keeper", "fire keeper") == [
        (FactKind.SEND, "→", "asker", Keep("a")),
        (FactKind.CHANGE, "⇨", "keeper", None),
        (FactKind.APPEND, "▮", "keeper", Value("a", 0)),
        (FactKind.PUT, "▮", "keeper", "a"),
        (FactKind.FLUSH, "▮", "keeper", None),
        (FactKind.REPLY, "⇒", "keeper", "kept a"),
        (FactKind.RETURN, "☞", "asker", "kept a"),
        (FactKind.TIMER, "⏲", "keeper", "tidy"),
        (FactKind.TRUNCATE, "▮", "keeper", None),
    ]


def test_an_answer_that_is_a_message_of_its_own_is_told_as_an_answer():
    class Known:
        answers = True

        def __str__(self):
            return "known"

    for body, kind in ((Known(), FactKind.REPLY), (Keep("a"), FactKind.SEND)):
        fact = describe_effect("keeper", Send("asker", body))
        assert (fact.kind, fact.glyph) == (kind, GLYPHS[kind])
        assert fact.pushed == (kind is FactKind.REPLY)
    reply = describe_effect("keeper", Reply(Caller("asker", 0, 0), "kept"))
    assert reply.kind is FactKind.REPLY and not reply.pushed


@pytest.mark.parametrize(
    ("choices", "calls", "last"),
    [
        (
            ("call asker", "asker>keeper"),
            ("nothing",),
            (FactKind.IDLE, "·", "keeper", Keep("nothing")),
        ),
        (("break asker keeper",), (), (FactKind.BREAK, "✗", "asker", None)),
        (("kill keeper",), (), (FactKind.KILL, "✗", "keeper", None)),
        (("call asker", "drop asker>keeper"), ("a",), (FactKind.DROP, "✗", "asker", Keep("a"))),
        (("power keeper",), (), (FactKind.POWER_CUT, "✗", "keeper", None)),
        (("call asker", "asker>keeper power=1"), ("a",), (FactKind.POWER_CUT, "✗", "keeper", None)),
        (
            ("kill keeper", "restart keeper"),
            (),
            (FactKind.RECOVERY, "↻", "keeper", Made(RECOVERED, {})),
        ),
    ],
)
def test_what_goes_wrong_and_what_follows(choices, calls, last):
    assert told(*choices, calls=calls)[-1] == last


def test_a_late_request_is_told_at_its_sender():
    facts = told("call asker", "break asker keeper", "asker>keeper#0")
    assert facts[2] == (FactKind.LATE, "⇥", "asker", Keep("a"))


def test_every_kind_has_one_glyph_and_the_schema_knows_them():
    assert set(GLYPHS) == set(FactKind) - {FactKind.UNKNOWN}
    folder = Path(mqlab.kernel.__file__).parent
    schema = json.loads((folder / "trace.schema.json").read_text("utf-8"))
    fact = schema["$defs"]["fact"]["properties"]
    assert fact["kind"]["enum"] == [str(kind) for kind in GLYPHS]
    assert set(fact["glyph"]["enum"]) == set(GLYPHS.values())


def test_a_saved_trace_holds_kinds_and_no_bodies(tmp_path):
    trace = replay(Keeping(), ("call asker", "asker>keeper"))
    trace.save(tmp_path / "run.json")
    plain = json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert plain["facts"][0] == {
        "index": 1, "step": 1, "node": "asker", "glyph": "→", "text": "keep a", "peer": "keeper",
        "kind": "send",
    }  # fmt: skip
    again = Trace.load(tmp_path / "run.json")
    assert again.facts == trace.facts  # a body is not compared
    assert [f.kind for f in again] == [f.kind for f in trace]
    assert {f.body for f in again} == {None}


def test_a_trace_that_was_saved_before_facts_had_kinds_is_read():
    plain = replay(Keeping(), ("call asker", "kill keeper")).to_json()
    for fact in plain["facts"]:
        del fact["kind"]
    older = Trace.from_json(plain)
    assert [f.kind for f in older] == [FactKind.UNKNOWN, FactKind.UNKNOWN]
    assert older.to_json() == plain


@pytest.mark.parametrize("kind", ["sent", "", 3, None, ["send"]])
def test_a_kind_that_there_is_not_is_refused(kind):
    plain = replay(Keeping(), ("call asker",)).to_json()
    plain["facts"][0]["kind"] = kind
    with pytest.raises(ValueError):
        Trace.from_json(plain)


def test_a_fact_made_by_hand_has_no_kind():
    assert Fact(1, 1, "a", "→", Text("x")).kind is FactKind.UNKNOWN


# ---- Claims about a counter that may be written twice: as properties, as lights, and read once


@dataclass(frozen=True, slots=True)
class Cluster:
    most: int


@dataclass(frozen=True, slots=True)
class Counter(Quiet):
    count: int = 0

    def step(self, event, disk):
        match event:
            case Request(body="one more"):
                return replace(self, count=self.count + 1), ()
        return self, ()


def few(cluster, world):
    return world.role("counter").count <= cluster.most


def counted(cluster, world):
    return world.role("counter").count > 0


def looked_at(cluster, name, node):
    return node.roles[0].count if name == "counter" else None


FEW = Claim("few enough", Words("it counts few", "计数不多"), few, reads=looked_at)
ODD = Claim("odd one", Words("it is odd", "奇数"), lambda cluster, world: True)
COUNTS = Claim("counts", Words("it can count", "能够计数"), counted, "sometimes")
NAMEABLE = claims_by_key((FEW, ODD))


@dataclass(frozen=True)
class Counting(System):
    most: int = 1
    asked: int = 2

    def nodes(self):
        asks = (Counter(), (Send("counter", "one more"),) * self.asked)
        counter = (Counter(), ())
        return (
            NodeSpec("asker", (("asker", lambda disk, at_ms: asks),)),
            NodeSpec("counter", (("counter", lambda disk, at_ms: counter),)),
        )

    def properties(self):
        return tuple(claim.of(Cluster(self.most)) for claim in (FEW, COUNTS))


def test_a_claim_is_a_property_of_one_cluster():
    """The same worlds, judged for a cluster that may count to one and one that may to two."""
    run, seen = Run(Counting()), []
    strict, mild = Counting(most=1).properties(), Counting(most=2).properties()
    for choice in ("asker>counter", "asker>counter"):
        run.do(choice)
        seen.append([p.holds(run.world) for p in (*strict, *mild)])
    assert seen == [[True, True, True, True], [False, True, True, True]]
    assert [p.holds(Run(Counting()).world) for p in strict] == [True, False]


def test_a_property_has_what_the_claim_says():
    found = FEW.of(Cluster(3))
    assert (found.name, found.kind, found.sentence.en) == ("few enough", "always", "it counts few")
    world = initial(Counting())
    assert found.reads("counter", world.nodes["counter"]) == 0
    assert found.reads("asker", world.nodes["asker"]) is None
    assert ODD.of(Cluster(3)).reads("asker", world.nodes["asker"]) is world.nodes["asker"]


def test_a_claim_is_named_by_one_word():
    assert NAMEABLE == {"few_enough": FEW, "odd_one": ODD}


def test_a_claim_that_may_be_named_has_a_light_where_it_is():
    always = Property("plain", Words("plain", "平常")(), lambda world: True)
    found = (always, *(claim.of(Cluster(1)) for claim in (FEW, ODD, COUNTS)))
    assert [p.name for p in select_lights(found, NAMEABLE, ())] == ["plain"]
    assert [p.name for p in select_lights(found, NAMEABLE, ("odd_one",))] == ["plain", "odd one"]
    assert [p.name for p in select_lights(found, {}, ())] == ["plain", "few enough", "odd one"]


def test_a_world_is_read_once_until_another_one_comes():
    read = []

    @keep_last_world
    def look(cluster, world):
        """Looks."""
        read.append((cluster, world))
        return [len(read)]

    one, two, small, large = initial(Counting()), initial(Counting()), Cluster(1), Cluster(2)
    assert one == two and one is not two
    assert look(small, one) is look(small, one)
    assert look(small, two) == [2]  # an equal world is another one
    assert look(large, two) == [3]
    assert look(small, one) == [4]  # only the last is kept
    assert look.__doc__ == "Looks."


def test_answers_are_kept_by_which_objects_were_asked_about(monkeypatch):
    monkeypatch.setattr(claims, "KEPT", 2)
    asked = []

    @keep_answers
    def size(items, more):
        asked.append(items)
        return len(items) + more

    one, equal = [1, 2], [1, 2]
    assert [size(one, 0), size(one, 0), size(equal, 0)] == [2, 2, 2]
    assert asked == [one, equal], "equal is not enough, for nobody compares them"
    assert [size([n], 7) for n in range(50)] == [8] * 50, "an id is not used again while it is kept"
    assert size(one, 0) == 2 and len(asked) == 53, "two answers are kept"


# ---- A play as a tree of futures: going on, going elsewhere, and what is offered where

ONE = Toy.from_options({"app": "keep a"})
TWO = Toy.from_options({"app": "keep a; keep b"})
FIRST = ("call app", "app>store", "store.")
STEPS = ("call", "deliver", "local", "timer")


def test_every_future_that_was_tried_stays_and_opens_again() -> None:
    play = Play(ONE)
    for choice in FIRST:
        play.do(choice)
    whole = play.trace
    play.branch(2, "store. kill=1")
    assert play.trace.choices == (*FIRST[:2], "store. kill=1")
    assert play.visited == ((), *(FIRST[:n] for n in (1, 2, 3)), play.choices)
    play.go_to(FIRST)
    assert play.trace == whole == replay(ONE, FIRST)
    play.undo()
    play.do("store. kill=1")
    assert len(play.visited) == 5, "the same future again is the same"
    assert play.find_trace(FIRST) == whole


def test_a_way_that_is_not_possible_changes_nothing() -> None:
    play = Play(ONE, FIRST[:1])
    before = play.visited, play.choices
    with pytest.raises(ValueError, match="not possible"):
        play.go_to((*FIRST, "fire mirror"))
    assert (play.visited, play.choices) == before
    with pytest.raises(ValueError, match="first choices of this play cannot be changed"):
        play.branch(0, "kill store")
    assert (play.visited, play.choices) == before


def test_it_goes_on_to_the_end_but_not_with_what_is_held() -> None:
    play = Play(ONE)
    play.go_on(held=("app>store",))
    assert play.choices == ("call app",)
    play.go_on()
    assert play.choices[:3] == FIRST
    left = [option for option in play.options() if option.kind in ("call", "local", "deliver")]
    assert left == [] and "kept @0" in play.trace.narrate()


def test_a_claim_that_is_watched_is_the_first_light_of_every_future() -> None:
    play = Play(ONE, FIRST)
    never = Property(
        "nothing", Text("nothing is kept"), lambda w: w.disk("store").log("values").end == 0
    )
    play.watch(never)
    lights = [snapshot.lights[0] for snapshot in play.trace.snapshots]
    assert {light.name for light in lights} == {"nothing"}
    assert [light.ok for light in lights] == [True, True, False, *([False] * (len(lights) - 3))]
    play.do("kill app")
    assert play.trace.snapshots[-1].lights[0].name == "nothing"


def test_what_can_always_still_come_has_a_light_that_says_how_things_stand() -> None:
    """The mirror has no copy while it is under way: red then, and not for ever."""
    ends = {kind: _watch_the_mirror(kind) for kind in ("always", "can_always")}
    assert ends == {"always": ["mirrored"], "can_always": []}


def _watch_the_mirror(kind: str) -> list[str]:
    """The red lights when the copy has arrived, of a claim that was broken before."""

    def mirrored(world: World) -> bool:
        return world.disk("store").log("values").end == len(world.disk("mirror").table("copies"))

    play = Play(ONE)
    play.watch(Property("mirrored", Text("the mirror has every value"), mirrored, kind))
    for choice in FIRST:
        play.do(choice)
    assert not play.trace.snapshots[-1].lights[0].ok
    play.go_on()
    return [light.name for light in play.trace.snapshots[-1].lights if not light.ok]


def test_a_message_knows_the_fact_that_sent_it_and_its_ends() -> None:
    play = Play(ONE)
    play.do("call app")
    deliver = {o.choice: o for o in play.options()}["app>store"]
    assert (deliver.kind, deliver.node, deliver.ends) == ("deliver", "store", ("app", "store"))
    assert "keep a" in play.trace.facts[deliver.sent - 1].line()
    assert deliver.label.en == "keep a arrives from app"
    for choice in FIRST[1:]:
        play.do(choice)
    answer = {o.choice: o for o in play.options()}["app<store"]
    assert play.trace.facts[answer.sent - 1].kind == "reply" and answer.ends == ("store", "app")


def test_faults_come_after_steps_and_breaking_a_connection_last() -> None:
    play = Play(ONE, FIRST)
    kinds = [option.kind for option in play.options()]
    assert kinds[:2] == ["deliver", "deliver"]
    assert kinds.index("kill") < kinds.index("break")
    assert all(kind not in STEPS for kind in kinds[kinds.index("kill") :])


def test_a_gap_between_two_effects_is_the_death_exactly_there() -> None:
    play = Play(ONE)
    for choice in FIRST:
        play.do(choice)
    inside = [gap for gap in play.gaps() if "store. kill" in gap.kill]
    assert [(gap.kill, gap.power, gap.node, gap.keep) for gap in inside] == [
        (f"store. kill={n}", f"store. power={n}", "store", 2) for n in (0, 1)
    ]
    gap = inside[1]
    assert gap.progress.en == "KeepResponse had left, Copy had not left"
    before = play.trace.facts
    play.branch(gap.keep, gap.kill)
    assert play.trace.facts[: gap.after] == before[: gap.after], "the same up to the gap"
    assert play.trace.facts[gap.after].kind == "kill" and gap.after < len(before)


def test_between_two_steps_the_node_that_has_acted_may_die() -> None:
    play = Play(ONE)
    for choice in FIRST:
        play.do(choice)
    between = {gap.after: gap for gap in play.gaps() if gap.kill.startswith("kill ")}
    gap = between[1]
    assert (gap.node, gap.keep, gap.progress.en) == ("app", 1, "")
    play.branch(gap.keep, gap.power)
    assert play.choices == ("call app", "power app")


def test_what_was_given_has_no_gaps() -> None:
    assert Play(ONE, FIRST).gaps() == ()
    play = Play(TWO, FIRST)
    play.do("store>mirror")
    play.do("kill app")
    assert {gap.keep for gap in play.gaps()} <= {3, 4}


def test_a_death_is_offered_with_the_answer_lost_and_with_the_answer_arriving() -> None:
    play = Play(ONE)
    for choice in FIRST[:2]:
        play.do(choice)
    (step,) = [option for option in play.options() if option.choice == "store."]
    assert step.answered == ((), ("app",), ("app",))
    play.do("store.")
    deaths = {one.choice: str(one.label) for one in play.options() if one.kind in ("kill", "power")}
    assert deaths["kill store answers=app"] == "kill store; its answer to app still arrives"
    assert "power store answers=app" in deaths and "kill app answers=app" not in deaths
    gaps = {(gap.after, gap.kill): gap.answered for gap in play.gaps()}
    assert ("app",) in gaps.values() and () in gaps.values()
    after, kill = next(place for place, answered in gaps.items() if answered)
    play.branch(next(g.keep for g in play.gaps() if g.after == after), f"{kill} answers=app")
    play.go_on()
    assert play.trace.choices[-1] == "app." and "keep a: ok @0" in play.trace.narrate()
