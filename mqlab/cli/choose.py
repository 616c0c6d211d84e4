"""`mqlab choose`: the page for an engineer who must decide, with every run that it leads to."""

from __future__ import annotations

import argparse

from .site import add_page_arguments, show_page

HELP = "one order, one kill, four ways: a page for the choice, whose claims are runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_page_arguments(parser, ".cache/choose")


def run(args: argparse.Namespace) -> int:
    return show_page(args, "choose.html")
