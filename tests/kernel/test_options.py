"""The system line on a small system: fields are options, annotations say how they are written."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import pytest

from mqlab.kernel import NodeSpec, Quiet, System, Text
from mqlab.kernel.options import SORTED, UNWRITTEN, Most, Order, Pairs, Programs, write_calls


@dataclass(frozen=True, slots=True)
class Idle(Quiet):
    def step(self, event, disk):
        return self, ()


def start(role, disk, at_ms):
    return role, ()


@dataclass(frozen=True)
class Queue(System):
    size: Annotated[int, Most(9, "a drawing has room for 9")] = 3
    wait_ms: int = 100
    tries: int | None = None
    mode: str = "fair"
    readers: tuple[str, ...] = ("one",)
    writers: Pairs = (("app", "orders"),)
    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()
    order: Order = (("store", ("write", "reply")),)
    rule: Annotated[Callable[[int], bool] | None, UNWRITTEN] = None

    name = "queue"
    orderable = {"store": ("write", "reply"), "a": ("x",), "b": ("y", "z")}

    def nodes(self):
        programs = dict(self.programs)
        clients = [
            NodeSpec(name, ((name, partial(start, Idle())),), programs.get(name, ()))
            for name, _ in self.writers
        ]
        return (*clients, NodeSpec("broker", (("broker", partial(start, Idle())),)))

    def safeguards(self):
        return {"fence": Text("an old writer is refused"), "lock": Text("one writer at a time")}

    def call(self, words):
        if words[0] != "put":
            raise ValueError(f"{words[0]!r} is not a call; expected `put VALUE`")
        return words


@dataclass(frozen=True)
class LongQueue(Queue):
    """What a subclass adds is an option too, and it is the subclass that is read."""

    size: int = 30
    outputs: tuple[str, ...] = ()

    name = "long"


@dataclass(frozen=True)
class Bare(System):
    size: int = 1

    name = "bare"

    def nodes(self):
        return ()


def read(line):
    words = shlex.split(line)
    kind = {"queue": Queue, "long": LongQueue, "bare": Bare}[words[0]]
    return kind.from_options(dict(word.split("=", 1) for word in words[1:]))


ORDER = " order.store=write,reply"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (f"queue{ORDER}", {}),
        (f"queue size=9 wait_ms=0{ORDER}", {"size": 9, "wait_ms": 0}),
        (f"queue tries=0{ORDER}", {"tries": 0}),
        (f"queue mode=unfair{ORDER}", {"mode": "unfair"}),
        (f"queue 'mode=two words'{ORDER}", {"mode": "two words"}),
        (f"queue readers=b,a{ORDER}", {"readers": ("b", "a")}),
        (f"queue readers={ORDER}", {"readers": ()}),
        (f"queue writers=app:t,zombie:t{ORDER}", {"writers": (("app", "t"), ("zombie", "t"))}),
        (f"queue writers=app,raw:-{ORDER}", {"writers": (("app", "app"), ("raw", "-"))}),
        (f"queue off=fence,lock{ORDER}", {"off": ("fence", "lock")}),
        ("queue order.store=reply", {"order": (("store", ("reply",)),)}),
        ("queue order.store=", {"order": (("store", ()),)}),
        ("queue order.a=x order.b=y,z", {"order": (("a", ("x",)), ("b", ("y", "z")))}),
        (f"long size=99 outputs=x,y{ORDER}", {"size": 99, "outputs": ("x", "y")}),
        ("bare size=2", {"size": 2}),
    ],
)
def test_a_line_is_read_and_written_back(line, fields):
    found = read(line)
    assert found == type(found)(**fields)
    assert found.line() == line
    assert read(found.line()) == found


def test_a_program_is_an_option_of_its_client():
    found = read("queue mode=unfair 'app=put a; put b' order.store=reply")
    assert found.programs == (("app", (("put", "a"), ("put", "b"))),)
    assert found.nodes()[0].program == (("put", "a"), ("put", "b"))


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (("put a", "put {b, c}"), "'app=put a; put b c'"),  # without the braces of a narration
        ((), "app="),
    ],
)
def test_a_program_is_written_behind_the_other_options(program, line):
    found = Queue(programs=(("app", program),), mode="unfair")
    assert found.line() == f"queue mode=unfair {line}{ORDER}"
    assert f"app={write_calls(program)}" == "".join(shlex.split(line))


def test_a_program_that_is_a_function_has_no_line():
    assert Queue(programs=(("app", lambda client: None),)).line() == f"queue{ORDER}"


def test_a_field_for_python_only_is_neither_written_nor_read():
    assert Queue(rule=bool).line() == f"queue{ORDER}"
    with pytest.raises(ValueError, match="no option 'rule'"):
        read("queue rule=bool")


def test_order_and_repetition_mean_nothing_where_the_field_says_so():
    assert read("queue off=lock,fence,lock") == read("queue off=fence,lock")
    assert read("queue readers=b,a").readers == ("b", "a")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("queue size=10", "size=10: a drawing has room for 9"),
        ("queue size=-1", "size='-1': expected a whole number"),
        ("queue wait_ms=", "wait_ms='': expected a whole number"),
        ("queue wait_ms=1_0", "wait_ms='1_0': expected a whole number"),
        ("queue wait_ms=²", "wait_ms='²': expected a whole number"),
        (f"queue wait_ms={'9' * 16}", "wait_ms='9999999999999999': expected a whole number"),
        (f"queue tries={'9' * 500}", "tries='9999999999999999999…': expected a whole number"),
        ("queue app=get", "'get' is not a call; expected `put VALUE`"),
        (
            "queue colour=red",
            "no option 'colour'; there are: size, wait_ms, tries, mode, readers, writers, off, app",
        ),
        ("queue 'broker=put a'", "no option 'broker'"),
        ("bare colour=red", "no option 'colour'; there are: size"),
        ("bare order.store=x", "no option 'order.store'; there are: size"),
        ("queue order.store=write,,reply", "no piece '' in order.store; there are: write, reply"),
        ("queue writers=size", "'size' is the name of an option; give the client another name"),
        (
            f"queue readers={','.join(map(str, range(3000)))}",
            "readers: 3,000 names, and a picture has",
        ),
        (
            f"queue 'app={'put a;' * 2001}'",
            "one client makes 2,001 calls, and 2,000 is the most shown",
        ),
    ],
)
def test_a_line_is_refused_with_advice(line, says):
    with pytest.raises(ValueError) as error:
        read(line)
    assert str(error.value).startswith(says)


def test_the_largest_number_has_fifteen_digits():
    assert read(f"queue wait_ms={'9' * 15}").wait_ms == 999_999_999_999_999


def test_bounds_hold_in_python_too():
    with pytest.raises(ValueError, match="size=-1: a drawing has room for 9"):
        Queue(size=-1)
    assert LongQueue(size=-1).size == -1  # its annotation has no bound


def test_an_annotation_without_a_spelling_is_refused_when_the_system_is_made():
    @dataclass(frozen=True)
    class Odd(System):
        rate: float = 0.5

        name = "odd"

    with pytest.raises(TypeError, match=r"Odd\.rate: a system line has no spelling"):
        Odd()
