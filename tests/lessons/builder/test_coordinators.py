"""A learner's coordinator: what its parts ask, and what its file may not do."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.kafka.config import KafkaConfig
from mqlab.kafka.errors import Error
from mqlab.kafka.messages import InitProducerId, InitProducerIdResponse
from mqlab.kernel import LANGUAGES, Appended, Caller, Reply, Request, Text, speaking
from mqlab.kernel.disk import MemoryDisk
from mqlab.lessons.builder import sittings
from mqlab.lessons.builder.apart import STEP_S
from mqlab.lessons.builder.checking import GRADED, Building, Card, check_source, search_trial
from mqlab.lessons.builder.closed import ask_version
from mqlab.lessons.builder.host import BuildError, Host, Inside, read_file
from mqlab.lessons.builder.right import apply_diff, read_right
from mqlab.lessons.builder.speech import KINDS, SpeechError, pack, unpack
from mqlab.lessons.builder.whats import COORDINATOR
from tests.lessons.builder.wrong import FILES, WRONG, assert_chinese

TRIALS = {trial.name: trial for trial in COORDINATOR.list_trials(5)}
ROLE = read_right(FILES, 0)
#: a place in the role to read first where a line of somebody's may stand
STEP = "    def step(self, event, disk: Disk):\n"
INTRODUCE = "    def introduce(self, ask: InitProducerId, caller: Caller, disk: Disk):\n"


def right(sitting: int) -> str:
    return read_right(FILES, sitting)


@pytest.mark.parametrize("sitting", [1, 2, 3, 4])
def test_a_sittings_points_are_for_its_own_trials(sitting, monkeypatch: pytest.MonkeyPatch):
    asked = []

    def note(trial, host, what):
        asked.append(trial)
        return Card(True, Text(trial.name))

    monkeypatch.setattr("mqlab.lessons.builder.checking.search_trial", note)
    exercise, _ = GRADED[f"coordinator {sitting}"]
    assert exercise.check(ROLE).ok and tuple(asked) == sittings.SITTINGS[sitting]


def test_what_an_earlier_sitting_finds_costs_no_later_point():
    # It fails in sitting 1, where three newcomers are there at once.
    waits = "pending.entry.pid for pending in self.pending.values()"
    first = waits.replace("self.pending.values()", "tuple(self.pending.values())[:1]")
    assert waits in right(4)
    source = right(4).replace(waits, first)
    assert not GRADED["coordinator 1"][0].check(source).ok
    assert GRADED["coordinator 4"][0].check(source).ok


def test_the_file_to_begin_with_gives_newcomers_a_pid_each():
    with Host(ROLE) as host:
        assert search_trial(TRIALS["three newcomers"], host).ok


def test_a_browser_without_processes_judges_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "emscripten")
    wrong = WRONG[0]
    with Host(wrong.source()) as host:
        assert isinstance(host._process, Inside)
        card = search_trial(TRIALS[wrong.trial], host)
    assert not card.ok and wrong.says in card.message.en, card
    with Host(right(4)) as host:
        assert search_trial(TRIALS[wrong.trial], host).ok
    with pytest.raises(BuildError, match="no class `Coordinator`"):
        Host("x = 1")


def test_in_simulated_time_what_is_never_reached_is_red_at_the_end_only():
    with Host(right(3)) as host:  # without a timer
        card = search_trial(TRIALS["never again"], host)
    trace = card.trace()
    assert card.light == "ended" and card.lost == card.step == len(trace) > len(card.schedule)


@pytest.mark.parametrize(
    ("belief", "loses"),
    [
        (
            "a restart owes nothing",
            "killed: the answer had left, the marker to orders-0 had not left",
        ),
        ("a coordinator numbers itself, downwards", "commit marker @1"),
    ],
)
def test_a_decision_can_still_arrive_until_the_step_that_loses_it(belief, loses):
    """While a transaction is prepared its markers can still be written, and no light is red."""
    (wrong,) = (one for one in WRONG if (one.belief, one.trial) == (belief, "a crash"))
    with Host(wrong.source()) as host:
        card = search_trial(TRIALS[wrong.trial], host)
    trace = card.trace()
    assert card.light == "delivered" and trace.facts[card.step - 1].text.en == loses
    red = [
        at
        for at, shown in enumerate(trace.snapshots)
        if any(light.name == "delivered" and not light.ok for light in shown.lights)
    ]
    assert red == list(range(card.step, len(trace) + 1))


def test_a_file_that_asks_for_no_epoch_hears_of_it_when_another_leads():
    with Host(right(2)) as host:
        card = search_trial(TRIALS["another leads"], host)
    assert not card.ok and "carries the `epoch` that `recover` was given" in card.message.en, card
    shown = card.trace().snapshot(card.step)
    assert not {light.name: light.ok for light in shown.lights}["decided first"]


def test_who_waits_is_told_when_another_coordinator_leads_whatever_the_file_does():
    disk, ask = MemoryDisk(), Request(Caller("app", 1, 2), InitProducerId("a"))
    with Host(right(3)) as host:
        role, _ = host.recover(KafkaConfig(), disk, 0, 7)
        waits, (written,) = role.step(ask, disk)
        assert waits.resign() == (Reply(ask.caller, InitProducerIdResponse(Error.NOT_COORDINATOR)),)
        told, effects = waits.step(Appended(written.log, 1), disk.apply(written))
        assert isinstance(effects[0], Reply) and told.resign() == ()


def test_each_start_of_the_only_coordinator_has_a_higher_epoch():
    disk, epochs = MemoryDisk(), []
    with Host(right(3)) as host:
        for _ in range(3):
            _, (noted, *_) = host.recover(KafkaConfig(), disk, 0)
            disk = disk.apply(noted)
            epochs.append(noted.value)
    assert epochs == [0, 2, 4]


# --- what a file may do to others: nothing

HARM = {
    "while True: pass": f"stopped after {STEP_S:.0f} s",
    "x = ' ' * 10**12": "all the memory",
    "__import__('os')._exit(3)": "its process cannot be asked any more",
    "raise ValueError('no order')": "it raised ValueError (line 26): no order",
    "return None": "one way through the function has no `return`",
    "return self": "must return two values",
    "return 7, ()": "in place of a Coordinator",
    "return self, 7": "must be a tuple",
    "return self, (one for one in ())": "must be a tuple",
    "return self, ('a note',)": "is no effect of a coordinator",
    "return self, (Send('orders-0', 'hello'),)": "the body of Send is a WriteTxnMarkers",
    "return self, (Send('orders-0', WriteTxnMarkers('a', None, 0, True)),)": "`pid` of WriteTxn",
    "return self, (append(Entry('a', 0, 0), disk, self.config),) * 2": "is written, where 1 is",
    "return self, (replace(append(Entry('a', 0, 0), disk, self.config), log=''),)": "is written w",
    "return self, (Reply(event.caller, 1.5),)": "is a float, which no message holds",
    "return self, (append(Entry('a', -1, 0), disk, self.config),)": "both begin at 0",
    "return self, (append(Entry('a', 0, 0, TxnState.ONGOING), disk, self.config),)": "of a new id",
    "return self, (append(Entry('a', 0, 0, TxnState.COMPLETE_ABORT, ('o',)), disk, self.config),)":
        "with partitions: what has ended has none",
    "return self, (Send('nowhere', WriteTxnMarkers('a', 0, 0, True)),)": "KeyError: 'nowhere'",
    "raise SystemExit": "it raised SystemExit (line 26)",
    "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})": "it raised Odd (line 26)",
    "return self, (SetTimer('timeout ', 1),)": "the transactional id comes after that",
    "return replace(self, entries=[]), ()": "a Map in place of a dictionary",
    "import random; return self, (SetTimer(str(random.random()), 1),)": "imports random",
    "s = globals(); s['n'] = s.get('n', 0) + 1; return self, (SetTimer(str(s['n']), 1),)":
        "it did two different things",
}  # fmt: skip


@pytest.mark.spread("mqlab/lessons/builder", "tests/lessons/builder")
@pytest.mark.parametrize("line", HARM)
def test_what_it_does_wrong_is_said_and_harms_nobody(line):
    source = ROLE.replace(STEP, f"{STEP}        {line}\n", 1)
    verdict = Building(1, ()).check(source)
    assert not verdict.ok and HARM[line] in verdict.message.en, verdict
    assert_chinese(verdict.message)


def test_a_state_that_is_broken_is_the_same_in_both_languages():
    source = ROLE.replace("return Coordinator(config), ()", "return None")
    broken = []
    for lang in LANGUAGES:
        with speaking(lang), Host(source) as host:
            broken.append(host.recover(KafkaConfig(), MemoryDisk(), 0)[0].broken)
    assert broken[0] == broken[1] and broken[0].en != broken[0].zh


STYLES = {
    "timer by another name": (4, "abandoned", r"TIMEOUT(?=[ )])", "'t'"),
    "one after the other": (
        2, "two at once", r"pending\.entry\.txn_id == txn_id for", "True for",
    ),
}  # fmt: skip
#: before the class, what looks for a right one or for a file; `s` is `sys`, `i` is `__import__`
FINDS = {
    "s.modules['mqlab.kafka.coordinator'].Coordinator": "has no attribute 'Coordinator'",
    "i('mqlab.kafka').system": "has no attribute 'system'",
    "[o for o in i('gc').get_objects() if getattr(o, '__name__', '') == 'Coordinator'][0]": "Index",
}
CLOSED = {
    "i('mqlab.kafka.system')": "Permission denied",
    "i('mqlab.rocketmq.broker')": "Permission denied",
    "open(s.modules['mqlab'].__file__)": "Permission denied",
    "open('mine', 'w')": "Permission denied",
    "i('os').listdir('/')": "Permission denied",
    "i('os').truncate(s.modules['mqlab'].__file__, 0)": "Permission denied",
}


@pytest.mark.parametrize(
    ("line", "says"), [*FINDS.items(), *(CLOSED.items() if ask_version() > 2 else ())]
)
def test_it_finds_no_right_one_and_no_file_where_no_wall_is_either(line, says, monkeypatch):
    monkeypatch.setattr("mqlab.lessons.builder.host.find_sandbox", lambda: ())
    looks = f"from typing import sys as s\ni = __import__\n{line}\nraise ValueError('found')\n"
    with pytest.raises(BuildError, match=r".") as raised:
        check_source(ROLE.replace("@frozen", f"{looks}@frozen", 1))
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return Coordinator(config), ()", "next(iter(())); return Coordinator(config), ()"),
        ("return Coordinator(config), ()", "raise ValueError('mine')"),
        (STEP, f"    def __post_init__(self):\n        next(iter(()))\n\n{STEP}"),
        (STEP, f"    @property\n    def mine(self):\n        next(iter(()))\n\n{STEP}"
               "        self.mine\n"),
        (STEP, f"{STEP}        next(iter(()))\n"),
    ],
    ids=["StopIteration in recover", "recover", "constructor", "property", "step"],
)  # fmt: skip
def test_an_exception_shows_its_own_line_wherever_it_flies(old: str, new: str):
    assert ROLE.count(old) == 1
    source = ROLE.replace(old, new)
    (line,) = (
        at for at, row in enumerate(source.splitlines(), 1)
        if "next(iter(()))" in row or "raise " in row
    )  # fmt: skip
    card = check_source(source)
    name = "ValueError" if "raise" in new else "StopIteration"
    assert not card.ok and f"it raised {name} (line {line})" in card.message.en, card
    assert card.trace() is not None


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = ", "the file is no Python"),
        ("import os", "line 1 imports os: a coordinator is written with mqlab.lessons.builder.api"),
        ("from mqlab.kafka.coordinator import Coordinator", "line 1 imports mqlab.kafka"),
        ("from . import x", "line 1 imports ."),
        ("x = 1", "no class `Coordinator` with `step` and `recover`"),
        ("raise ValueError", "it raised ValueError (line 1)"),
    ],
)
def test_a_file_that_is_no_coordinator(source, says):
    with pytest.raises(BuildError, match=r".") as raised:
        check_source(source)
    assert says in str(raised.value)
    assert_chinese(raised.value.args[0])


def test_a_file_is_text_in_utf_8_with_or_without_a_mark_before_it(tmp_path: Path):
    mine = tmp_path / "coordinator.py"
    mine.write_text(ROLE, "utf-8-sig")
    assert read_file(mine) == ROLE
    mine.write_text("# caf\u00e9\n", "latin-1")
    with pytest.raises(BuildError, match="is no text in UTF-8: let your editor") as raised:
        read_file(mine)
    assert "UTF-8 编码" in raised.value.args[0].zh
    with pytest.raises(BuildError, match=r"no Python: source code string .* null bytes$"):
        check_source(f"{ROLE}\0")


@pytest.mark.parametrize("name", STYLES)
def test_a_right_one_in_another_style_is_right(name: str):
    """What the page leaves open is the learner's own: a timer's name, who has to wait."""
    sitting, trial, old, new = STYLES[name]
    source, count = re.subn(old, new, right(sitting))
    with Host(source) as host:
        assert count and search_trial(TRIALS[trial], host).ok


def test_a_plain_dataclass_hears_which_replace_it_needs():
    made = "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Coordinator"
    card = check_source(ROLE.replace("@frozen\nclass Coordinator", made))
    assert "Coordinator is no plain @frozen class: use dataclasses.replace" in card.message.en


def test_an_answer_of_another_kind_is_a_sentence():
    source = ROLE.replace(
        "InitProducerIdResponse(pid=new.pid, epoch=new.epoch)", "EndTxnResponse()"
    )
    card = check_source(source)
    assert (
        not card.ok
        and "app waits for InitProducerIdResponse and gets EndTxnResponse" in card.message.en
    )


def test_a_second_answer_is_a_sentence():
    once = "(Reply(done.caller, done.answer),) if done.caller else ()"
    assert once in ROLE
    card = check_source(ROLE.replace(once, once.replace(",) if", ",) * 2 if")))
    assert not card.ok and "app waits for no answer and gets InitProducer" in card.message.en


def test_a_state_that_grows_is_a_coordinator_that_is_not_right():
    line = "return self, ()  # what"
    more = "return replace(self, n=self.n + 1), (SetTimer('t', 1),)  # what"
    grows = ROLE.replace("    pending: Map", "    n: int = 0\n    pending: Map", 1)
    assert not check_source(grows.replace(line, more)).ok


def test_values_travel_and_come_back():
    value = (sittings.Budget, KINDS)  # what is no message does not travel
    with pytest.raises(SpeechError):
        pack(value[0]())
    from mqlab.lessons.builder import api

    entry = api.Entry("a", 1, 2, api.TxnState.ONGOING, ("orders-0",))
    ask = api.Request(api.Caller("app", 1, 2), api.EndTxn("a", 1, 2, True))
    for said in (entry, ask, api.Error.PRODUCER_FENCED, api.Map([("a", entry)]), api.KafkaConfig()):
        assert unpack(pack(said)) == said


# --- the right files


def test_a_diff_is_applied_to_what_it_was_made_of_and_to_nothing_else(tmp_path: Path):
    old = [f"{n}\n" if n % 4 else "\n" for n in range(40)]
    new = [*old[:3], "x\n", *old[5:20], *old[23:39], "39\n", "40\n"]
    made = "".join(
        line.strip() + "\n" if line.isspace() else line for line in unified_diff(old, new)
    )
    assert apply_diff("".join(old), made) == "".join(new)
    with pytest.raises(ValueError, match="line 1 is not"):
        apply_diff("".join(old[1:]), made)
    with pytest.raises(FileNotFoundError, match=r"begin\.py"):
        read_right(tmp_path, 0)


# --- the command


def test_the_command_writes_a_file_once_and_checks_it(tmp_path: Path, capsys):
    mine = tmp_path / "my-labs" / "coordinator.py"
    assert main(["build", "new", str(mine)]) == 0
    mine.write_text(mine.read_text("utf-8") + "# mine\n", "utf-8")
    assert main(["build", "new", "--sitting", "2", str(mine)]) == 2
    assert "is not overwritten" in capsys.readouterr().err and mine.read_text("utf-8").endswith(
        "mine\n"
    )
    assert main(["build", "check", str(mine)]) == 1
    out = capsys.readouterr().out
    assert "orders-0 has sent AddPartitionsToTxn, and no step answers it" in out
    assert "<html" in mine.with_suffix(".html").read_text("utf-8")
    mine.write_text(right(1), "utf-8")
    assert main(["build", "check", str(mine)]) == 0
    assert "nothing breaks (part 1)" in capsys.readouterr().out
    assert main(["build", "check", str(tmp_path / "none.py")]) == 2
    assert "`mqlab build new` writes a file" in capsys.readouterr().err
