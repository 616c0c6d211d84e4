"""What the server's log calls a refusal."""

from __future__ import annotations

import pytest

pytest.importorskip("kio", reason="the server needs kio: run `make setup`")

from mqlab.kafka.errors import Error
from mqlab.serve.kafka.refusals import find_refusals
from mqlab.serve.kafka.wire.answers import EndTxnResponse, ProducedPartition


def test_refusals_are_found_wherever_they_stand() -> None:
    assert list(find_refusals(EndTxnResponse(Error.PRODUCER_FENCED))) == [Error.PRODUCER_FENCED]
    assert list(find_refusals(EndTxnResponse(Error.CONCURRENT_TRANSACTIONS))) == []
    deep = ProducedPartition(
        0, record_errors=(EndTxnResponse(), EndTxnResponse(Error.INVALID_RECORD))
    )
    assert list(find_refusals(deep)) == [Error.INVALID_RECORD]
