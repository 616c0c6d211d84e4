"""Budget: what a search may do to a system, as part of every verdict; and its memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..kernel.system import System
from ..kernel.text import BadValue, Text, Words, tr

#: of each kind of fault: what one execution has spent fits into a byte
MOST = 255


@dataclass(frozen=True, slots=True)
class Budget:
    """How many faults and timers one execution may contain, and how many states to look at.

    `kills` and `power_cuts` are stops of the nodes in `killable` (None: of any), between
    two steps, inside a step or inside a recovery; a stopped node that is `restartable`
    (None: any) may start again at any later moment. `breaks`: connections broken.
    `timers`: how many timers run out in one execution. `retries`: where it is a number, a timer
    that only asks again (`System.retrying` names them) is not counted there; instead, each
    of them may run out so many times on its node.
    """

    kills: int = 0
    power_cuts: int = 0
    breaks: int = 0
    timers: int = 0
    states: int = 1_000_000
    killable: tuple[str, ...] | None = None
    retries: int | None = None
    restartable: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a number that a search cannot keep."""
        if self.states < 1:
            raise BadValue("states={}: expected 1 or more", self.states)
        for name in ("kills", "power_cuts", "breaks", "timers", "retries"):
            if not 0 <= (getattr(self, name) or 0) <= MOST:
                raise BadValue("{}={}: expected 0 to {}", name, getattr(self, name), MOST)

    def may_stop(self, node: str) -> bool:
        return self.killable is None or node in self.killable

    def may_restart(self, node: str) -> bool:
        return self.restartable is None or node in self.restartable

    def is_retry(self, system: System, timer: str) -> bool:
        """Whether a timer of this system is bounded by `retries` and not by `timers`."""
        return self.retries is not None and system.only_repeats(timer)

    @property
    def _unstopped(self) -> Budget:
        """The same where no node may stop."""
        return replace(self, kills=0, power_cuts=0, killable=None)

    def flags(self) -> str:
        """The bounds as `mqlab explore` takes them on its command line."""
        if self.killable == ():
            return self._unstopped.flags()
        words = []
        for bound in ("kills", "power_cuts", "breaks", "timers"):
            if count := getattr(self, bound):
                words.append(f"--{bound.replace('_', '-')} {count}")
        if self.killable is not None:
            words.append(f"--killable {','.join(self.killable)}")
        return " ".join(words)

    def counters(self, node: str) -> dict[str, str]:
        """For what a node may spend ("kill", "power", "break", "fire", "retry"): the name of
        the counter. Retries are counted by each node for itself."""
        stops = {"kill": self.kills, "power": self.power_cuts} if self.may_stop(node) else {}
        bounds = {**stops, "break": self.breaks, "fire": self.timers}
        names = {what: what for what, bound in bounds.items() if bound}
        return names | ({"retry": f"retry {node}"} if self.retries else {})

    def first(self, counter: str) -> Hashable:
        return () if counter.startswith("retry") else 0

    def more(self, what: str, spent: Any, timer: str = "") -> Any:
        """The counter after one more; None where that is too many."""
        if what == "retry":
            counts = dict(spent)
            counts[timer] = counts.get(timer, 0) + 1
            return None if counts[timer] > (self.retries or 0) else tuple(sorted(counts.items()))
        bound = {
            "kill": self.kills,
            "power": self.power_cuts,
            "break": self.breaks,
            "fire": self.timers,
        }[what]
        return spent + 1 if spent < bound else None

    @property
    def text(self) -> Text:
        """Describe these bounds in words, as a list with commas; NOTHING, which says so, where they
        allow no faults and no timers. The bound on states is not described."""
        if self.killable == ():
            return self._unstopped.text
        bounds = [
            counted(n)
            for n, counted in (
                (self.kills, KILLS),
                (self.power_cuts, POWER_CUTS),
                (self.breaks, BREAKS),
                (self.timers, TIMERS),
            )
            if n
        ]
        if self.retries is not None:
            bounds.append(RETRIES(self.retries))
        stops = self.kills or self.power_cuts
        # killable, restartable: the nodes that may stop or start again; None: all, empty: none
        if stops and self.killable is not None:
            bounds.append(STOPPING(nodes=", ".join(self.killable)))
        if stops and self.restartable:
            bounds.append(RESTARTING(nodes=", ".join(self.restartable)))
        elif stops and self.restartable is not None:
            bounds.append(NO_RESTART)
        if not bounds:
            return NOTHING
        return Text(", ".join(p.en for p in bounds), "，".join(p.of("zh") for p in bounds))

    def __str__(self) -> str:
        return self.text.en


class Full(Exception):
    """There are more worlds than the budget wants to look at."""


def _counted(one: Words, many: Words) -> Callable[[int], Text]:
    """A number of something, in words."""
    return lambda n: (one if n == 1 else many)(n=n)


KILLS = _counted(Words("{n} kill"), Words("{n} kills"))
POWER_CUTS = _counted(Words("{n} power cut"), Words("{n} power cuts"))
BREAKS = _counted(Words("{n} broken connection"), Words("{n} broken connections"))
TIMERS = _counted(Words("{n} timer"), Words("{n} timers"))
RETRIES = _counted(Words("{n} retry of each retry timer"), Words("{n} retries of each retry timer"))
STOPPING = Words("only {nodes} may stop")
RESTARTING = Words("restarts only of {nodes}")
NO_RESTART = tr("no restarts")
NOTHING = tr("no faults, no timers")


# ---- How much memory this process has and could have, where the system reports it ----

STATM = Path("/proc/self/statm")
MEMINFO = Path("/proc/meminfo")
#: of a container: what it may have and what it has
LIMIT, USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def resident() -> int:
    """Bytes that this process has taken; 0 where no /proc reports it. Pages of files that it reads
    or writes as arrays are not its own: the system takes them back when it needs room."""
    try:
        all_pages, shared = map(int, STATM.read_text("ascii").split()[1:3])
    except OSError:
        return 0
    import resource  # Unix only, as /proc is

    return (all_pages - shared) * resource.getpagesize()


def available() -> int | None:
    """Bytes that this machine, or the container that this process runs in, could still give;
    None where neither reports it."""
    free = []
    with suppress(OSError, KeyError, ValueError):  # no Linux, or one older than this row
        rows = dict(line.split(":") for line in MEMINFO.read_text("ascii").splitlines())
        free.append(int(rows["MemAvailable"].split()[0]) * 1024)
    with suppress(OSError, ValueError):  # no container, or one without a limit ("max")
        free.append(int(LIMIT.read_text("ascii")) - int(USED.read_text("ascii")))
    return max(0, min(free)) if free else None
