"""How much memory this process has and could have, where the system tells."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

STATM = Path("/proc/self/statm")
MEMINFO = Path("/proc/meminfo")
#: of a container: what it may have and what it has
LIMIT, USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def resident() -> int:
    """Bytes that this process has taken; 0 where no /proc tells. Pages of files that it reads
    or writes as arrays are not its own: the system takes them back when it needs room."""
    try:
        all_pages, shared = map(int, STATM.read_text("ascii").split()[1:3])
    except OSError:
        return 0
    import resource  # Unix only, as /proc is

    return (all_pages - shared) * resource.getpagesize()


def available() -> int | None:
    """Bytes that this machine, or the container that this process runs in, could still give;
    None where neither tells."""
    free = []
    with suppress(OSError, KeyError, ValueError):  # no Linux, or one older than this row
        rows = dict(line.split(":") for line in MEMINFO.read_text("ascii").splitlines())
        free.append(int(rows["MemAvailable"].split()[0]) * 1024)
    with suppress(OSError, ValueError):  # no container, or one without a limit ("max")
        free.append(int(LIMIT.read_text("ascii")) - int(USED.read_text("ascii")))
    return max(0, min(free)) if free else None
