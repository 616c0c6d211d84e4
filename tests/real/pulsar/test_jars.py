"""Which jars of Pulsar are pinned."""

import itertools

from mqlab.real.pulsar.jars import JARS


def test_each_version_is_pinned_in_full() -> None:
    names = [row.split("  ")[1] for row in JARS.pins.read_text("utf-8").splitlines()]
    counts = {v: sum(name.startswith(f"{v}/") for name in names) for v in JARS.versions}
    assert counts == {"4.2.4": 327, "4.0.7": 316} and len(names) == sum(counts.values())
    parts = ("broker", "client-original", "client-admin-original", "transaction-coordinator")
    for version, part in itertools.product(JARS.versions, parts):
        assert f"{version}/pulsar-{part}-{version}.jar" in names


def test_no_second_client_is_mixed_in() -> None:
    """A shaded client beside the broker's own would be half loaded from each."""
    names = {row.split("/")[1] for row in JARS.pins.read_text("utf-8").splitlines()}
    assert not {name for name in names if name.startswith("pulsar-client-4")}


def test_the_pom_names_exact_versions() -> None:
    pom = JARS.pom("4.2.4")
    assert pom.count("<version>4.2.4</version>") == 3 and "LATEST" not in pom
