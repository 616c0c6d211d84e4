"""The same story by unmodified Java clients of three generations, told to a real Pulsar and to this
project's server. `make real` runs this: brokers and clients come from Maven."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqlab.real.pulsar.broker import RealPulsar
from mqlab.real.pulsar.generations import CLIENTS, tell_story
from mqlab.serve import RunningBroker

pytestmark = pytest.mark.needs("java")
SEEN = [
    "turn 0 COMMITTED",
    "paid a",
    "open nothing",
    "turn 1 ABORTED",
    "turn 2 COMMITTED",
    "turn 3 COMMITTED",
    "paid [b, c]",
    "left nothing",
]


@pytest.fixture(scope="module")
def real() -> Iterator[RealPulsar]:
    with RealPulsar() as pulsar:
        yield pulsar


@pytest.mark.parametrize("version", CLIENTS.versions)
def test_each_client_sees_the_same_at_both(
    real: RealPulsar, broker: RunningBroker, version: str
) -> None:
    run = f"story-{version}"
    assert tell_story(version, real.address, run) == SEEN
    assert tell_story(version, broker.address, run) == SEEN
