"""The command `mqlab real pulsar`, beyond what every broker's has."""

from __future__ import annotations

from mqlab.cli import real_pulsar
from mqlab.pulsar.evidence import VERSIONS
from mqlab.real.pulsar.jars import JARS
from tests.oracle.pulsar.notebook import PROFILES


def test_a_version_has_its_release_line() -> None:
    assert set(VERSIONS) == set(PROFILES)
    assert all(version.startswith(profile) for profile, version in VERSIONS.items())
    assert set(VERSIONS.values()) == set(JARS.versions)
    assert VERSIONS["4.2"] == real_pulsar.VERSION
