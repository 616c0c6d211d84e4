"""What a scenario may say to a Kafka, and what it is told when it says something else."""

import pytest

from mqlab.kafka import KafkaSystem
from mqlab.scenario import parse_script, perform, system_of
from mqlab.scenario.language import ScenarioError

HEAD = "system kafka partitions=2\n"
RUN = "run app: init, begin, send orders-0 a, commit\n"


def scenario(text):
    script = parse_script(text)
    return perform(script, system_of(script.system, {"kafka": KafkaSystem})).trace


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("system kafka colour=red", "no option and no client 'colour'"),
        ("system kafka partitions=two", "expected a whole number"),
        ("system kafka transaction_version=0 client=v2", "no real Kafka has"),
        (HEAD + "off gravity", "no safeguard 'gravity'; there are:"),
        (HEAD + "run app: dance", "no call 'dance'; there are: init, begin"),
        (HEAD + "run app: send orders-9 a", "no partition 'orders-9'; there are: orders-0, "),
        (HEAD + "run app: send orders-0 {a}", "a value here is a word without"),
        (
            HEAD + "run coordinator: init",
            "no client 'coordinator' that takes calls; there are: app",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_with_advice(text, says):
    with pytest.raises(ScenarioError) as error:
        scenario(text)
    assert says in str(error.value)


def test_kafkas_own_names_are_the_same_in_both_languages():
    trace = scenario(HEAD + RUN + "kill coordinator\nrestart coordinator")
    english, chinese = trace.narrate("en").splitlines(), trace.narrate("zh").splitlines()
    states = [b for a, b in zip(english, chinese, strict=True) if "PrepareCommit" in a]
    assert states and all("PrepareCommit" in line for line in states)


def test_a_commit_waits_for_a_coordinator_that_a_partition_cuts_off():
    cut = HEAD + "partition app, orders-0 | coordinator\n" + RUN
    assert "Empty pid" not in scenario(cut).narrate()
    assert "CompleteCommit" in scenario(cut + "heal").narrate()
