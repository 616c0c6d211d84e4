"""`mqlab income flink`: what it refuses, and what it says where something is missing."""

from __future__ import annotations

import pytest

from mqlab import cli
from mqlab.real import jars
from mqlab.spark.flink import job


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["income", *words]) == 2
    line = capsys.readouterr().err
    assert line.startswith("mqlab: ") and line.count("\n") == 1
    return line


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["flink", "--soft"], "--soft is not for the Flink job"),
        (["flink", "--master", "local[1]"], "--master is not for the Flink job"),
        (["flink", "--orders-per-batch", "5"], "--orders-per-batch is not for the Flink job"),
        (["--kill"], "--kill goes with `mqlab income flink`"),
        (["chaos", "--sink", "transactions"], "--sink applies to a single job"),
        (["chaos", "--setup"], "--setup goes with `mqlab income flink`"),
        (["flink", "--kill", "--bootstrap-server", "a:1"], "leave out --bootstrap-server"),
        (["flink", "--record", "--year"], "leave out --orders and --year"),
    ],
)
def test_what_does_not_go_together_is_refused(capsys, words: list[str], why: str) -> None:
    assert why in said(capsys, *words)


def test_without_java_it_says_so(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "find_java", lambda: None)
    assert "a real Flink needs Java 17 or later: install openjdk" in said(capsys, "flink")


def test_without_maven_and_the_jar_it_says_so(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(jars, "find_java", lambda: 17)
    monkeypatch.setattr(jars.shutil, "which", lambda name: None)
    monkeypatch.setattr(jars.Jars, "is_here", lambda self, version: False)
    assert "it is not installed: install maven" in said(capsys, "flink", "--kill")


def test_without_pyflink_it_names_the_command(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars.Jars, "find_missing", lambda self: "")
    monkeypatch.setattr(job, "_is_complete", lambda folder: False)
    assert "run `mqlab income flink --setup`" in said(capsys, "flink")


def test_a_sink_of_sparks_is_refused(capsys, monkeypatch, tmp_path) -> None:
    from mqlab.cli import income

    flink = job.Flink(tmp_path / "python", tmp_path / "connector.jar")
    monkeypatch.setattr(income, "_find_flink", lambda make, say: flink)
    words = ("flink", "--sink", "transactions", "--bootstrap-server", "127.0.0.1:1")
    assert "Flink's Kafka sink is one of at-least-once, exactly-once" in said(capsys, *words)


def test_a_broker_that_does_not_answer_is_named(capsys, monkeypatch, tmp_path) -> None:
    from mqlab.cli import income

    flink = job.Flink(tmp_path / "python", tmp_path / "connector.jar")
    monkeypatch.setattr(income, "_find_flink", lambda make, say: flink)
    line = said(capsys, "flink", "--bootstrap-server", "127.0.0.1:1")
    assert "the broker at 127.0.0.1:1 does not answer" in line
