"""How much memory this process has, where the system tells: for figures, not for decisions."""

from __future__ import annotations

from pathlib import Path

STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes of this process that are in memory now; 0 where no /proc tells."""
    try:
        pages = int(STATM.read_text("ascii").split()[1])
    except OSError:
        return 0
    import resource  # Unix only, as /proc is

    return pages * resource.getpagesize()
