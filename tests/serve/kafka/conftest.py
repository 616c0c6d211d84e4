"""A running broker and confluent-kafka clients for it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def broker() -> Iterator[RunningBroker]:
    """One broker for all tests that do not stop it; each uses topics of its own."""
    with serve() as running:
        yield running


@pytest.fixture
def topic() -> str:
    """A name nobody else uses."""
    return f"topic-{next(_NUMBERS)}"
