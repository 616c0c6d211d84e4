"""A running broker and names that nobody else uses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.rocketmq import serve
from tests.serve.rocketmq.raw import Raw

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def broker() -> Iterator[RunningBroker]:
    """One broker for all tests that do not stop it; it asks soon about what nobody has ended.
    Op records leave sooner than that, or it would ask about what has ended as well."""
    with serve(check_interval_ms=100, timeout_ms=200, op_batch_ms=20, check_max=3) as running:
        yield running


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[Raw]:
    with Raw(broker.address) as raw:
        yield raw


@pytest.fixture
def topic() -> str:
    return f"topic{next(_NUMBERS)}"


@pytest.fixture
def group() -> str:
    return f"group{next(_NUMBERS)}"
