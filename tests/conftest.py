"""What every test may use: the markers `needs` and `spread`, and a browser that cannot leave this
machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

from mqlab.cli import doctor
from mqlab.lessons.builder.right import read_right
from mqlab.places import LABS

# No test asks for a time: a busy machine takes ten times as long as a quiet one.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

PROBES = {name: (title, look, todo) for name, title, look, todo, _ in doctor.PROBES}
# The tests ask servers of their own, which no proxy can reach.
os.environ["no_proxy"] = ",".join(filter(None, ["127.0.0.1,localhost", os.environ.get("no_proxy")]))
# Commands speak the system's language; what the tests read is English.
os.environ["LC_ALL"] = "C.UTF-8"
BESIDES = {"chromium": ("driver",)}  # a browser is of no use without what steers it


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`@pytest.mark.needs("java")` skips, with what to do as the reason, where Java is missing."""
    for marker in item.iter_markers("needs"):
        for asked in marker.args:
            for tool in (asked, *BESIDES.get(asked, ())):
                title, look, todo = PROBES[tool]
                if not look():
                    pytest.skip(f"{title} is missing: {todo}")


SHARES = 4  # as many commits take everything that is spread
SEARCHED = ("mqlab/kernel", "mqlab/explore", "mqlab/lessons")
#: the notebooks that take longest (searches; eight Spark jobs), and what they rest on
NOTEBOOKS = {
    "01-how-often.ipynb": (*SEARCHED, "mqlab/patterns", "labs/source/01"),
    "04-check-back.ipynb": (*SEARCHED, "mqlab/rocketmq", "labs/source/04"),
    "08-consume-transform-produce.ipynb": (*SEARCHED, "mqlab/kafka", "labs/source/08"),
    "10-acknowledgement.ipynb": (*SEARCHED, "mqlab/pulsar", "labs/source/10"),
    "11-order-to-income.ipynb": ("mqlab/spark", "mqlab/lessons/spark", "labs/source/11"),
    "13-build-a-coordinator.ipynb": (*SEARCHED, "mqlab/kafka", "mqlab/serve", "labs/source/13"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "of the tests marked `spread`, only what this commit's number takes and what it touches"
    parser.addoption("--spread", type=int, metavar="NUMBER", help=help)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`@pytest.mark.spread("mqlab/serve", by="lab")`: with `--spread`, a quarter of the tests, and
    all if a file below one of those folders, or the test's own, has changed with this commit or
    since. `by` is a parameter: its values are dealt, so that what is made for one is made once.
    `by="file"` deals whole files of a folder."""
    for item in items:
        if hasattr(item, "output_timeout"):  # nbval gives what a cell shows 5 s after its end
            item.output_timeout = float(config.getini("timeout"))
        if touching := NOTEBOOKS.get(item.path.name):
            item.add_marker(pytest.mark.spread(*touching, by="file"))
    number = config.getoption("--spread")
    if number is None:
        return
    marked = [item for item in items if item.get_closest_marker("spread")]
    hands: dict[str, set[str]] = {}
    for item in marked:
        hand, dealt = _dealt(item)
        hands.setdefault(hand, set()).add(dealt)
    ranks = {
        (hand, dealt): crc32(hand.encode()) + rank
        for hand, every in hands.items()
        for rank, dealt in enumerate(sorted(every))
    }
    others = {
        item.nodeid for item in marked
        if (ranks[_dealt(item)] - number) % SHARES and not _is_touched(item)
    }  # fmt: skip
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
    items[:] = [item for item in items if item.nodeid not in others]


def _dealt(item: pytest.Item) -> tuple[str, str]:
    """What a test is dealt with, in turn, and what it is dealt as: a test function's parameters,
    the values of `by` in its file, or the files of its folder."""
    file, _, test = item.nodeid.partition("::")
    mark = item.get_closest_marker("spread")
    by = mark.kwargs.get("by") if mark else None
    if by == "file":
        return file.rpartition("/")[0], file
    if by:
        return f"{file} {by}", str(item.callspec.params[by])  # type: ignore[attr-defined]
    return f"{file} {test.partition('[')[0]}", test


def _is_touched(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("spread")
    assert mark is not None
    names = (item.nodeid.partition("::")[0], *mark.args)
    dealt = _dealt(item)[1]
    return any(
        file.startswith(names) or ("by" in mark.kwargs and dealt in file)
        for file in changed(item.config.rootpath)
    )


@cache
def changed(root: Path) -> tuple[str, ...]:
    """The files that differ from the commit before this one, new ones too; none without git."""
    found = []
    for words in ("diff --name-only HEAD~1", "ls-files --others --exclude-standard --full-name"):
        done = subprocess.run(
            ["git", *words.split()], cwd=root, capture_output=True, text=True, check=False
        )
        found += done.stdout.splitlines()
    return tuple(found)


@pytest.fixture(scope="session")
def rights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the right coordinator of each part of lab 13: `sitting-1.py` …"""
    folder = tmp_path_factory.mktemp("rights")
    for sitting in range(1, 6):
        (folder / f"sitting-{sitting}.py").write_text(read_right(LABS / "coordinator", sitting))
    return folder


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest) -> set[str]:
    """The values of the parameter `name` for which tests of this module run: what is made for all
    of them at once need not be made for others."""
    calls = [getattr(i, "callspec", None) for i in request.session.items if i.path == request.path]
    return {call.params["name"] for call in calls if call and "name" in call.params}


# Chromium calls its maker by itself. No name but the loopback address resolves here, so a test
# which finds no request leaving is honest.
NO_NETWORK = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
if hasattr(os, "geteuid") and os.geteuid() == 0:
    NO_NETWORK.append("--no-sandbox")  # Chromium's sandbox refuses to run as root


@pytest.fixture(scope="session")
def launch() -> Iterator[Callable[..., Any]]:
    """Starts a Chromium by Playwright, with the environment one names; mark the test
    `needs("chromium")`."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as session:
        path = doctor.chromium()
        yield partial(session.chromium.launch, executable_path=path, args=NO_NETWORK)


@pytest.fixture(scope="session")
def browser(launch: Callable[..., Any]) -> Iterator[Any]:
    """One Chromium for all tests; mark the test `needs("chromium")`."""
    chromium = launch()
    yield chromium
    chromium.close()
