"""One JupyterLab for all tests that open a lab; each opens its notebooks in a workspace apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .jupyter import jupyterlab


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in a hook of the same name
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist=loadgroup`: a lab's tests share its page, all others what their file opens."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@dataclass(frozen=True)
class Served:
    address: str
    labs: Path  # the copy of `labs/` that is served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("jupyterlab")
    with jupyterlab(folder) as address:
        yield Served(address, folder / "labs")
