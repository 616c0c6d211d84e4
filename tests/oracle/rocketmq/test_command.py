"""The command `mqlab real rocketmq`, beyond what every broker's has."""

from __future__ import annotations

import pytest

from mqlab.cli import real_rocketmq
from mqlab.rocketmq.evidence import VERSIONS
from mqlab.rocketmq.remoting.unserved import UNSERVED
from tests.oracle.rocketmq.client import PROFILES
from tests.oracle.rocketmq.differences import PAGE
from tests.oracle.rocketmq.oracle import ROCKETMQ
from tests.oracle.runner import select_programs


def test_a_version_has_its_release_line() -> None:
    assert set(VERSIONS) == set(PROFILES)
    for profile, version in VERSIONS.items():
        assert version.startswith(profile)
        level = PROFILES[profile].level
        assert {name for _, name in select_programs(ROCKETMQ, levels=(level,))} == {profile}
    assert VERSIONS["5.5"] == real_rocketmq.VERSION


@pytest.mark.parametrize("code", sorted(UNSERVED))
def test_each_refused_request_stands_on_the_page(code: int) -> None:
    one = UNSERVED[code]
    assert f"| {code} | {one.name} | {one.asked_by} | {one.why} |" in PAGE.read_text("utf-8")
