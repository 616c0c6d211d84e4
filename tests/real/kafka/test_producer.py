"""What the producer of raw requests sends where it is given a number."""

from __future__ import annotations

from types import SimpleNamespace as Row
from typing import Any

import pytest

from mqlab.kafka.errors import Error
from mqlab.kafka.log import Batch
from mqlab.real.kafka.producer import Producer


@pytest.mark.parametrize(("given", "sent"), [(None, -1), (3, 3)])
def test_a_sequence_number_that_is_given_is_sent_without_a_producer_id_too(given, sent) -> None:
    lab: Any = Row(
        profile=Row(produce=9), again=lambda ask, error, once: ask(), note=lambda *said: None
    )
    producer, batches = Producer(lab, None), []

    def take(partition: str, batch: Batch, *how: Any) -> Row:
        batches.append(batch)
        return Row(error_code=Error.NONE, base_offset=0)

    producer._produced = take  # type: ignore[method-assign]
    producer.produce("orders-0", "a", seq=given)
    assert [batch.first_seq for batch in batches] == [sent]
