"""A broker and one Spark session for all tests of the job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def broker_address() -> Iterator[str]:
    """`MQLAB_TEST_BOOTSTRAP` (a real Kafka, say) if it is set, else our own server."""
    given = os.environ.get("MQLAB_TEST_BOOTSTRAP")
    if given:
        yield given
        return
    from mqlab.serve.kafka import serve

    with serve() as broker:
        yield broker.address


@pytest.fixture(scope="session")
def spark() -> Any:
    """The job's own session; it ends with the process."""
    pytest.importorskip("confluent_kafka")
    from mqlab.spark.session import session

    return session()
