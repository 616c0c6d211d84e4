"""Spark and Flink under kill -9, as a real run has found it: for lab 11, which needs no Flink.

print(recorded_kills())
"""

from __future__ import annotations

from pathlib import Path

from ...spark.flink.statements import RECORDING, Table


def recorded_kills(path: Path = RECORDING) -> str:
    """The table; where there is none to be read, a line that says how to make one."""
    try:
        return str(Table.from_json(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return (
            f"there is no table of a recorded run ({why}); `mqlab income flink --record` makes "
            "one (PyFlink, Java 17 and Maven)"
        )
