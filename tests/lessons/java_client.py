"""The labs' cells with a released Java client, as they run where Java and Maven are at hand: every
line is what a real broker told. `make real` runs this."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mqlab.lessons.laid import Laid
from mqlab.lessons.pulsar.lab10 import redeliver_to_java
from mqlab.lessons.rocketmq.lab03 import send_from_java
from mqlab.lessons.rocketmq.lab04 import die_in_java


@pytest.mark.parametrize("cell", [send_from_java, die_in_java, redeliver_to_java])
def test_our_server_tells_it_what_a_real_one_told(cell: Callable[..., Laid]) -> None:
    told = cell(fetch=True)
    assert told.right is not None
    assert [row for row in told.rows if row.mark] == []
