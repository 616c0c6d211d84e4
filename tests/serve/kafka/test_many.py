"""A request that names twice as many things takes twice as much work, not four times."""

from __future__ import annotations

import pytest

from mqlab.serve.kafka.wire.api import Api
from tests.serve.kafka.many import CASES, prepare
from tests.serve.many import ALIKE, HASHED, check_growth

#: requests that name at most one thing, or nothing that work is done for
SINGLE = {
    "HEARTBEAT", "API_VERSIONS", "INIT_PRODUCER_ID", "ADD_OFFSETS_TO_TXN",
    "DESCRIBE_CLUSTER", "JOIN_GROUP", "END_TXN",
}  # fmt: skip

#: what walks a map whose keys are transactional ids
BY_TEXT = {"ListTransactions"}


@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_as_what_is_named(name: str) -> None:
    check_growth(prepare, name, HASHED if name in BY_TEXT else ALIKE)


def test_every_request_that_names_many_is_measured() -> None:
    def plain(text: str) -> str:
        return text.replace("_", "").lower()

    named = {plain(name.split(",")[0].split(" ")[0]) for name in CASES}
    named |= {plain(word) for name in CASES for word in name.replace(",", "").split()}
    missing = [api.name for api in Api if plain(api.name) not in named and api.name not in SINGLE]
    assert not missing
