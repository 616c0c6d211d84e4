"""Released Java clients in the labs, where Java and Maven are at hand: each line that they are told
is what a real broker told them. `make real` runs this."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mqlab.lessons.laid import Laid, read_laid
from mqlab.lessons.pulsar.lab10 import redeliver_to_java
from mqlab.lessons.rocketmq.lab03 import send_from_java
from mqlab.lessons.rocketmq.lab04 import die_in_java
from mqlab.real.kafka.client import Target
from mqlab.serve.kafka import serve
from tests.oracle.kafka.oracle import KAFKA
from tests.oracle.runner import run


@pytest.mark.parametrize("cell", [send_from_java, die_in_java, redeliver_to_java])
def test_our_server_tells_it_what_a_real_one_told(cell: Callable[..., Laid]) -> None:
    told = cell(fetch=True)
    assert told.right is not None
    assert [row for row in told.rows if row.mark] == []


@pytest.mark.parametrize("name", ["java-copy", "java-fenced", "java-admin", "java-wrong-group"])
def test_it_commits_through_a_learners_coordinator(name: str, rights: Path) -> None:
    with serve(coordinator=rights / "sitting-5.py", auto_create=False) as broker:
        told = run(KAFKA, KAFKA.programs()[name], "tv2", Target("mqlab", broker.address))
    recorded = read_laid(f"kafka-4.3.1/tv2/{name}").left
    assert [row for row in Laid(recorded, told).rows if row.mark] == []
