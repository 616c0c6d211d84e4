"""What `mqlab real rocketmq` is handed."""

from __future__ import annotations

import argparse

from mqlab.rocketmq.evidence import VERSIONS

from .client import PROFILES
from .cost import open_priced
from .differences import PAGE, page
from .hosts import OurHost, RealHost
from .oracle import ROCKETMQ as ORACLE

VERSION = VERSIONS["5.5"]


def choose_levels(args: argparse.Namespace) -> tuple[int, ...]:
    """The release line of the version. Raises ValueError where none is recorded."""
    named = PROFILES.get(args.version.rpartition(".")[0])
    if named is None:
        known = " or ".join(VERSIONS.values())
        raise ValueError(f"no RocketMQ {args.version} is recorded here: choose {known}")
    return (named.level,)


__all__ = [
    "ORACLE", "PAGE", "VERSION", "OurHost", "RealHost", "choose_levels", "open_priced", "page",
]  # fmt: skip
