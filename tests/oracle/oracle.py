"""What the house is handed about one broker: a value made of plain functions.

Everything here stands at the top of the suite and names no broker; a broker's package makes its
`Oracle`, and the command looks for it by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mqlab.real.program import Program

from .program import Lab


@dataclass(frozen=True, slots=True)
class Oracle:
    """`name`: of the broker; its recordings are in `<name>-<version>/<profile>`.
    `programs`: every program by its name. `level_of`: the setting of the cluster that a profile
    needs; programs of one level share a broker. `open_lab`: a lab from a target, a profile's
    name and the prefix of all names on the wire. `ids`: a pattern whose group is a number that
    is never the same twice, with its name before it (`pid=(\\d+)`)."""

    name: str
    programs: Callable[[], Mapping[str, Program]]
    level_of: Callable[[str], int]
    open_lab: Callable[[Any, str, str], Lab]
    ids: re.Pattern[str]
