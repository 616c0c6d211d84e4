"""`mqlab lecture`: one slot of 90 minutes, ready to hold."""

from __future__ import annotations

import argparse

from .site import add_page_arguments, show_page

HELP = "a lecture of 90 minutes: scenes for the projector, votes, speaker's notes, a handout"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_page_arguments(parser, ".cache/lecture")


def run(args: argparse.Namespace) -> int:
    return show_page(args, "lecture/index.html")
