"""The command `mqlab real rocketmq`, beyond what every broker's has."""

from __future__ import annotations

from mqlab.cli import real_rocketmq
from mqlab.real.rocketmq.client import PROFILES
from mqlab.real.rocketmq.hosts import VERSIONS
from mqlab.real.rocketmq.oracle import ROCKETMQ
from mqlab.real.runner import select_programs


def test_a_version_has_its_release_line() -> None:
    assert set(VERSIONS) == set(PROFILES)
    for profile, version in VERSIONS.items():
        assert version.startswith(profile)
        level = PROFILES[profile].level
        assert {name for _, name in select_programs(ROCKETMQ, levels=(level,))} == {profile}
    assert VERSIONS["5.5"] == real_rocketmq.VERSION
