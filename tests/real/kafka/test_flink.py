"""Flink's connector is one jar of an exact version, built for the Flink that is named."""

from mqlab.real.kafka.flink import CONNECTOR, JARS
from mqlab.spark.flink.statements import VERSION


def test_each_version_of_flink_has_its_pinned_connector():
    rows = [row.split("  ") for row in JARS.pins.read_text("utf-8").splitlines()]
    assert [name for _, name in rows] == [f"{v}/{JARS.landmark}" for v in JARS.versions]
    assert all(len(digest) == 64 for digest, _ in rows)
    assert JARS.versions == (VERSION,) == tuple(CONNECTOR)


def test_the_pom_asks_for_this_jar_and_for_nothing_that_it_names() -> None:
    pom = JARS.pom(VERSION)
    assert f"<version>{CONNECTOR[VERSION]}</version>" in pom
    assert CONNECTOR[VERSION] in JARS.landmark
    assert "<artifactId>*</artifactId>" in pom and pom.count("<dependency>") == 1
