"""What `mqlab real pulsar` is handed."""

from __future__ import annotations

import argparse

from mqlab.pulsar.evidence import VERSIONS

from .cost import open_priced
from .differences import PAGE, page
from .hosts import OurHost, RealHost
from .oracle import PULSAR as ORACLE

VERSION = VERSIONS["4.2"]


def choose_levels(args: argparse.Namespace) -> tuple[int, ...]:
    """All: there is one release line. Raises ValueError for a version of another one."""
    if args.version not in VERSIONS.values():
        known = " or ".join(VERSIONS.values())
        raise ValueError(f"no Pulsar {args.version} is recorded here: choose {known}")
    return ()


__all__ = [
    "ORACLE", "PAGE", "VERSION", "OurHost", "RealHost", "choose_levels", "open_priced", "page",
]  # fmt: skip
