"""Messages that say themselves by a template."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from mqlab.kernel import worded


@dataclass(frozen=True, slots=True)
class Answer:
    code: int = 0


@worded("Put {key}: {{{value!r}}} in {answer.code:02d} {size}")
class Put:
    key: str
    value: str
    answer: Answer = Answer(7)

    @property
    def size(self) -> int:
        return len(self.value)


@worded("{code} for {who}")
class Greeted(Answer):
    who: str = "you"


def test_the_words_are_the_template_filled() -> None:
    assert str(Put("k", "v")) == "Put k: {'v'} in 07 1"
    assert str(replace(Put("k", "v"), value="long")) == "Put k: {'long'} in 07 4"
    assert str(Greeted(3)) == "3 for you"


def test_it_is_a_frozen_dataclass_with_slots() -> None:
    one = Put("{key}", "v")
    assert str(one).startswith("Put {key}:")  # a value is no template
    assert one == Put("{key}", "v") and hash(one) == hash(Put("{key}", "v"))
    assert not hasattr(one, "__dict__")
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(FrozenInstanceError):
        one.key = "other"  # type: ignore[misc]


def test_a_name_that_it_has_not_is_refused() -> None:
    with pytest.raises(TypeError, match="Wrong has no vlaue, which its words name"):

        @worded("{key} {vlaue}")
        class Wrong:
            key: str
            value: str
