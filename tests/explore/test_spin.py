"""The explorer beside Spin: the same model in both has the same states."""

import shutil

from tests.models import measure


def test_both_searches_are_measured_in_one_run():
    figures = measure.two_phase(3)
    assert "two-phase commit, 3 managers: 288 states" in figures
    both = shutil.which("spin") and shutil.which("cc")
    spin = "Spin, 288 states" if both else "Spin"
    assert f"two-phase commit, 3 managers: {spin}" in figures


def test_without_spin_one_is_told_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "apt-get install spin" in measure.two_phase(3)["two-phase commit, 3 managers: Spin"]
