"""What somebody else wrote: traces, tokens and scenarios that are damaged or hostile."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from mqlab.cli import main
from mqlab.kernel import Fact, Text, Trace, escape_unseen
from mqlab.kernel.token import open_token
from mqlab.lessons.registry import scenario, system

STORY = "# a story\nsystem kafka partitions=1\nrun app: init, begin, send orders-0 a, commit"


def trace() -> dict[str, Any]:
    plain: dict[str, Any] = scenario(STORY).to_json()
    return plain


def damaged(change: str) -> Any:
    plain = trace()
    if change == "a list":
        return [plain]
    if change == "no facts":
        del plain["facts"]
    if change == "fewer changes":
        plain["changes"].pop()
    if change == "a number as text":
        plain["facts"][3]["text"] = 7
    if change == "a text as number":
        plain["facts"][3]["index"] = "3"
    if change == "a huge list":
        plain["changes"][0]["logs"] = {"#": 10**9}
    if change == "an unknown field":
        plain["facts"][3]["colour"] = "red"
    if change == "a change of nothing":
        plain["changes"][1] = {"lanes": {"70": {"title": {"=": "x"}}}}
    if change == "null":
        plain["start"] = None
    return plain


CHANGES = [
    "a list", "no facts", "fewer changes", "a number as text", "a text as number", "a huge list",
    "an unknown field", "a change of nothing", "null",
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_trace_is_refused_in_one_line(
    change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(damaged(change)), "utf-8")
    with pytest.raises(ValueError):
        Trace.load(path)
    assert main(["view", str(path), "-o", str(tmp_path / "page.html")]) == 2
    told = capsys.readouterr().err
    assert "is no trace: " in told and "mqlab view --trace" in told and len(told.splitlines()) == 1


def test_a_file_nested_too_deeply_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("[" * 100_000, "utf-8")
    with pytest.raises(ValueError):
        Trace.load(tmp_path / "run.json")


def test_an_undamaged_trace_is_read() -> None:
    assert Trace.from_json(trace()).facts == scenario(STORY).facts


@pytest.mark.parametrize(
    "value", [None, 7, [], ["kafka"], ["kafka", [], "d", 4], ["kafka", "ab", "d"], ["k", [1], "d"]]
)
def test_a_token_of_another_shape_is_refused(value: Any) -> None:
    token = base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode()
    with pytest.raises(ValueError, match="this is not a token: paste the whole text"):
        open_token(token)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("system kafka 'app=init; commit", "the system line cannot be read"),
        ("system kafka partitions=1000000", "partitions=1000000: a picture has room for 100"),
        ("system kafka groups=51", "groups=51: a picture has room for 50"),
        (f"system kafka partitions={'9' * 5000}", "partitions='9999999999999999999…'"),
        ("system kafka partitions=²", "expected a whole number"),
    ],
)
def test_a_system_line_is_refused_in_one_line(
    line: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "story.scn"
    path.write_text(f"# a story\n{line}\nrun app: init\n", "utf-8")
    assert main(["run", str(path)]) == 2
    told = capsys.readouterr().err
    assert words in told and str(path) in told and len(told.splitlines()) == 1


def test_a_token_cannot_ask_for_a_million_partitions_either() -> None:
    with pytest.raises(ValueError, match="a picture has room for 100"):
        system("kafka partitions=1000000")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\u2028\x9b\ud800", "\\u2028\\x9b\\ud800"),
        ("order-1 → 订单 £5 é", "order-1 → 订单 £5 é"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, written: str) -> None:
    assert escape_unseen(text) == written
    fact = Fact(1, 1, text, "→", Text(text), text)
    assert fact.line() == f"{written} → {written}  {written}"
    narrated = str(Trace("kafka", (), (fact,), ()))
    assert narrated == fact.line(width=len(written)).rstrip()


def test_a_scenario_prints_no_escape_sequence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "story.scn"
    source = "# s\nsystem kafka partitions=1\nrun app: init, begin, send orders-0 \x1b[2Ja\u202eb"
    path.write_text(f"{source}\n---\napp \x1b[31m\n", "utf-8")
    assert main(["run", "--print", str(path)]) == 0
    assert main(["run", str(path)]) == 1
    told = capsys.readouterr().out
    assert "\x1b" not in told and "\u202e" not in told
    assert "\\x1b[2Ja\\u202eb" in told
