"""One JupyterLab for all tests that open a lab; each opens its notebooks in a workspace apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from .jupyter import jupyterlab


class ByNotebook(LoadScopeScheduling):
    """Tests that open the same notebook belong to one worker: those of a lab, or of a file. (Marks
    of `xdist_group` do not reach pytest-xdist 3.8 with pytest 9.2.)"""

    def _split_scope(self, nodeid: str) -> str:
        module, test = nodeid.rsplit("::", 1)
        lab = re.search(r"\[(\d\d)-", test)
        return f"{module} {lab[1]}" if lab else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByNotebook:
    return ByNotebook(config, log)


@dataclass(frozen=True)
class Served:
    address: str
    labs: Path  # the copy of `labs/` that is served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("jupyterlab")
    with jupyterlab(folder) as address:
        yield Served(address, folder / "labs")
