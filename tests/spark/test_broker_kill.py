"""The broker dies in the middle of the job's transactions; the job lives on and is right."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.lessons.spark import decide

pytestmark = pytest.mark.needs("java")


def test_the_income_is_right_although_the_broker_is_killed_three_times(spark: Any) -> None:
    """Rows half out, after the commit, and all out before the commit: each in a batch of its own.
    The broker is always our own server: a real one is not killed here."""
    from mqlab.lessons.spark.lab11 import DEATHS, kill_broker

    said: list[str] = []
    found = kill_broker(say=said.append)
    assert [line.partition(": ")[2] for line in said] == [point for _, point in DEATHS]
    assert len(set(found.pids)) == 4, "each death was followed by a new process"
    assert found.error == ""
    assert found.tenths == sum(decide.amounts_of_batches(decide.HALF_HOUR))
