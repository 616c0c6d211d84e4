"""In Chinese a report holds no ordinary English word; names and states of the real system stay."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from mqlab.inspect import Ask, Report, inspect
from mqlab.inspect.kafka.segments import FLAWS
from mqlab.inspect.show import write_html, write_page
from mqlab.kernel import speaking
from mqlab.kernel.text import match_words
from mqlab.serve.kafka import wire
from tests.inspect.folders import DATA, NOW_MS
from tests.inspect.test_tools import look_at, look_at_text

#: no text that is said: styles, and what was read, or is to be typed
MARKED = re.compile(r"(?s)<style>.*?</style>|<code>.*?</code>|<pre>.*?</pre>|<small>.*?</small>")
QUOTED = re.compile(r"`[^`]*`|“[^”]*”|(?:Topic|Transaction coordinator) not\s+found(.*id : \d)?")
SPOKEN = re.compile(r"aria-label=\"([^\"]*)\"|>([^<]+)<")
#: in the terminal: a line of evidence with what follows, a command
SHOWN = re.compile(r"(?m)^   ▸ (?:.|\n     (?=\S))*|^     (?:kafka|mqadmin|pulsar)-?\S* .*")
#: a word that is part of no name: of a file, a topic, a field, an id
WORD = re.compile(r"(?<![\w.:/@=%~-])[a-z]{2,}(?![\w.:/@=%…-])")
#: what Chinese speakers write in English too, and names in the data
KEPT = {
    "broker", "epoch", "id", "ms", "min", "lab", "view", "mqlab", "op", "read_committed", "commit",
    "log", "key", "follower", "leader", "ledger", "bookie", "mqadmin", "null",
    "auditors", "billing", "reports", "orders", "stock", "payments", "refunds", "audit",
}  # fmt: skip


def of_saved(name: str) -> Callable[[Path], Report]:
    path = DATA / "pulsar-4.2.4" / f"{name}.json"
    return lambda _: inspect("pulsar", Ask(str(path), now_ms=NOW_MS), play=True)


def of_folder(broker: str, archive: str) -> Callable[[Path], Report]:
    def read(to: Path) -> Report:
        shutil.unpack_archive(DATA / archive, to)
        return inspect(broker, Ask(str(to), now_ms=NOW_MS), play=True)

    return read


REPORTS: dict[str, Callable[[Path], Report]] = {
    "kafka": of_folder("kafka", "kafka-4.3.1/data.tar.xz"),
    "tools": lambda to: look_at(to, "4.3.1", "find-hanging", "list", "dump-offsets", "groups"),
    "cut": lambda to: look_at_text(to, "Dumping /data/orders-0/00000000000000000000.log", "oops"),
    "rocketmq": of_folder("rocketmq", "rocketmq-5.5.0/damaged.tar.xz"),
} | {name: of_saved(name) for name in ("open", "hanging", "frozen", "unloaded", "not-ready")}


@pytest.mark.parametrize("name", REPORTS)
def test_no_ordinary_english_word_is_left(name: str, tmp_path: Path) -> None:
    with speaking("zh"):
        report = REPORTS[name](tmp_path)
        pages = [
            write(Report(report.reading, report.findings)) for write in (write_page, write_html)
        ]
        said = [unescape(" ".join(a or b for a, b in SPOKEN.findall(MARKED.sub("", page))))
                for page in pages]  # fmt: skip
        said.append(SHOWN.sub("", str(report)))
    assert all(re.search("[\u4e00-\u9fff]{2}", text) for text in said)
    assert {word for text in said for word in WORD.findall(QUOTED.sub("", text))} - KEPT == set()


def test_each_flaw_of_records_has_its_chinese() -> None:
    """The server's code says them in English, to its clients; a report finds its own words."""
    said = []
    for path in Path(wire.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("Unreadable" | "TooLarge" | "Endless"), [text]):
                    said.append(re.sub(r"\{.*?\}", "7", ast.unparse(text).strip("f'\"")))
    made = [match_words(one, FLAWS) for one in said]
    assert len(said) > 15
    assert [one for one, text in zip(said, made, strict=True) if not text or not text.zh] == []


def test_nothing_that_is_read_is_translated(tmp_path: Path) -> None:
    with speaking("zh"):
        text = str(REPORTS["kafka"](tmp_path))
    assert "Ongoing" in text and "UNSTABLE_OFFSET_COMMIT" in text and "记录 6, 控制消息 3" in text
