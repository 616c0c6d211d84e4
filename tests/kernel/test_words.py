"""Messages that say themselves by a template."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import pytest

from mqlab.kernel import NOTHING, Fact, FactKind, Outcome, Text, Words, build_failure, worded
from mqlab.kernel.reasons import POWER_CUT, UNKNOWN_OUTCOME, Reasons, say_unguarded
from mqlab.kernel.role import FAILED, UNKNOWN
from mqlab.kernel.usages import (
    WIDE,
    Usages,
    any_text,
    bare,
    number,
    one_of,
    quote,
    split,
    split_words,
)


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


# ---- Sentences why: which of a broker's fits, and what is said while a safeguard is off

STOPPED = Words("It stops.", "它停止。")
AGAIN = Words("It asks again.", "再问一次。")
BAD = Words("It failed.", "失败了。")
GOOD = Words("It was done.", "完成了。")
MOVED = Words("up to {lso}", "至 {lso}")
ENTERED = Words("{name} is {state}", "{name} 是 {state}")
UP_TO = Words("Read up to {lso}; the end is {hw}.", "读到 {lso}；末尾是 {hw}。")

REASONS = Reasons(
    stopped={"store": STOPPED},
    recovered={},
    timers={"retry a": GOOD, "retry ": AGAIN},
    changes={MOVED: GOOD, (ENTERED, "open"): AGAIN, (ENTERED, "closed"): BAD},
    alone={FactKind.POWER_CUT: POWER_CUT},
    explain_success=lambda outcome: GOOD() if outcome.ok else NOTHING,
    explain_failure=lambda outcome: AGAIN() if outcome.meaning == "fenced" else BAD(),
)


def why(kind: FactKind, body: object = None, text: str = "") -> Text:
    return REASONS.explain(Fact(1, 1, "a", "·", Text(text), kind=kind, body=body), "store")


def test_a_sentence_is_found_by_the_kind_of_the_fact() -> None:
    assert why(FactKind.KILL) == STOPPED()
    assert why(FactKind.POWER_CUT) == POWER_CUT()
    assert why(FactKind.TIMER, "retry b") == AGAIN()
    assert why(FactKind.TIMER, "retry a b") == GOOD(), "the first that fits"
    assert why(FactKind.TIMER, "no retry a") == why(FactKind.FLUSH) == NOTHING
    assert why(FactKind.RETURN, Outcome("call")) == GOOD()
    assert why(FactKind.RETURN, Outcome("call", FAILED)) == BAD()
    assert why(FactKind.RETURN, build_failure("call", "fenced")) == BAD(), "these are words"
    assert why(FactKind.RETURN, build_failure("call", "no", "fenced")) == AGAIN()
    assert why(FactKind.RETURN, Outcome("call", UNKNOWN)) == UNKNOWN_OUTCOME()
    assert why(FactKind.RETURN, "a value of another kind") == NOTHING


@pytest.mark.parametrize("text", ["", "up to 5", "a is closed"])
def test_a_change_is_known_by_its_template_and_its_state_whatever_its_line_says(text: str) -> None:
    def change(made: Text) -> Text:
        return why(FactKind.CHANGE, made.made, text)

    assert change(MOVED(lso=5)) == GOOD()
    assert change(ENTERED(name="closed", state="open")) == AGAIN()
    assert change(ENTERED(name="open", state="closed")) == BAD()
    assert change(ENTERED(name="closed", state="new")) == change(Text("up to 5")) == NOTHING


def test_an_error_says_itself_what_it_means() -> None:
    failed = build_failure("call", FactKind.KILL)
    assert (failed.detail, failed.meaning) == ("kill", FactKind.KILL)


def test_while_a_safeguard_is_off_its_sentences_are_replaced() -> None:
    table = {"lso": {UP_TO: Words("all is read.", "全部读到。")}}
    filled = UP_TO(lso=3, hw=5)
    assert say_unguarded(filled, ("lso",), table) == Text(
        "lso is off: all is read.", "lso 已关闭：全部读到。"
    )
    assert say_unguarded(filled, (), table) == filled
    assert say_unguarded(filled, ("another",), table) == filled
    assert say_unguarded(AGAIN(), ("lso",), table) == AGAIN()


def test_a_step_to_which_several_safeguards_matter_names_them_all() -> None:
    table = {name: {AGAIN: Words(f"no {name}.", f"没有 {name}。")} for name in ("a", "b", "c")}
    assert say_unguarded(AGAIN(), ("a", "c"), table) == Text(
        "a is off: no a. c is off: no c.", "a 已关闭：没有 a。c 已关闭：没有 c。"
    )


def test_a_text_is_known_by_its_template() -> None:
    assert UP_TO.has_made(UP_TO(lso="1 (of 2)", hw=""))
    assert not UP_TO.has_made(Text("Read up to 3"))
    assert AGAIN.has_made(AGAIN()) and not AGAIN.has_made(GOOD())


# ---- Calls by their usages: what fits, what is missing, and what is said of the rest


def keep(*arguments: Any, **options: Any) -> tuple[Any, ...]:
    return (*arguments, options)


USAGES = Usages(
    {
        "stop": keep,
        "turn [by=QUARTERS]": keep,
        "name WORD [by=QUARTERS]": keep,
        "put BOX VALUE … [wait=MS to=BOX] [note=TEXT]": keep,
        "open [BOX] [wide | narrow]": keep,
        "give left|right LEVEL": keep,
        "list [BOX …], each of them once": keep,
    }
)
READERS = {
    "BOX": one_of("box", ("red", "blue")),
    "VALUE": any_text,
    "WORD": bare,
    "TEXT": any_text,
    "QUARTERS": number,
}


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("stop", ({},)),
        ("turn by=1", ({"by": 1},)),
        ("name 12=3 by=1", ("12=3", {"by": 1})),
        ("put red a b", ("red", ("a", "b"), {})),
        ("put to=red red wait=5 a note=x", ("red", ("a",), {"to": "red", "wait": 5, "note": "x"})),
        ("turn by=2", ({"by": 2},)),
        ('put red "a b" \'c "d", {e};\'', ("red", ("a b", 'c "d", {e};'), {})),
        ('put red "it\'s" note="two words"', ("red", ("it's",), {"note": "two words"})),
        ('put red "wait=5" note=x" "y', ("red", ("wait=5",), {"note": "x y"})),
        ("put red \\x02", ("red", ("\\x02",), {})),
        ("open", ("", "", {})),
        ("open narrow", ("", "narrow", {})),
        ("open red wide", ("red", "wide", {})),
        ("give left 3", ("left", 3, {})),
        ("list", ((), {})),
        ("list red blue", (("red", "blue"), {})),
    ],
)
def test_the_words_of_a_line_are_arguments_and_options(line: str, given: tuple[Any, ...]) -> None:
    assert USAGES.read(split_words(line), READERS) == given


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("dance", "no call 'dance'; there are: stop, turn, name, put, open, give, list"),
        ("trun by=2", "no call 'trun'; did you mean turn?"),
        ("put bleu a", "no box 'bleu'; did you mean blue?"),
        (f"put red a wait={'9' * 16}", "wait=9999999999999999: expected a whole number"),
        ("put red a wait=²", "wait=²: expected a whole number"),
        ("stop now", "'stop now' is not a call; expected stop"),
        ("put red", "expected put BOX VALUE … [wait=MS to=BOX] [note=TEXT]"),
        ("put red a colour=x", "is not a call; expected put BOX"),
        ("put red a wait=soon", "wait=soon: expected a whole number"),
        ("put red a to=green", "no box 'green'; there are: red, blue"),
        ("name {a}", "'{a}': expected one word without"),
        ('name "a b"', "'a b': expected one word without"),
        ('name ""', "'': expected one word without"),
        ('put red "a\nb"', r"'a\nb': expected one character or more on one line"),
        ('put red ""', "'': expected one character or more on one line"),
        ('put red "a b', "'put red \"a b': a quotation mark is not closed; write a value of"),
        ("put red it's", '"put red it\'s": a quotation mark is not closed'),
        ('stop "right now"', """'stop "right now"' is not a call; expected stop"""),
        ("open red tall", "expected open [BOX] [wide | narrow]"),
        ("turn by=half", "is not a call; expected turn [by=QUARTERS]"),
        ("give up 3", "expected give left|right LEVEL"),
        ("give left three", "expected give left|right LEVEL"),
        ("give wide=1 3", "expected give left|right LEVEL"),
        ("list red note=x", "'note=x': this call has no such option"),
        ("name to=red", "'to=red': this call has no such option"),
    ],
)
def test_what_does_not_fit_is_told_what_would(line: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        USAGES.read(split_words(line), READERS)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "word",
    ["a", "", " ", "a b", "it's", '"', "'\"'", '{"a": "it\'s"}', "a;", "a,b", "x=1", "\\x2", *WIDE],
)
def test_a_quoted_word_is_read_back(word: str) -> None:
    assert split_words(f"put {quote(word)} to={quote(word)}") == ("put", word, f"to={word}")
    assert split(f"put {quote(word)}, put b; c", ",;") == [f"put {quote(word)}", " put b", " c"]


def test_no_word_is_no_call() -> None:
    with pytest.raises(ValueError, match=r"^no call ''; there are: stop$"):
        Usages({"stop": keep}).read((), {})
