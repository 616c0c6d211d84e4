"""`replace` gives what the standard function gives, for the values of every kind of role."""

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


def test_a_field_that_is_none_is_refused():
    with pytest.raises(TypeError, match="Batch has no field 'bass'"):
        replace(Batch(), bass=1)


def test_a_class_that_checks_itself_is_no_value_of_a_role():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Checked:
        a: int = 0

        def __post_init__(self):
            assert self.a >= 0

    with pytest.raises(AssertionError):
        replace(Checked(), a=1)
