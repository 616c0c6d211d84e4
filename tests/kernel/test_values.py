"""`replace` gives what the standard function gives, and says what it cannot do."""

import dataclasses

import pytest

from mqlab.kernel import Caller, Config, frozen, replace
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


@frozen
class Ours:
    first: int
    second: str = "b"
    third: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    first: int
    second: str = "b"
    third: list[int] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize(
    ("given", "named"),
    [((1,), {}), ((1, "c", [2]), {}), ((), {"third": [3], "first": 1}), ((1,), {"second": "d"})],
)
def test_a_frozen_value_is_made_as_the_standard_function_makes_it(given, named):
    ours, theirs = Ours(*given, **named), Theirs(*given, **named)
    assert dataclasses.astuple(ours) == dataclasses.astuple(theirs)
    assert dataclasses.replace(ours, second="e") == replace(ours, second="e")
    assert ours.__match_args__ == theirs.__match_args__


@pytest.mark.parametrize(("given", "named"), [((), {}), ((1, "c", [], 4), {}), ((1,), {"x": 1})])
def test_a_frozen_value_is_refused_as_the_standard_function_refuses_it(given, named):
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            kind(*given, **named)


def test_a_frozen_value_cannot_be_changed_and_shares_no_default():
    one, other = Ours(1), Ours(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.first = 2
    one.third.append(1)
    assert other.third == []


def test_a_frozen_value_is_made_without_a_check_per_field():
    """What the standard library writes asks of each field whether the value is frozen."""
    assert "__setattr__" in Theirs.__init__.__code__.co_names
    assert "__setattr__" not in Ours.__init__.__code__.co_names
    assert Ours(1) == Ours(1)


def test_a_frozen_class_that_checks_itself_still_does():
    @frozen
    class Checked:
        a: int = 0

        def __post_init__(self):
            assert self.a >= 0

    with pytest.raises(AssertionError):
        Checked(-1)
