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


def real_host(args: argparse.Namespace) -> RealHost:
    return RealHost(args.version)


def our_host(args: argparse.Namespace) -> OurHost:
    return OurHost()


def write_page() -> None:
    PAGE.write_text(page(), "utf-8")


__all__ = [
    "ORACLE",
    "OurHost",
    "VERSION",
    "choose_levels",
    "open_priced",
    "our_host",
    "real_host",
    "write_page",
]
