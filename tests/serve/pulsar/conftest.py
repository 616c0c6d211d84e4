"""A running broker and names that nobody else uses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar import serve
from tests.serve.pulsar.raw import Raw

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def broker() -> Iterator[RunningBroker]:
    """One broker for all tests that do not stop it."""
    with serve() as running:
        yield running


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[Raw]:
    with Raw(broker.address) as raw:
        yield raw


@pytest.fixture
def topic() -> str:
    return f"persistent://public/default/topic{next(_NUMBERS)}"
