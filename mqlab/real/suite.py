"""The entry point of the conformance suite: recorded programs, drivers in Java, Go and JavaScript,
and the runner that asks real brokers and this project's server. It is with the tests of a clone
(`tests/oracle`), and nothing that is installed brings it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ..kernel import tr
from ..places import ROOT
from .program import RealBrokerError

FOLDER = ROOT / "tests" / "oracle"
MISSING = tr(
    "the programs that ask real brokers are not installed: they are with the project's tests, so "
    "clone the project, run `make setup` there, and ask again"
)


def has_suite() -> bool:
    return FOLDER.is_dir()


def load_suite(name: str) -> Any:
    """The suite's module of this name, as "kafka.hosts". Raises RealBrokerError where there is no
    clone."""
    if not has_suite():
        raise RealBrokerError(MISSING)
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return import_module(f"tests.oracle.{name}")
