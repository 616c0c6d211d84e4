"""The termination protocol: what is decided when the coordinator has stopped, and by whom.

The line of succession is the order of the parties, the coordinator first. Everybody watches all
others; who finds those before it gone takes over. Nobody else may, or two would decide at once.

The rule looks at how far everybody is that can be reached. It is right because of what the
third phase guarantees: while one party is uncertain nobody has committed, and while one has
been told PreCommit nobody has aborted.

    committed or aborted somewhere     the same
    somebody has not even voted        abort: nobody can have been told PreCommit
    precommitted somewhere             commit, but first nobody may be uncertain any more
    all are uncertain                  abort
"""

from __future__ import annotations

from collections.abc import Collection

from ...kernel import frozen, replace
from .messages import ABORTED, COMMITTED, PRECOMMITTED, UNKNOWN_HERE


@frozen
class Takeover:
    """`waiting`: whose answer is missing. `seen`: how far the others have said they are.
    `levelled`: they have been told PreCommit, and it is their acknowledgements that are missing."""

    waiting: tuple[str, ...]
    seen: tuple[str, ...] = ()
    levelled: bool = False

    def hear(self, peer: str, state: str) -> Takeover:
        """After the answer of `peer`; one that was not waited for says nothing new."""
        if peer not in self.waiting:
            return self
        return replace(self.give_up(peer), seen=(*self.seen, state))

    def give_up(self, peer: str) -> Takeover:
        """After the stop of `peer`, of which nothing more will be heard."""
        return replace(self, waiting=tuple(name for name in self.waiting if name != peer))


def list_before(line: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Who leads before this party."""
    return line[: line.index(name)]


def list_after(line: tuple[str, ...], name: str) -> tuple[str, ...]:
    return line[line.index(name) + 1 :]


def choose_outcome(states: Collection[str]) -> str:
    """The rule. PRECOMMITTED means: commit, as soon as nobody is uncertain."""
    for decisive in (COMMITTED, ABORTED):
        if decisive in states:
            return decisive
    if UNKNOWN_HERE in states:
        return ABORTED
    return PRECOMMITTED if PRECOMMITTED in states else ABORTED
