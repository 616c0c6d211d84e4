"""What a search may take of the memory there is."""

import pytest

from mqlab.explore import Budget, budget, explore
from tests.kernel.toy import make_toy

TWO = make_toy("keep a", "keep b")
ROWS = "MemTotal:       16000000 kB\nMemAvailable:   4000 kB\n"


@pytest.mark.parametrize(
    ("limit", "used", "free"),
    [("max", "7", 4_096_000), ("3000000", "1000000", 2_000_000), ("10", "20", 0)],
)
def test_a_container_may_have_less_than_its_machine(limit, used, free, tmp_path, monkeypatch):
    for name, text in (("MEMINFO", ROWS), ("LIMIT", limit), ("USED", used)):
        path = tmp_path / name
        path.write_text(text, "ascii")
        monkeypatch.setattr(budget, name, path)
    assert budget.available() == free


def test_where_nobody_tells_nothing_is_known(tmp_path, monkeypatch):
    for name in ("MEMINFO", "LIMIT"):
        monkeypatch.setattr(budget, name, tmp_path / "none")
    assert budget.available() is None


def test_a_search_that_has_taken_its_memory_says_so(monkeypatch):
    grown = iter(range(0, 10**9, 10**7))
    monkeypatch.setattr("mqlab.explore.known.resident", lambda: next(grown))
    monkeypatch.setattr("mqlab.explore.search.SLICE", 0)
    verdict = explore(TWO, Budget(breaks=2, kills=2), memory=25_000_000)
    assert not verdict.complete
    assert "not exhaustive: " in str(verdict)
    assert str(verdict).endswith("; it has taken 25 MB of memory")
