"""Every fact says what it is and holds the thing itself; what is saved holds its kind only."""

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
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    System,
    Text,
    Trace,
    Truncate,
    replay,
)
from mqlab.kernel.role import Caller
from mqlab.kernel.run import RECOVERED, describe_effect
from mqlab.kernel.trace import GLYPHS
from tests.kernel.toy import Keep, Value


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
        (
            ("call asker", "asker>keeper power=1"),
            ("a",),
            (FactKind.POWER_CUT, "✗", "keeper", None),
        ),
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
