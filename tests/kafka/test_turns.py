"""A broker reads the requests of one connection in turn: none before the last one is answered.

A new connection of the same client does not wait behind the broken one.
"""

import pytest

from mqlab.kafka import KafkaSystem
from mqlab.kernel import FactKind
from mqlab.scenario import parse_script, perform, system_of

SENT = ("a", "b", "c", "d")
STORY = """system kafka partitions=1 replicas={replicas} readers=r
run app: init, begin, {sends}, commit
run r: poll orders-0
"""


@pytest.mark.parametrize("replicas", [1, 2])
def test_sends_behind_a_question_to_the_coordinator_keep_their_order(replicas):
    sends = ", ".join(f"send orders-0 {value}" for value in SENT)
    script = parse_script(STORY.format(replicas=replicas, sends=sends))
    facts = perform(script, system_of(script.system, {"kafka": KafkaSystem})).trace.facts
    lines = [fact.line() for fact in facts]
    assert not [line for line in lines if "OUT_OF_ORDER" in line]
    assert sum("AddPartitionsToTxn" in line for line in lines) == 1
    waited = [fact for fact in facts if fact.kind is FactKind.IDLE]
    assert [fact.text.en.partition(" epoch")[0] for fact in waited] == [
        f"Produce {value}" for value in SENT[1:]
    ]
    assert all("reads no further request" in fact.why.en for fact in waited)
    assert "read_committed: ok a, b, c, d" in lines[-1]


BROKEN = """system kafka partitions=1 claims=once
do run app init; begin; send orders-0 a; commit
do call app
do app>coordinator
do coordinator.
do app<coordinator
do call app
do call app
do break app orders-0
do app.
do app>orders-0
do app>orders-0#1
"""


def test_a_new_connection_does_not_wait_behind_the_broken_one():
    script = parse_script(BROKEN)
    facts = perform(script, system_of(script.system, {"kafka": KafkaSystem})).trace.facts
    assert sum("→ coordinator  AddPartitionsToTxn" in fact.line() for fact in facts) == 2
    assert not [fact.line() for fact in facts if fact.kind is FactKind.IDLE]
