"""What the recorder of steps keeps is bounded."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import Caller, Request
from mqlab.serve.home import count_nothing
from mqlab.serve.trace import live
from mqlab.serve.trace.live import Recorder


def test_the_ring_is_bounded_by_steps_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "BYTES", 1_000)
    gone: list[Any] = []
    ring = Recorder(gone.append, count_nothing)
    for i in range(30):
        ring.record_step(i, "r", None, Request(Caller("c"), i), (), 100)
    assert (len(ring.steps), ring.bytes, len(gone)) == (10, 1_000, 20)
    ring.record_step(30, "r", None, Request(Caller("c"), 30), (), 5_000)
    assert (len(ring.steps), ring.bytes) == (0, 0), "one that is too large alone is not kept"
    ring.record_step(31, "r", None, Request(Caller("c"), 31), (), 1)
    assert ring.take()[0] == 31 and ring.bytes == 0
