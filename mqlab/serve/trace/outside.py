"""What a live trace tells that is no step of a role: it has come from outside. In a step of the
recorder one of these stands where the role would.

Held      a request waits at the door (`serve/gate.py`), and the step is what it would be
Dropped   a request was lost there, and its connection with it
Killed    the node has died; every role on it forgets what was not written
"""

from __future__ import annotations

from typing import Any

from ...kernel import Text, frozen
from ...kernel.text import NOTHING


@frozen
class Held:
    """`role`: the front as it would be."""

    role: Any


@frozen
class Dropped:
    """`to`: the role that the request was for, `text`: what it said."""

    to: str
    text: Text


@frozen
class Killed:
    """Every connection has broken, too. `unheard`: the request that was done by then, and whose
    answer did not leave; empty where there is none."""

    unheard: Text = NOTHING


Outside = Dropped | Killed
