"""The scenario language: what it refuses, and with which advice."""

import pytest

from mqlab.lessons.registry import scenario
from mqlab.scenario.language import Message, ScenarioError, parse_script

HEAD = "system kafka partitions=2\n"
RUN = "run app: init, begin, send orders-0 a, commit\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no line `system NAME"),
        ("run app: init", "begin with a line `system"),
        ("system rabbit", "no system 'rabbit'; there are: "),
        ("system kafka colour=red", "no option and no client 'colour'"),
        ("system kafka partitions=two", "expected a whole number"),
        ("system kafka partitions", "expected key=value"),
        ("system kafka transaction_version=0 client=v2", "no real Kafka has"),
        (HEAD + "off gravity", "no safeguard 'gravity'; there are:"),
        (HEAD + "jump app", "'jump' is no command; there are:"),
        (HEAD + "run app init", "expected `run NODE: call, call …`"),
        (HEAD + "run app: dance", "'dance' is no call; expected one of"),
        (HEAD + "run app: send orders-9 a", "no partition 'orders-9'; there are: orders-0, "),
        (HEAD + "run app: send orders-0 {a}", "a value here is a word without"),
        (HEAD + "run tc: init", "tc is no client that takes calls"),
        (HEAD + "hold everything", "expected `hold from→to Kind#n`"),
        (HEAD + "kill tc at=noon", "expected `kill NODE when=Kind#n after=K`"),
        (HEAD + "kill tc\nkill tc", "line 3: tc cannot be stopped: it is not running"),
        (HEAD + "restart tc", "line 2: tc cannot be restarted: it is running"),
        (HEAD + "at noon", "expected `at MILLISECONDS`"),
        (HEAD + RUN + "release app→tc EndTxn", "nothing holds this message"),
        (HEAD + "fire app", "`fire app` is not possible now"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_or_done_is_refused_with_advice(text, says):
    with pytest.raises(ScenarioError) as error:
        scenario(text)
    assert says in str(error.value)


def test_a_message_is_named_by_its_ends_its_kind_and_its_number():
    script = parse_script(HEAD + "hold app→tc EndTxn#2\nlose app -> tc => InitProducerId")
    assert script.lines[0].message == Message("app", "tc", "EndTxn", 2)
    assert script.lines[1].message == Message("app", "tc", "InitProducerId", 1, answer=True)


def test_a_held_message_waits_and_so_does_what_follows_on_its_connection():
    held = scenario(HEAD + "hold app→orders-0 Produce\n" + RUN)
    assert "a @0" not in held.narrate()
    freed = scenario(HEAD + "hold app→orders-0 Produce\n" + RUN + "release app→orders-0 Produce")
    assert "CompleteCommit" in freed.narrate()


def test_a_partitioned_network_delivers_after_it_has_healed():
    cut = scenario(HEAD + "partition app, orders-0 | tc\n" + RUN)
    assert "Empty pid" not in cut.narrate()
    assert (
        "CompleteCommit"
        in scenario(HEAD + "partition app, orders-0 | tc\n" + RUN + "heal").narrate()
    )


def test_time_is_written_into_facts():
    trace = scenario(HEAD + "at 1500\n" + RUN)
    assert {fact.at_ms for fact in trace.facts} == {1500}


def test_both_languages_tell_the_same_facts():
    trace = scenario(HEAD + RUN + "kill tc\nrestart tc")
    english, chinese = trace.narrate("en").splitlines(), trace.narrate("zh").splitlines()
    assert len(english) == len(chinese)
    assert any("进程被杀" in line for line in chinese)
    assert all(
        "PrepareCommit" in b for a, b in zip(english, chinese, strict=True) if "PrepareCommit" in a
    )
