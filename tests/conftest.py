"""What every test may use: the marker `needs`, and a browser that cannot leave this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import settings

from mqlab.cli import doctor

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
