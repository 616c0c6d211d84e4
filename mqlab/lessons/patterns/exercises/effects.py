"""The other exercise of lab 02: the coordinator's effects in order, killed after each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....kernel import Text
from ...check import Hinted
from ...verdict import NOT_WRITTEN, Verdict
from ..two_files import CHANGES, TWO_PHASES, TwoFiles

#: in alphabetical order, which tells no order
KNOWN = ", ".join(sorted(TWO_PHASES))
NO_LIST = Text(
    f"write a list of effects; there are: {KNOWN}",
    f"请写一个由效果组成的列表，可用的有：{KNOWN}",
)
HALF_PROMISED = (
    "a decision needs no promise",
    Text(
        "killed after “{at}”, it finds its decision, and one file has promised nothing: the other "
        "one commits alone. Nothing is decided before all have promised",
        "在 “{at}” 之后被杀，它找到了决定，而有一个文件什么也没承诺：另一个单独提交了。"
        "全体承诺之前不得决定",
    ),
)
UNDECIDED = (
    "the decision may be written afterwards",
    Text(
        "killed after “{at}”, it finds no decision and has the other file roll back, but one has "
        "committed already. The decision is written before anybody hears of it",
        "在 “{at}” 之后被杀，它找不到决定，就让另一个文件回滚，而有一个已经提交。"
        "决定必须先写下，再告诉任何人",
    ),
)
UNPREPARED = (
    "a commit needs no prepare",
    Text(
        "a file that has not promised has nothing to commit: without any kill the order is not in "
        "both files",
        "没有承诺过的文件没有可提交的内容：即使没有崩溃，订单也不在两个文件里",
    ),
)
WAITS = (
    "a promise is enough",
    Text(
        "without any kill a file has promised and hears nothing more: its rows stay locked",
        "即使没有崩溃，也有一个文件承诺之后再没有消息：它的行一直被锁住",
    ),
)
TWICE = Text("“{at}” is there twice", "“{at}” 出现了两次")
RIGHT = Text(
    "killed after each effect and started again, the two files always agree",
    "在每个效果之后被杀并重启，两个文件总是一致",
)
HINTS = (
    Text(
        "Go through the list effect by effect. The coordinator is killed here, and starts again "
        "with nothing but its file. What does it know, and what have the two files promised?",
        "逐个动作看列表：协调者在这里被杀，重启后只有自己的文件。它知道什么，两个文件承诺了什么？",
    ),
    Text(
        "Before the decision everything must still be possible to take back; after it "
        "everything must be possible to carry out. Which of the five makes a file able to do "
        "both?",
        "决定之前，一切必须还能撤回；决定之后，一切必须都能执行。五个动作中哪一种让文件两者都能做到？",
    ),
)


@dataclass(frozen=True)
class Effects(Hinted):
    """Judged by doing: each prefix of the list on two files, then the recovery."""

    hints: tuple[Text, ...]

    def check(self, effects: Any, graded: bool = False) -> Verdict:
        if not isinstance(effects, Sequence) or isinstance(effects, str):
            return Verdict(False, NO_LIST)
        if not effects:
            return Verdict(False, NOT_WRITTEN)
        for effect in effects:
            if effect not in TWO_PHASES:
                return Verdict(False, NO_LIST)
            if list(effects).count(effect) > 1:
                return Verdict(False, _fill(TWICE, effect))
        for name, message in find_faults(effects):
            return Verdict(False, message, name)
        return Verdict(True, RIGHT)


def find_faults(effects: Sequence[str]) -> Iterator[tuple[str, Text]]:
    """Every belief that these effects refute."""
    with run(effects, len(effects)) as files:
        if any(files.is_waiting(name) for name in CHANGES):
            yield WAITS
        elif not all(files.is_done(name) for name in CHANGES):
            yield UNPREPARED
    for count, at in enumerate(effects, 1):
        with run(effects, count) as files:
            files.recover()
            alike = len({files.is_done(name) for name in CHANGES}) == 1
        if not alike:
            name, message = HALF_PROMISED if "decide" in effects[:count] else UNDECIDED
            yield name, _fill(message, at)


@contextmanager
def run(effects: Sequence[str], count: int) -> Iterator[TwoFiles]:
    """The files after so many effects, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mqlab-") as folder:
        files = TwoFiles(Path(folder))
        for effect in effects[:count]:
            files.do(effect)
        yield files


def _fill(text: Text, at: str) -> Text:
    return Text(text.en.format(at=at), text.zh.format(at=at))


EFFECTS = Effects(HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"effects": (EFFECTS, "value")}
