"""A command that names twice as many things takes twice as much work, not four times."""

from __future__ import annotations

import pytest

from mqlab.serve.pulsar.front import HANDLERS
from tests.serve.many import ALIKE, WALK, check_growth
from tests.serve.pulsar.many import CASES, prepare

#: commands that name at most one thing, or nothing that work is done for
SINGLE = {
    "CONNECT", "PING", "PONG", "PARTITIONED_METADATA", "LOOKUP", "GET_SCHEMA",
    "GET_OR_CREATE_SCHEMA", "PRODUCER", "CLOSE_PRODUCER", "SUBSCRIBE", "UNSUBSCRIBE",
    "CLOSE_CONSUMER", "SEEK", "SEND", "GET_LAST_MESSAGE_ID", "TC_CLIENT_CONNECT_REQUEST", "NEW_TXN",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_as_what_is_named(name: str) -> None:
    check_growth(prepare, name, WALK if name.startswith("GET_") else ALIKE)


def test_every_command_that_names_many_is_measured() -> None:
    named = {name.split(",")[0].split(" ")[0] for name in CASES}
    assert [name for name in HANDLERS if name not in named | SINGLE] == []
