"""The kernel's `replace` gives what the standard function gives, for Kafka's kinds of values."""

import dataclasses

import pytest

from mqlab.kafka import KafkaConfig
from mqlab.kafka.coordinator import Coordinator, Entry
from mqlab.kafka.log import Batch
from mqlab.kafka.log.partition import Partition
from mqlab.kernel import replace


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (Batch(("a",)), {"base": 7}),
        (Partition(KafkaConfig()), {"hw": 3, "open": ((0, 1),)}),
        (Entry("id", 1, 2), {}),
        (Coordinator(KafkaConfig()), {"next_pid": 9, "epoch": 4}),
        (KafkaConfig(), {"on": frozenset({"lso"})}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_it_gives_what_the_standard_function_gives(value, changes):
    before = dataclasses.astuple(value)
    new = replace(value, **changes)
    assert new == dataclasses.replace(value, **changes)
    assert hash(new) == hash(dataclasses.replace(value, **changes))
    assert dataclasses.astuple(value) == before, "the old value is as it was"
