"""A request that names twice as many things takes twice as much work, not four times."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from mqlab.serve.kafka.wire.api import Api
from tests.serve.kafka.many import CASES, prepare

#: things that are named: with fewer, what each costs alone is more than any loop over all of them
FEW, MORE, MANY = 110, 220, 330  # up to 100, CreateTopics answers with all configs
#: the work of the third part by that of the second; a small loop over all of them makes it 1.3
ALIKE = 1.15
#: requests that name at most one thing, or nothing that work is done for
SINGLE = {
    "HEARTBEAT", "API_VERSIONS", "INIT_PRODUCER_ID", "ADD_OFFSETS_TO_TXN",
    "DESCRIBE_CLUSTER", "JOIN_GROUP", "END_TXN",
}  # fmt: skip


def count_work(what: Callable[[], object]) -> int:
    """Instructions of Python, of the very code that runs: no clock is asked."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        what()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_as_what_is_named(name: str) -> None:
    prepare(name, 2)()
    few, more, many = (count_work(prepare(name, n)) for n in (FEW, MORE, MANY))
    assert many - more < ALIKE * (more - few), (few, more, many)


def test_every_request_that_names_many_is_measured() -> None:
    def plain(text: str) -> str:
        return text.replace("_", "").lower()

    named = {plain(name.split(",")[0].split(" ")[0]) for name in CASES}
    named |= {plain(word) for name in CASES for word in name.replace(",", "").split()}
    missing = [api.name for api in Api if plain(api.name) not in named and api.name not in SINGLE]
    assert not missing
