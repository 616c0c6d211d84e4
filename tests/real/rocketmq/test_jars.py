"""Which jars of RocketMQ are pinned."""

from mqlab.real.rocketmq.jars import JARS
from tests.oracle.rocketmq.example import EXAMPLE


def test_every_version_is_pinned_in_full() -> None:
    names = [row.split("  ")[1] for row in JARS.pins.read_text("utf-8").splitlines()]
    counts = {version: sum(n.startswith(f"{version}/") for n in names) for version in JARS.versions}
    assert counts == {"5.5.0": 137, "4.9.7": 40}
    for version in JARS.versions:
        for part in ("broker", "client", "namesrv", "remoting", "store"):
            assert f"{version}/rocketmq-{part}-{version}.jar" in names


def test_the_pom_names_exact_versions() -> None:
    pom = JARS.pom("5.5.0")
    assert pom.count("<version>5.5.0</version>") == 3 and "LATEST" not in pom


def test_the_example_and_mqadmin_are_a_jar_each_of_an_exact_version() -> None:
    rows = EXAMPLE.pins.read_text("utf-8").splitlines()
    names = [f"5.5.0/rocketmq-{name}-5.5.0.jar" for name in ("example", "tools")]
    assert [row.split("  ")[1] for row in rows] == names
    assert "<exclusion>" in EXAMPLE.pom("5.5.0") and "LATEST" not in EXAMPLE.pom("5.5.0")
