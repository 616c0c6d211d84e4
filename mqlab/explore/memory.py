"""How much memory this process has, where the system tells: for figures, not for decisions."""

from __future__ import annotations

from pathlib import Path

STATM = Path("/proc/self/statm")


def resident() -> int | None:
    """Bytes of this process that are in memory now; None where no /proc tells."""
    try:
        pages = int(STATM.read_text("ascii").split()[1])
    except OSError:
        return None
    import resource  # Unix only, as /proc is

    return pages * resource.getpagesize()
