"""What somebody else wrote: traces and tokens that are damaged or hostile."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel import Fact, Text, Trace, escape_unseen, replay
from mqlab.kernel.play import decode
from tests.kernel.toy import TORN, make_toy

TRACE = replay(make_toy("keep a"), (*TORN, "restart store"))


def damaged(change: str) -> Any:
    plain: dict[str, Any] = TRACE.to_json()
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
def test_a_damaged_trace_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(damaged(change)), "utf-8")
    with pytest.raises(ValueError):
        Trace.load(path)


def test_a_file_nested_too_deeply_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("[" * 100_000, "utf-8")
    with pytest.raises(ValueError):
        Trace.load(tmp_path / "run.json")


def test_an_undamaged_trace_is_read() -> None:
    assert Trace.from_json(damaged("")).facts == TRACE.facts


@pytest.mark.parametrize(
    "value",
    [None, 7, [], ["toy"], ["toy", [], "d", 4], ["toy", "ab", "d"], ["toy", [1], "d"],
     ["toy", [], "d", "4", "t"], ["toy", [], "d", 4, 5], ["toy", [], "d", 4, "t", 6]],
)  # fmt: skip
def test_a_token_of_another_shape_is_refused(value: Any) -> None:
    token = base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode()
    with pytest.raises(ValueError, match="this is not a token: paste the whole text"):
        decode(token)


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
    narrated = str(Trace("toy", (), (fact,), ()))
    assert narrated == fact.line(width=len(written)).rstrip()
