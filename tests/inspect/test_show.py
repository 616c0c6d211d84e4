"""A report in the terminal, as a page, as data: everything in it, nothing that a name could do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.inspect import (
    Evidence,
    Finding,
    Gap,
    Kind,
    LogRead,
    Position,
    Reading,
    Report,
    Txn,
    Unreadable,
    inspect,
    parse_ask,
)
from mqlab.inspect.show import cut_strips, say_age, to_json, write_html, write_page
from mqlab.kernel import Cell, Frontier, Text, speaking
from mqlab.lab import inspect_broker
from tests.inspect.folders import unpack

EVIL = "<img src=x onerror=alert(1)>\x1b[2J\u202e"
KIND = Kind("odd", Text("An odd thing"), Text("a risk"), ("kafka/torn-read", "lab 07"))


def make(name: str = EVIL) -> Report:
    """A report in which every text that comes from outside is `name`."""
    cells = tuple(Cell(i, name, "data", "T1", i < 2) for i in range(3))
    log = LogRead(name, 0, 3, (Frontier("LSO", 2), Frontier("HW", 3)), cells, (("records", 3),))
    txn = Txn("T1", name, name, name, (name,), name, 1, 2, 0, 5, name, ((name, name),))
    position = Position(name, name, 1, 3, name, (name,), name, ((name, name),))
    gap = Gap(Text(name), Text(name), True)
    evidence = (Evidence(name, name),)
    finding = Finding(KIND, name, Text(name), evidence, (name,), Text("do this"), (f"tool {name}",))
    return Report(Reading("kafka", name, 9_000, (log,), (txn,), (position,), (gap,)), (finding,))


def test_no_name_does_anything() -> None:
    report = make()
    text = str(report)
    assert "\x1b" not in text and "\u202e" not in text and r"\x1b[2J\u202e" in text
    for page in (write_page(report), write_html(report)):
        assert "<img" not in page and "\x1b" not in page and "\u202e" not in page
        assert page.count("&lt;img") > 10


def test_a_page_needs_nothing_else() -> None:
    page = write_page(make("orders-0"))
    assert not re.findall(r'(?:src|href)="(?!data:)', page) and "@import" not in page
    assert "url(http" not in page and page.startswith("<!doctype html>")
    assert 'class="diamond"' not in page and page.count('class="record"') == 6


def test_all_of_it_is_in_the_terminal() -> None:
    lines = str(make("orders-0"))
    for said in (
        "Kafka at orders-0", "An odd thing", "a risk", "do this", "tool orders-0",
        "mqlab view kafka/torn-read", "lab 07", "0:orders-0/T1", "|LSO| 2:orders-0/T1 |HW|",
    ):  # fmt: skip
        assert said in lines


def test_in_chinese() -> None:
    with speaking("zh"):
        lines = str(make("orders-0"))
    assert "风险" in lines and "日志" in lines


def test_data() -> None:
    data = json.loads(json.dumps(to_json(make("orders-0"))))
    assert data["findings"][0]["kind"]["name"] == "odd" and data["exit"] == 1
    assert data["reading"]["txns"][0]["timeout_ms"] == 5 and "own" not in data["reading"]


@pytest.mark.parametrize(("failed", "code"), [(False, 0), (True, 2)])
def test_exit_codes(failed: bool, code: int) -> None:
    gap = Gap(Text("x"), Text("y"), failed)
    assert Report(Reading("kafka", "x", 0, gaps=(gap,))).exit_code == code
    assert make().exit_code == 1


def test_frontiers_that_stand_far_apart_are_strips_of_their_own() -> None:
    cells = tuple(Cell(i, "·") for i in (*range(5, 9), *range(900, 903)))
    log = LogRead("a-0", 0, 903, (Frontier("LSO", 7), Frontier("HW", 903)), cells)
    one, two = cut_strips(log)
    assert [f.name for f in one.frontiers] == ["LSO"] and (one.start, len(one.cells)) == (5, 4)
    assert [f.name for f in two.frontiers] == ["HW"] and two.name == "a-0 @900"
    assert len(cut_strips(LogRead("a-0", 0, 0))) == 1


@pytest.mark.parametrize(
    ("ms", "said"),
    [(0, "0 s"), (999, "999 ms"), (61_000, "1 min 1 s"), (7_500_000, "2 h 5 min"),
     (90_000_000, "1 d 1 h"), (3_600_500, "1 h")],
)  # fmt: skip
def test_ages(ms: int, said: str) -> None:
    assert say_age(ms) == said


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, page = unpack("4.3.1", tmp_path), tmp_path / "page.html"
    words = ["inspect", "kafka", str(root), "--lang", "en"]
    assert main([*words, "--topic", "orders:0", "-o", str(page)]) == 1
    out = capsys.readouterr()
    assert "Hanging transaction · orders-0" in out.out and "orders-0 (1/1)" in out.err
    assert "Hanging transaction · orders-0" in page.read_text("utf-8")
    assert main([*words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["where"] == "orders-0"
    assert main(["inspect", "kafka", str(tmp_path / "none"), "--lang", "en"]) == 2
    assert "is neither a folder, nor a file" in capsys.readouterr().err
    assert main([*words, "-o", str(tmp_path / "x.png")]) == 2
    assert main([*words, "-o", str(tmp_path / "no" / "x.html")]) == 2


@pytest.mark.parametrize("broker", ["kafka", "rocketmq", "pulsar"])
@pytest.mark.parametrize(("lang", "word"), [("en_US", "running"), ("zh_CN", "运行中")])
def test_help_says_what_may_be_read(broker: str, lang: str, word: str) -> None:
    command = [sys.executable, "-m", "mqlab", "inspect", broker, "--help"]
    done = subprocess.run(command, env=os.environ | {"LANG": lang, "LC_ALL": lang}, text=True,
                          capture_output=True, check=True)  # fmt: skip
    assert word in done.stdout and "--config" in done.stdout


@pytest.mark.parametrize("offsets", ["3", "a..b", "5..3", "1-2"])
def test_offsets_that_are_none(offsets: str) -> None:
    with pytest.raises(Unreadable, match="--offsets"):
        parse_ask("x", offsets=offsets)


def test_an_ask() -> None:
    ask = parse_ask("x", "a:b:3", "4..")
    assert (ask.topic, ask.partition, ask.first, ask.last) == ("a:b", 3, 4, -1)
    assert parse_ask("x", "orders:0").partition == 0
    assert ask.wants("a:b", 3) and not ask.wants("a:b", 2) and not ask.wants("a", 3)


def test_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = inspect_broker("kafka", str(unpack("3.9.1", tmp_path)))
    assert "<svg" in report._repr_html_() and "Hanging" in repr(str(report))
    with pytest.raises(Unreadable, match=r"no broker 'kafca'; did you mean kafka\?"):
        inspect("kafca", parse_ask("x"))
