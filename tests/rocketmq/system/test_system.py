"""The system line, what a scenario may say, and who is told what is wrong."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from mqlab.registry import SYSTEMS
from mqlab.rocketmq import SAFEGUARDS, RocketMQSystem
from mqlab.rocketmq.log import COMMIT_LOG
from mqlab.rocketmq.picture.view import read_book
from mqlab.rocketmq.states import PREVIOUS, HalfState
from mqlab.rocketmq.system import parse_call
from mqlab.scenario import load

QUEUES = ("orders-0",)
FOLDER = Path(__file__).parents[3] / "datasets" / "scenarios" / "rocketmq"


@pytest.mark.parametrize(
    "words",
    ["send-in-transaction orders-0 o1", "send-in-transaction orders-0 o1 immunity=60 delay=5",
     "send orders-0 o1 delay=3", "listener UNKNOW null throw COMMIT_MESSAGE",
     "end ROLLBACK_MESSAGE o1 group=g queue_offset=1 commit_log_offset=2 from_check=1",
     "resume 3", "consume", "consume later o1 o2", "consume suspend"],
)  # fmt: skip
def test_a_call_is_written_as_it_is_read(words):
    call = parse_call(tuple(words.split()), QUEUES)
    assert str(call) == words
    line = RocketMQSystem(programs=(("app", (call,)),)).line()
    assert words in line


def test_a_line_is_read_back():
    line = {"release": "4.9", "check_max": "3", "consumers": "shop", "off": "op_topic,half_topic",
            "app": "send-in-transaction orders-0 o1"}  # fmt: skip
    found = RocketMQSystem.from_options(line)
    assert found.check_interval_ms == 60_000, "as 4.9 does"
    assert found.config.on == frozenset(SAFEGUARDS) - {"op_topic", "half_topic"}
    again = RocketMQSystem.from_options(
        dict(word.split("=", 1) for word in __import__("shlex").split(found.line())[1:])
    )
    assert again == found


def test_the_ways_of_all_scenarios_are_the_table_of_states():
    """Each edge of the table is some scenario's, and no scenario has another."""
    seen = set()
    for path in sorted(FOLDER.rglob("*.scn")):
        world = load(path, SYSTEMS).run.world
        book = read_book(world.disk("broker").log(COMMIT_LOG).read(0))
        seen |= {edge for txn in book.txns.values() for edge in pairwise(txn.path)}
    assert seen == {(old, new) for new, olds in PREVIOUS.items() for old in olds}
    assert set(PREVIOUS) == set(HalfState)
