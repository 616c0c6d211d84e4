"""The decision: every answer leads somewhere, and what is said of a way is shown or timed."""

from __future__ import annotations

import itertools

import pytest

from mqlab.cli import main
from mqlab.kernel.simulate import simulate
from mqlab.lessons.decision import (
    advise,
    ask_questions,
    decide,
    lead_to_command,
    list_rules,
    list_ways,
    read_answers,
    write_answers,
)
from mqlab.places import RECORDINGS
from mqlab.registry import system
from mqlab.registry.matrix import Excluded, Found, Told, Unproved
from tests.oracle.rocketmq.programs import programs

ALL = [
    dict(zip(ask_questions(), chosen, strict=True))
    for chosen in itertools.product(*(one.options for one in ask_questions().values()))
]
SETTINGS = [one for way in list_ways().values() for one in way.settings]
PROOFS = {str(proof): proof for one in SETTINGS for proof in one.proofs}


def test_every_answer_has_a_rule_and_every_rule_an_answer():
    found = {id(decide(answers)) for answers in ALL}
    assert found == {id(rule) for rule in list_rules()}
    assert {decide(answers).way for answers in ALL} == set(list_ways())
    for name, question in ask_questions().items():
        assert any(
            decide(one).way != decide({**one, name: other}).way
            for one in ALL
            for other in question.options
        ), f"no answer to {name} changes the advice"


@pytest.mark.parametrize(
    ("given", "way"),
    [
        # a payment service with MySQL
        ("row undecided call broker several java", "outbox"),
        # a stream of sensor data
        ("nothing numbers call sender one cpp", "plain"),
        # a shop with a warehouse that reads, computes and writes
        ("nothing undecided topic minute one go", "kafka"),
        # a legacy database into which nothing may be added
        ("fixed undecided call minute one java", "rocketmq"),
        ("fixed undecided call sender one java", "outbox"),
        ("nothing undecided queue minute one java", "pulsar"),
        ("nothing undecided queue minute one go", "plain"),
        ("outside half topic broker several rust", "key"),
        ("nothing half call minute several java", "plain"),
    ],
)
def test_what_follows_for_some_systems(given, way):
    answers = dict(zip(ask_questions(), given.split(), strict=True))
    assert decide(answers).way == way and read_answers(write_answers(answers)) == answers
    said = advise(answers, lead_to_command)
    assert str(list_ways()[way].title)[2:] in said and "mqlab view " in said


@pytest.mark.spread("mqlab/kernel", "mqlab/registry", "mqlab/lessons/decision")
@pytest.mark.parametrize("proof", PROOFS.values(), ids=PROOFS)
def test_what_a_setting_is_for_is_shown(proof):
    proof.prove()


def test_a_setting_says_no_more_than_its_proofs():
    words = {one.code: one.tell(lambda story, title: story) for one in SETTINGS}
    assert words["isolation.level=read_committed"].startswith("Impossible with it (searched).")
    assert words["transaction.version=2"].startswith("Impossible with it (searched).")
    shown = "Shown by an example, not searched: kafka/producer-commit"
    assert words["max.block.ms=60000"].startswith(shown)
    assert words["accessMode(ExclusiveWithFencing)"].endswith("With it: not searched.")
    uncovered = "Not covered: the engine has no example of it."
    assert words["transactionCheckInterval=30000"] == uncovered
    with pytest.raises(Unproved):
        Excluded("pulsar", "send-again", "dedup=0").prove()


def test_the_settings_for_a_second_copy_are_those_of_the_recording():
    made = programs()["slave-timeout"].settings
    asked = ", ".join(f"{name}={value}" for name, value in dict(made).items())
    assert asked in [one.code for one in SETTINGS]


def test_what_is_said_to_be_recorded_is():
    tried = [tried for way in list_ways().values() for *_, tried in way.clients if tried]
    assert len(tried) > 8
    assert all((RECORDINGS / f"{one}.json").is_file() for one in tried)
    runs = [rule.run for rule in list_rules()]
    assert all(isinstance(run, Told) and run.path.is_file() for run in runs)
    assert {type(one) for one in PROOFS.values()} == {Found, Excluded, Told}


LEFT_OPEN = "'app=init; begin; send orders-0 a; flush'"
UNANSWERED = f"'app=listener{' UNKNOW' * 20}; send-in-transaction orders-0 A'"


@pytest.mark.parametrize(
    ("way", "at", "line", "until"),
    [
        ("kafka", 0, f"kafka partitions=1 {LEFT_OPEN}", "abort marker"),
        ("kafka", 1, f"kafka partitions=1 timeout_ms=900000 {LEFT_OPEN}", "abort marker"),
        ("rocketmq", 0, f"rocketmq {UNANSWERED}", "CheckTransactionState"),
        ("rocketmq", 1, f"rocketmq {UNANSWERED}", "discard A"),
        ("pulsar", 0, "pulsar 'app=new-transaction t1; send orders-0 a txn=t1'", "abort marker"),
    ],
)
def test_how_long_it_takes_is_what_the_model_takes(way, at, line, until):
    """By the settings that a released broker has by default."""
    says, least, most, source, measured = list_ways()[way].times[at]
    assert not measured or least <= float(measured.split()[0]) <= most + 1
    seen = []
    for seed in range(8):
        facts = simulate(system(line), seed, (most + 60) * 1000).facts
        seen.append(next(fact.at_ms for fact in facts if until in fact.text.en) / 1000)
    assert all(least <= one <= most + 1 for one in seen), (str(says), source, seen)


def test_the_terminal_asks_what_is_left_out(capsys, monkeypatch):
    given = iter(["9", "2", "plain", "one", "node"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(given))
    assert main(["choose", "--ask", "beside=nothing&reader=undecided&down=minute"]) == 0
    said = capsys.readouterr().out
    assert said.count("one of the numbers, please") == 2
    assert "**A Kafka transaction.**" in said and "kafkajs" in said and "franz-go" not in said
    assert "choose.html#beside=nothing&reader=undecided&source=topic&down=minute&topics=one" in said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("beside=table", "beside: no answer “table”; there are nothing, row, fixed, outside"),
        ("speed=high", "there is no question “speed”; there are beside, reader"),
        ("beside=row&beside=fixed", "beside: both “row” and “fixed” are given"),
        ("beside=row&beside=row", "no more answers; the line so far: beside=row"),
    ],
)
def test_a_wrong_line_is_told(line, says, capsys, monkeypatch):
    def end(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert main(["choose", "--ask", line]) == 2
    assert says in capsys.readouterr().err


def test_in_chinese_it_says_the_same(capsys):
    line = write_answers({**ALL[0], "beside": "row"})
    assert main(["choose", "--ask", line, "--lang", "zh"]) == 0
    said = capsys.readouterr().out
    assert "**发件箱**。" in said
    assert "有它就不可能（已搜索）" in said
