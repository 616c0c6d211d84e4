"""`mqlab choose`: the page for an engineer who must decide, with every run that it leads to."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from .errors import UserError

HELP = "one order, one kill, four ways: a page for the choice, whose claims are runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path(".cache/choose"),
        help="default .cache/choose; the pages need no server",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")


def run(args: argparse.Namespace) -> int:
    from ..site import write_site
    from ..site.choose import list_linked

    try:
        built = write_site(args.output, list_linked())
    except OSError as error:
        raise UserError(f"cannot write the page: {error}") from error
    page = built.folder / "choose.html"
    print(f"wrote {page}, with {built.stories} stories ({built.bytes / 1e6:.1f} MB)")
    address = page.resolve().as_uri()
    if not args.no_browser and not webbrowser.open(address):
        print(f"open it in a browser: {address}")
    return 0
