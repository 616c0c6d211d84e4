"""No test here runs where the server cannot."""

import pytest

pytest.importorskip("kio", reason="the server needs kio: run `make setup`")
