"""The house of recordings on a broker of the tests' own: a cupboard that gives numbered boxes."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from mqlab.kernel import FactKind, Text, Trace
from mqlab.kernel.run import new_fact
from mqlab.real.differences import Listed, find_listed, write_page
from mqlab.real.program import NotOffered, Program
from mqlab.recordings import evidence
from mqlab.recordings.evidence import Contradiction, Witness, add_evidence
from mqlab.recordings.recording import Observation, Recording, load_recordings, save
from tests.oracle import compare
from tests.oracle.compare import Outcome, judge, put_beside, read_recordings, summarise
from tests.oracle.oracle import Oracle
from tests.oracle.program import CONTROL, NotHere, Programs
from tests.oracle.runner import run_all, select_programs

IDS = re.compile(r"box=(\d+)")
SEND, REPLY = FactKind.SEND, FactKind.REPLY
LEVELS = {"old": 0, "new": 1}


@dataclass(frozen=True)
class Cupboard:
    """`first`: the number of its first box; `sorts`: whether it lists in order."""

    broker: str
    first: int = 1
    sorts: bool = True


@dataclass
class CupboardLab:
    target: Cupboard
    profile: str
    prefix: str
    notes: list[Observation] = field(default_factory=list)
    clients: dict[str, str] = field(default_factory=lambda: {"hand": "1"})
    closed: bool = False

    def close(self) -> None:
        self.closed = True

    def note(self, asked: str, answered: str) -> None:
        self.notes.append(Observation("child", "cupboard", asked, answered))


def give(lab: CupboardLab) -> None:
    lab.note("give", f"box={lab.target.first + 40} of {lab.profile}")
    lab.note("give", f"box={lab.target.first}")
    lab.note(f"open box={lab.target.first + 40}", "{b, a}" if lab.target.sorts else "{a, b}")


def order(lab: CupboardLab) -> None:
    lab.note("list", "sorted" if lab.target.sorts else "as it comes")
    lab.note("count", "2")


def climb(lab: CupboardLab) -> None:
    raise NotHere("a ladder is missing") if lab.target.broker == "ours" else NotOffered("climb")


def fall(lab: CupboardLab) -> None:
    raise RuntimeError("it fell over")


PROGRAMS = {
    one.name: one
    for one in (
        Program("give", "its manual", give, ("old", "new")),
        Program("order", "its manual", order, ("new",), needs=(CONTROL,)),
        Program("climb", "a dream", climb, ("new",)),
        Program("fall", "an accident", fall, ("new",)),
    )
}
ROW = Listed("*/order", "list", "sorted", "as it comes", "our cupboard is a heap", "as it*")
TOY = Oracle("cupboard", lambda: PROGRAMS, LEVELS.__getitem__, CupboardLab, IDS)


@dataclass
class Host:
    target: Cupboard
    at_once: int = 2
    listed: tuple[Listed, ...] = (ROW,)
    opened: list[str] = field(default_factory=list)

    @property
    def broker(self) -> str:
        return self.target.broker

    def cannot(self, program: Program) -> str:
        return "a fall is no use" if program is PROGRAMS["fall"] and self.broker != "ours" else ""

    @contextmanager
    def share_broker(self, profile: str) -> Any:
        self.opened.append(f"shared {profile}")
        yield self.target

    @contextmanager
    def own(self, program: Program, profile: str) -> Any:
        self.opened.append(f"own {program.name}")
        yield self.target


REAL, OURS = Cupboard("cupboard-7", first=100), Cupboard("ours", first=3, sorts=False)


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A folder with what the real cupboard answered."""
    for _, _, seen in run_all(TOY, select_programs(TOY), Host(REAL)):
        if not isinstance(seen, Exception):
            save(seen, tmp_path)

    def load_here(broker: str) -> dict[str, Recording]:
        return load_recordings(broker, tmp_path)

    monkeypatch.setattr(compare, "load_recordings", load_here)
    monkeypatch.setattr(evidence, "RECORDINGS", tmp_path)
    evidence._recorded.cache_clear()
    yield tmp_path
    evidence._recorded.cache_clear()


def test_programs_of_a_level_share_a_broker_and_the_others_get_their_own():
    host = Host(REAL)
    names = [f"{profile}/{program.name}" for program, profile, _ in
             run_all(TOY, select_programs(TOY), host)]  # fmt: skip
    assert host.opened == ["shared new", "shared old", "own order"]
    assert names == ["new/give", "new/climb", "old/give", "new/order"]


def test_programs_are_chosen_by_name_level_and_need():
    def names(**wanted: Any) -> list[str]:
        return [f"{profile}/{one.name}" for one, profile in select_programs(TOY, **wanted)]

    assert names(levels=(0,)) == ["old/give"]
    assert names(names=("give",)) == ["new/give", "old/give"]
    assert "new/order" not in names(without=(CONTROL,))
    with pytest.raises(ValueError, match="no program 'dance'; there are: give, order, climb, fall"):
        names(names=("dance",))


def test_numbers_become_letters_and_sets_are_sorted_in_a_recording(recorded):
    found = read_recordings(TOY, "7")["new/give"]
    assert [(o.asked, o.answered) for o in found.observations] == [
        ("give", "box=P of new"),
        ("give", "box=Q"),
        ("open box=P", "{a, b}"),
    ]
    assert (found.broker, found.clients) == ("cupboard-7", {"hand": "1"})


def test_a_recording_of_the_only_version_it_is_made_on_is_found(recorded, monkeypatch):
    assert "new/order" not in read_recordings(TOY, "8")
    only = replace(PROGRAMS["order"], version="7")
    oracle = replace(TOY, programs=lambda: {**PROGRAMS, "order": only})
    assert list(read_recordings(oracle, "8")) == ["new/order"]


def test_each_run_is_judged_beside_its_recording(recorded):
    known = read_recordings(TOY, "7")
    came = run_all(TOY, select_programs(TOY), Host(OURS))
    outcomes = {o.name: o for o in (judge(one, known, (ROW,)) for one in came)}
    assert {name: o.verdict for name, o in outcomes.items()} == {
        "new/give": "equal",
        "old/give": "equal",
        "new/order": "listed",
        "new/climb": "not here",
        "new/fall": "unrecorded",
    }
    assert outcomes["new/order"].reasons == ("our cupboard is a heap",)
    assert outcomes["new/climb"].absent == "a ladder is missing"
    assert summarise(outcomes.values()) == (
        "scenarios 5, equal 2, listed differences 1, unexpected 0, not recorded yet 1, "
        "not on this machine 1"
    )


def test_every_line_stands_beside_the_one_of_the_recording(recorded):
    known = read_recordings(TOY, "7")["new/order"]
    seen = replace(known, broker="ours", observations=known.observations[:1])
    one, other = known.lines()
    wide = len(one)
    assert put_beside(known, seen).splitlines() == [
        f"    {known.broker:<{wide}}   ours",
        f"    {one:<{wide}}   {one}",
        f"    {other:<{wide}} ≠",
    ]
    beside = judge((PROGRAMS["order"], "new", seen), {"new/order": known}, ()).beside
    assert beside == put_beside(known, seen)


def test_a_row_excuses_no_other_answer_and_no_other_question(recorded):
    def verdict(*answers: str, listed: tuple[Listed, ...] = (ROW,)) -> Outcome:
        rows = tuple(Observation("child", "cupboard", q, a)
                     for q, a in zip(("list", "count"), answers, strict=True))  # fmt: skip
        seen = replace(read_recordings(TOY, "7")["new/order"], observations=rows)
        return judge((PROGRAMS["order"], "new", seen), read_recordings(TOY, "7"), listed)

    assert verdict("as it comes", "2").verdict == "listed"
    assert verdict("upside down", "2").verdict == "DIFFERENT"
    assert verdict("as it comes", "2", listed=()).verdict == "DIFFERENT", "another host has its own"
    assert "⇒ 3" in verdict("as it comes", "3").diff
    assert find_listed("new/order", [ROW]) == [ROW]
    assert not find_listed("new/give", [ROW]), "nor another scenario's"


def test_the_page_lists_what_stands_and_what_is_not_compared():
    page = write_page("cupboard", "By hand.", [ROW], [("boxes", "are letters")], [("fall", "no")])
    assert page.startswith("# Where this engine differs from a real cupboard\n\nBy hand.\n")
    assert "| */order | list | sorted | as it comes | our cupboard is a heap |" in page
    assert "- **boxes** are letters." in page and "| fall | no |" in page


def test_a_fact_is_recorded_where_the_recording_has_its_question_and_answer(recorded):
    witness = Witness(
        broker="Cupboard",
        version="7",
        profile_of=lambda system: system.split()[1],
        is_seen=lambda node: node != "mouse",
        role_of=lambda node: node.removesuffix("@2"),
        ids=IDS,
        contradictions=(
            Contradiction(
                FactKind.KILL, lambda body: body == "empty", Text("it is never empty", "从不空")
            ),
        ),
    )
    rows = [
        ("child", SEND, "give", "cupboard@2"),
        ("child", FactKind.LATE, "give", "cupboard@2"),
        ("cupboard@2", REPLY, "box=9 of new", "child"),  # another number, the same letter
        ("mouse", SEND, "give", "cupboard"),
        ("cupboard", REPLY, "box=8", "mouse"),  # nobody saw the mouse
        ("child", SEND, "give", "cupboard"),
        ("cupboard", REPLY, "nothing", "child"),  # another answer
        ("cupboard", FactKind.KILL, "empty", ""),
    ]
    facts = [new_fact(kind, who, Text(said), to, said) for who, kind, said, to in rows]
    found = add_evidence(Trace("toy new", (), tuple(facts), ()), "give", witness).facts
    real, model = "recorded on Cupboard 7", "model"
    assert [fact.evidence.en for fact in found[:7]] == [*[real] * 3, *[model] * 4]
    assert found[7].evidence.en == "contradicts many articles"
    assert found[7].why.en == (
        "Many articles say: “it is never empty”. Cupboard does what this line shows."
    )
    old = add_evidence(Trace("toy old", (), tuple(facts), ()), "give", witness).facts
    assert old[0].evidence.en == model, "that profile's recording says otherwise"


def test_two_programs_cannot_have_one_name() -> None:
    programs = Programs("tests.oracle.kafka.programs", ("old",))
    register = programs.register("", name="twice")
    register(print)
    with pytest.raises(ValueError, match="two programs are called twice"):
        register(print)
    assert programs.load()["twice"].run is print
