"""An outcome keeps the call itself: its words are for people, its fields for claims."""

from dataclasses import dataclass

import pytest

from mqlab.kernel import FAILED, UNKNOWN, Outcome, build_failure, build_success


@dataclass(frozen=True, slots=True)
class Put:
    key: str
    value: int

    def __str__(self):
        return f"put {self.key} {self.value}"


@pytest.mark.parametrize(
    ("outcome", "words", "ok"),
    [
        (build_success(Put("a", 1)), "put a 1: ok", True),
        (build_success(Put("a", 1), "@7"), "put a 1: ok @7", True),
        (build_failure(Put("a", 1), KeyError("a")), "put a 1: failed 'a'", False),
        (Outcome(Put("a", 1), UNKNOWN), "put a 1: unknown", False),
        (build_success("init"), "init: ok", True),
    ],
)
def test_an_outcome_in_words(outcome, words, ok):
    assert (str(outcome), outcome.ok) == (words, ok)


def test_the_call_is_kept_and_compared_as_itself():
    assert build_failure(Put("a", 1), "full").call == Put("a", 1)
    assert build_failure(Put("a", 1), "full").status == FAILED
    assert build_success(Put("a", 1)) == build_success(Put("a", 1)) != build_success(Put("a", 2))
    assert hash(build_success(Put("a", 1))) == hash(build_success(Put("a", 1)))
    assert build_success("put a 1") != build_success(Put("a", 1))  # the same words, another call
