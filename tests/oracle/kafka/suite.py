"""What `mqlab real kafka` is handed."""

from __future__ import annotations

import argparse

from mqlab.kafka.evidence import VERSION
from mqlab.real.kafka.differences import PAGE, page

from .cost import open_priced
from .hosts import OurHost, RealHost
from .oracle import KAFKA as ORACLE


def choose_levels(args: argparse.Namespace) -> tuple[int, ...]:
    return () if args.transaction_version is None else (args.transaction_version,)


__all__ = [
    "ORACLE", "PAGE", "VERSION", "OurHost", "RealHost", "choose_levels", "open_priced", "page",
]  # fmt: skip
