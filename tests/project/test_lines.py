"""How much program there is, by purpose: lines that are neither blank nor comment nor docstring.

    .venv/bin/python -m tests.project.test_lines

prints the table. Python, Java, Go, JavaScript, CSS and tables (TOML) are counted; notebooks,
scenarios, recordings and documents are not. A number may only fall. Where one has to rise, the
same commit raises its bound and says why in its row.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache

import pytest

from tests.project.sources import code_lines, list_committed, relative


@dataclass(frozen=True)
class Purpose:
    """A row: the most lines that the files of one purpose may have, and what they are for.

    `files` are patterns of paths with spaces between them; `*` also stands for folders. A file
    belongs to the first row that it matches.
    """

    name: str
    most: int
    reason: str
    files: str


#: The final aims are 82,000 and 58,000.
MOST_PROGRAM = 91_040
MOST_TESTS = 61_830

PROGRAM = (
    Purpose("broker pictures", 3_750, "views, words and reasons of three brokers",
            "mqlab/*/picture/* mqlab/kafka/*words.py mqlab/rocketmq/*words.py "
            "mqlab/pulsar/*words.py"),
    Purpose("kernel, models", 26_390, "three brokers, nine classical models, search, scenarios",
            "mqlab/kernel/* mqlab/kafka/* mqlab/rocketmq/* mqlab/pulsar/* "
            "mqlab/patterns/* mqlab/explore/* mqlab/scenario/*"),
    Purpose("lessons: questions", 1_700, "seventeen labs",
            "mqlab/lessons/questions/*"),
    Purpose("lessons: tables", 2_500, "articles, misconceptions, choice, glossary",
            "mqlab/lessons/*.toml"),
    Purpose("lessons: course", 2_660, "notebooks from sources, Chinese ones at first use; nbgrader",
            "mqlab/lessons/course/*"),
    Purpose("lessons: builder", 3_180, "what checks a learner's file, its errors in Chinese",
            "mqlab/lessons/builder/*"),
    Purpose("lessons: atlas", 600, "the glossary's pictures",
            "mqlab/lessons/atlas/*"),
    Purpose("lessons: exercises", 9_920, "what seventeen labs call, and their checks",
            "mqlab/lessons/*"),
    Purpose("servers: requests", 5_290, "each request of three protocols",
            "mqlab/serve/*/front/*"),
    Purpose("servers: wire", 2_040, "the formats of three protocols",
            "mqlab/serve/*/wire/*"),
    Purpose("servers: pictures", 1_650, "the live picture of a served broker",
            "mqlab/serve/*trace*"),
    Purpose("servers: core", 2_920, "connections, limits, the disk, the journal",
            "mqlab/serve/*"),
    Purpose("real brokers", 2_740, "how they are started, and what was recorded of them",
            "mqlab/real/* mqlab/recordings/*"),
    Purpose("widgets", 8_800, "the player and what it draws",
            "widgets/*"),
    Purpose("spark", 4_550, "the income job, its source, sinks and crashes; Flink",
            "mqlab/spark/*"),
    Purpose("registry", 2_110, "which safeguard prevents which anomaly",
            "mqlab/registry/*"),
    Purpose("cli", 2_960, "the commands, their help and errors in two languages",
            "mqlab/cli/*"),
    Purpose("site", 990, "the static site and Play",
            "mqlab/site/*"),
    Purpose("check", 1_230, "judges a recorded history",
            "mqlab/check/*"),
    Purpose("inspect", 4_930, "reads a real broker, folder or tool's output, judges it, plays on",
            "mqlab/inspect/*"),
    Purpose("rest", 190, "doors of the package, the wheel's hook",
            "mqlab/* .ci/*"),
)  # fmt: skip
BESIDE = (
    Purpose("labs", 4_440, "sources of the notebooks, begun files, the pages' scripts",
            "labs/*"),
    Purpose("tests/oracle", 14_000, "programs and drivers that ask a real broker",
            "tests/oracle/*"),
    Purpose("tests", 47_830, "all other tests",
            "tests/*"),
)  # fmt: skip
PURPOSES = (*PROGRAM, *BESIDE)

#: How a comment begins a line, and the block comment that begins one.
COMMENTS = {
    ".toml": re.compile(r"#"),
    ".css": re.compile(r"(?!)"),
    ".go": re.compile(r"//"),
    ".java": re.compile(r"//"),
    ".js": re.compile(r"//"),
}
BLOCK = re.compile(r"(?ms)^[ \t]*/\*.*?\*/")


def count_code(text: str, suffix: str) -> int:
    """Lines of a file that hold code; 0 where its kind is not counted."""
    if suffix == ".py":
        return len(code_lines(text, ast.parse(text)))
    if suffix not in COMMENTS:
        return 0
    rest = text if suffix == ".toml" else BLOCK.sub("", text)
    lines = (line.strip() for line in rest.split("\n"))
    return sum(bool(line) and not COMMENTS[suffix].match(line) for line in lines)


def find_purpose(name: str) -> Purpose | None:
    """The first row that a path matches."""
    fits = (one for one in PURPOSES if any(fnmatch(name, pattern) for pattern in one.files.split()))
    return next(fits, None)


@cache
def count_lines() -> Counter[str]:
    """Name of a purpose → lines of code of its files."""
    found: Counter[str] = Counter()
    for path in list_committed():
        purpose = find_purpose(relative(path))
        if purpose is not None and path.suffix in {".py", *COMMENTS}:
            found[purpose.name] += count_code(path.read_text("utf-8"), path.suffix)
    return found


def list_sums(lines: Counter[str]) -> list[tuple[str, int, int]]:
    """(name, lines, most) of the whole program and of all tests."""
    tests = tuple(purpose for purpose in BESIDE if purpose.name.startswith("tests"))
    return [
        ("program", sum(lines[one.name] for one in PROGRAM), MOST_PROGRAM),
        ("tests", sum(lines[one.name] for one in tests), MOST_TESTS),
    ]


def test_each_purpose_stays_within_its_bound() -> None:
    lines = count_lines()
    assert lines["kernel, models"] > 10_000 and lines["widgets"] > 2_000
    rows = [(one.name, lines[one.name], one.most) for one in PURPOSES] + list_sums(lines)
    wrong = [
        f"{name}: {many:,} lines, of at most {most:,}" for name, many, most in rows if many > most
    ]
    assert not wrong, "make it smaller, or raise the bound and say why:\n" + "\n".join(wrong)


def test_a_number_that_fell_lowers_its_bound() -> None:
    """A bound far above its number would hide the next growth."""
    lines = count_lines()
    loose = [
        f"{one.name}: {lines[one.name]:,} lines, the bound is {one.most:,}" for one in PURPOSES
        if one.most > lines[one.name] + max(100, lines[one.name] // 20)
    ]  # fmt: skip
    assert not loose, "lower the bound:\n" + "\n".join(loose)


def test_every_file_of_code_has_a_purpose() -> None:
    names = [relative(path) for path in list_committed() if path.suffix in {".py", *COMMENTS}]
    assert [name for name in names if find_purpose(name) is None] == ["pyproject.toml"]
    for purpose, pattern in [(one, pattern) for one in PURPOSES for pattern in one.files.split()]:
        assert purpose.most == 0 or any(fnmatch(name, pattern) for name in names), pattern


@pytest.mark.parametrize(
    ("suffix", "text", "code"),
    [
        (".py", '"""A docstring."""\n\n# a comment\nx = """a\n\nb"""  # text\n', 3),
        (".js", "/** A block\n * of two */\n// one\nlet a = 1; // the first\n\nf(/* 2 */)\n", 2),
        (".css", "/* one */\na { color: red }\n", 1),
        (".go", "// one\npackage main\n", 1),
        (".java", "/*\n one\n */\n\nclass A {}\n", 1),
        (".toml", "# one\n\n[a]\nb = '''\n1\n'''\n", 4),
        (".md", "text\n", 0),
    ],
)
def test_code_is_neither_blank_nor_comment_nor_docstring(suffix: str, text: str, code: int) -> None:
    assert count_code(text, suffix) == code


def test_the_tree_stays_small() -> None:
    """Without git's own; 3.3 MB are real orders. What a command makes is not committed: the labs in
    Chinese, and what cells put out that nobody compares. 2 MB are the catalogues, whose keys are
    the English of labs and scenarios once more. It rose from 20 MB with mqlab inspect (0.3 MB with
    the damaged brokers of its tests) and eighteen incidents (0.3 MB with their Chinese), and from
    21 MB with docstrings that say to a stranger what a function does (0.2 MB) and seven incidents
    with what recorded brokers and clients say of them (0.2 MB), and from 21.6 MB with outputs that
    inspect names and errors in Chinese (0.1 MB)."""
    assert sum(path.stat().st_size for path in list_committed()) < 21_700_000


if __name__ == "__main__":
    counted = count_lines()
    for row in PURPOSES:
        print(f"{counted[row.name]:8,} of {row.most:7,}  {row.name:20} {row.reason}")
    for title, number, limit in list_sums(counted):
        print(f"{number:8,} of {limit:7,}  {title}")
