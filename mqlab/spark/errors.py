"""What can go wrong that a person can fix, and how a missing package is named."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from ..kernel.text import WordedError
from ..places import TO_INSTALL


class IncomeError(WordedError):
    """One line: what is wrong, then what to do next."""


class CannotResume(IncomeError):
    """Sink and checkpoint disagree, or what must be read again was deleted: the job stops."""


class SlowStart(IncomeError):
    """Spark gave up waiting for a Python worker; nothing was written. Trying again helps."""


NEEDED = (("confluent_kafka", "confluent-kafka"), ("pyspark", "pyspark"), ("pyarrow", "pyarrow"))


def need(packages: Sequence[tuple[str, str]] = NEEDED) -> None:
    """Import what the job needs, or say in one line what to install.

    Raises IncomeError that names the missing packages as pip knows them.
    """
    missing = []
    for module, name in packages:
        try:
            importlib.import_module(module)
        except ImportError:
            missing.append(name)
    if missing:
        raise IncomeError("the Spark job needs {}: {}", ", ".join(missing), TO_INSTALL)
