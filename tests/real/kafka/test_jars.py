"""Which jars of Kafka are pinned."""

from mqlab.real.kafka.jars import JARS


def test_every_version_is_pinned_in_full():
    names = [row.split("  ")[1] for row in JARS.pins.read_text("utf-8").splitlines()]
    for version in JARS.versions:
        assert f"{version}/kafka-clients-{version}.jar" in names
        assert sum(name.startswith(f"{version}/") for name in names) == 53


def test_the_pom_names_exact_versions() -> None:
    pom = JARS.pom("4.3.1")
    assert pom.count("<version>4.3.1</version>") == 3 and "LATEST" not in pom
