"""`replace` gives what the standard function gives, and says what it cannot do."""

import dataclasses

import pytest

from mqlab.kernel import Caller, Config, replace
from tests.kernel.toy import Client, Keep, Mirror, Store, Value


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (Value("a", 0), {"base": 7}),
        (Value("a", 0), {}),
        (Store(Config()), {"safe": 3, "waiting": ((4, Caller("app")),)}),
        (Client(100, Keep("a")), {"asked": None}),
        (Mirror(), {}),  # a class without fields
        (Config(), {"on": frozenset({"once"})}),
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
    with pytest.raises(TypeError, match="Value has no field 'bass'"):
        replace(Value("a", 0), bass=1)


def test_a_class_that_checks_itself_is_no_value_of_a_role():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Checked:
        a: int = 0

        def __post_init__(self):
            assert self.a >= 0

    with pytest.raises(AssertionError):
        replace(Checked(), a=1)
