"""The scenario language: what it refuses and with which advice, and what its commands do."""

from dataclasses import replace

import pytest

from mqlab.kernel import Text, replay
from mqlab.kernel.run import MOST_FACTS
from mqlab.scenario import parse_script, perform, system_of
from mqlab.scenario.golden import Block, count_facts
from mqlab.scenario.language import Message, ScenarioError
from mqlab.scenario.runner import Performance
from tests.kernel.toy import Store, Toy

HEAD = "system toy\n"
RUN = "run app: keep a, keep b\n"
TWICE = "value a @1"  # the store kept it again
HALF = "killed: KeepResponse had left, Copy had not left"


def run(text):
    script = parse_script(text)
    return perform(script, system_of(script.system, {"toy": Toy})).trace


def lines(text):
    return [fact.line() for fact in run(text)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no line `system NAME"),
        (HEAD + "kill store at=noon", "after=K answers=CLIENT`, not 'store at=noon'"),
        (HEAD + "restart store when=3", "expected `restart NODE` or `restart NODE kill=K`"),
        (HEAD + "fire app", "app has no timer now, and no other node has one"),
        (HEAD + "at 9\nat 8", "line 3: time goes on: it is 9 ms already"),
        (HEAD + "at 2s\nat 1999", "line 3: time goes on: it is 2000 ms already"),
        (HEAD + "at 1d\nat 23h", "line 3: time goes on: it is 86400000 ms already"),
        (HEAD + "hold app→store Keep#0", "expected `hold from→to Kind#n`"),
        (HEAD + "kill store when=Copy#0", "after=K answers=CLIENT`, not 'store when=Copy#0'"),
        (HEAD + "partition app,store | app", "expected `partition A,B | C`"),
    ],
)
def test_what_cannot_be_read_or_done_is_refused_with_advice(text, says):
    with pytest.raises(ScenarioError) as error:
        run(text)
    assert says in str(error.value)


def test_a_message_is_named_by_its_ends_its_kind_and_its_number():
    script = parse_script(HEAD + "hold app→store Keep#2\nlose app -> store => Keep")
    assert script.lines[0].message == Message("app", "store", "Keep", 2)
    assert script.lines[1].message == Message("app", "store", "Keep", 1, answer=True)
    assert parse_script(HEAD + "hold app -> store Keep #2").lines == script.lines[:1]


def test_comments_before_the_first_command_are_the_story():
    script = parse_script(f"# A title.\n# More.\n{HEAD}# a remark\n{RUN}")
    assert (script.title.en, script.comments) == ("A title", ("A title.", "More."))
    assert run(f"# A title.\n{HEAD}{RUN}").title.en == "A title"


def test_the_question_is_apart_from_the_story():
    script = parse_script(f"# A title.\n#? What will be?\n# More.\n{HEAD}{RUN}")
    assert (script.question, script.story) == (Text("What will be?"), Text("More."))
    assert parse_script(f"# A title.\n{HEAD}{RUN}").question.en == "A title"


def test_the_projects_own_story_is_told_in_chinese_and_any_other_as_it_is_written():
    script = parse_script(f"# A rollback\n# The twin commits.\n# He says\n# so.\n{HEAD}{RUN}")
    assert script.title == Text("A rollback", "一次回滚")
    assert script.story == Text("The twin commits. He says so.")
    assert parse_script(f"# 标题\n{HEAD}{RUN}").title.of("en") == "标题"


def test_safeguards_are_switched_off_by_lines_of_their_own():
    script = parse_script("system toy retry_ms=9\noff once, twice\noff thrice")
    assert script.system == "toy retry_ms=9 off=once,twice,thrice"
    assert run(HEAD + "off once\n" + RUN).system == "toy off=once"
    assert run(HEAD + "off \n" + RUN).system == "toy", "a menu's choice may be none"


def test_a_line_runs_until_nothing_is_left_to_do():
    assert lines(HEAD + RUN)[-1] == "mirror ▮ disk  flushed"
    assert "app ☞   keep b: ok @1" in lines(HEAD + RUN)


def test_a_held_message_waits_and_so_does_what_follows_on_its_connection():
    hold = HEAD + "hold store→mirror Copy\n" + RUN
    copies = ["mirror ▮ disk  copies[a] = 0", "mirror ▮ disk  copies[b] = 1"]
    assert not {*copies} & {*lines(hold)}
    assert "app ☞   keep b: ok @1" in lines(hold), "other connections are not held"
    freed = lines(hold + "release store→mirror Copy")
    assert [line for line in freed if line in copies] == copies


def test_a_dropped_request_is_thrown_away_and_no_connection_breaks():
    dropped = lines(HEAD + "drop app→store Keep\nrun app: keep a\n")
    assert "app ✗ store  thrown away: keep a" in dropped
    assert not [line for line in dropped if "connection broken" in line]
    assert parse_script(HEAD + "drop app→store Keep#2").lines[0].armed


def test_a_clock_is_a_nodes_own():
    ticks = []

    def noted(self, event, disk):
        ticks.append((type(self).__name__, event.at_ms))
        return step(self, event, disk)

    step, Store.step = Store.step, noted
    try:
        run(HEAD + "at 1000\nclock store +2s\nrun app: keep a\nclock store -1m\nrun app: keep b")
    finally:
        Store.step = step
    assert {at for _, at in ticks} == {3_000, -59_000}


def test_the_second_of_its_kind_is_held_when_it_is_named():
    held = lines(HEAD + "hold app→store Keep#2\n" + RUN)
    assert "app ☞   keep a: ok @0" in held
    assert "store ▮ disk  value b @1" not in held


def test_a_held_answer_waits():
    held = lines(HEAD + "hold app→store ⇒Keep\n" + RUN)
    assert "store ⇒ app  kept @0" in held
    assert not [line for line in held if line.startswith("app ☞")]


def test_a_lost_request_never_arrives_and_a_late_one_does():
    lost = lines(HEAD + "off once\nlose app→store Keep\n" + RUN + "fire app\n")
    assert "app ☞   keep a: ok @0" in lost and f"store ▮ disk  {TWICE}" not in lost
    late = HEAD + "off once\nlate app→store Keep\n" + RUN + "fire app\nrelease app→store Keep\n"
    assert "app ⇥ store  keep a (sent before, arrives now)" in lines(late)
    assert lines(late).count("store ▮ disk  value a @0") == 1
    assert run(late).snapshot(-1).lights[0].ok is False
    assert run(late.replace("off once\n", "")).snapshot(-1).lights[0].ok


def test_of_a_lost_answer_the_client_hears_that_the_connection_broke():
    lost = lines(HEAD + "lose app→store ⇒Keep\nrun app: keep a\nfire app retry store")
    assert lost.count("store ⇒ app  kept @0") == 2
    assert "app ⏲   timer retry store" in lost
    assert lost.count("store ▮ disk  value a @0") == 1


@pytest.mark.parametrize(
    ("when", "facts"),
    [
        ("Copy after=1", ["store ⇒ app  kept @0", f"store ✗   {HALF}"]),
        ("Copy#1 after=0", ["store ✗   killed: KeepResponse had not left, Copy had not left"]),
        ("⇒Keep after=1", ["store ⇒ app  kept @0", f"store ✗   {HALF}"]),
    ],
)
def test_a_node_is_stopped_inside_the_step_that_a_line_names(when, facts):
    stopped = lines(HEAD + "run app: keep a\nkill store when=" + when)
    assert stopped[-len(facts) :] == facts
    assert stopped[-len(facts) - 1] == "store ⇨   safe up to 1"


def test_an_entry_too_names_a_step_and_power_may_go():
    cut = lines(HEAD + "power-cut store when=value#2 after=1\n" + RUN + "restart store")
    assert cut[-2:] == ["store ✗   power cut: value was written", "store ↻   safe up to 0"]


def test_an_armed_kill_strikes_inside_a_recovery_too():
    text = HEAD + "kill store when=Copy#3 after=1\n" + RUN + "kill store\nrestart store"
    assert "restart store kill=1" in run(text).choices
    assert "store ✗   killed: 1 of 2 messages Copy had left" in lines(text)


@pytest.mark.parametrize("how", ["kill=1", "power=1", "kill=2"])
def test_a_stop_inside_a_recovery_is_the_same_in_a_scenario_and_in_its_schedule(how):
    trace = run(HEAD + RUN + f"kill store\nrestart store {how}")
    assert f"restart store {how}" in trace.choices
    assert replay(Toy(), trace.choices).narrate() == trace.narrate()


def test_a_byte_order_mark_tabs_and_wide_blanks_are_no_words():
    said = lines(HEAD + "run app: keep a, keep b")
    assert lines("\ufeffsystem\ttoy\r\nrun\u3000app:\tkeep a,\tkeep b\r\n") == said


def test_a_choice_is_done_alone():
    assert lines(HEAD + "do run app keep a\ndo call app") == ["app → store  keep a"]
    assert len(lines(HEAD + "do run app keep a\ndo call app\nheal")) > 1


def test_a_partitioned_network_delivers_after_it_has_healed():
    cut = HEAD + "partition app | store, mirror\n" + RUN
    assert lines(cut) == ["app → store  keep a"]
    assert "app ☞   keep b: ok @1" in lines(cut + "heal")


def test_time_is_written_into_facts():
    trace = run(HEAD + "at 1500\nrun app: keep a\nat 2000\nkill store")
    assert {fact.at_ms for fact in trace.facts[:-1]} == {1500}
    assert trace.facts[-1].at_ms == 2000


def test_both_languages_tell_the_same_facts():
    trace = run(HEAD + RUN + "kill store\nrestart store")
    english, chinese = trace.narrate("en").splitlines(), trace.narrate("zh").splitlines()
    assert len(english) == len(chinese)
    assert any("进程被杀" in line for line in chinese)
    assert all("已安全到 1" in b for a, b in zip(english, chinese, strict=True) if "up to 1" in a)


def test_a_line_that_was_not_possible_says_what_was_waited_for_in_vain():
    with pytest.raises(ScenarioError, match=r"line 4: store cannot .*; line 3 waits in vain: no"):
        run(HEAD + RUN + "kill store when=Nothing#1\nrestart store")


def test_a_story_that_is_too_long_is_refused_and_costs_no_more_than_the_longest(monkeypatch):
    """Each fact has a Snapshot; what 20,000 calls would tell, nobody steps through."""
    drawn, draw = [], Toy.snapshot
    monkeypatch.setattr(Toy, "snapshot", lambda toy, world: drawn.append(1) or draw(toy, world))
    many = [f"keep {n}" for n in range(20_000)]
    with pytest.raises(
        ScenarioError, match=r"one client makes 20,000 calls, and 2,000 is the most"
    ):
        run(f"{HEAD}run app: {', '.join(many)}")
    assert len(drawn) == 1
    with pytest.raises(ScenarioError, match=r"line 2: a scenario has at most 2,000 facts.*serve"):
        run(f"{HEAD}run app: {', '.join(many[:1_000])}")
    assert len(drawn) == 2 + MOST_FACTS


def test_the_end_of_a_block_is_found_among_20_000_lines_by_few_looks():
    looks = []

    class Lines(tuple):
        def __getitem__(self, at):
            looks.append(at)
            return tuple.__getitem__(self, at)

        def __iter__(self):
            looks.extend(range(len(self)))
            return tuple.__iter__(self)

    script = parse_script(HEAD + "heal\n" * 20_000)
    script = replace(script, lines=Lines(script.lines))
    done = Performance(None, tuple(range(1, 20_001)), ())
    ends = [count_facts(script, done, Block("", "", last)) for last in (1, 2, 10_001, 20_001)]
    assert ends == [0, 1, 10_000, 20_000] and len(looks) < 100
