"""A process that stands beside and is told lines."""

from __future__ import annotations

import sys

import pytest

from mqlab.real.program import RealBrokerError
from tests.oracle import beside
from tests.oracle.beside import Beside

ECHO = [sys.executable, "-uc", "import sys\nfor line in sys.stdin: print('heard', line, end='')"]


def test_one_beside_answers_line_by_line_until_it_is_closed() -> None:
    echo = Beside("Echo", ECHO)
    for word in ("one", "two"):
        echo.write_line(word)
        assert echo.hear() == f"heard {word}"
    echo.close()
    with pytest.raises(RealBrokerError, match="Echo came to no end"):
        echo.hear()


def test_one_beside_that_says_nothing_is_not_waited_for_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(beside, "PATIENCE_S", 0.01)
    silent = Beside("Silent", [sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(RealBrokerError, match="Silent came to no end"):
        silent.hear()
    silent.close()
