"""`mqlab site`: the static site, written into a folder and, if asked for, shown."""

from __future__ import annotations

import argparse
import http.server
from functools import partial
from pathlib import Path

from .errors import UserError

HELP = "write the site: pages that play without an installation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path(".cache/site"),
        help="default .cache/site; any web server can serve it, below any path",
    )  # fmt: skip
    parser.add_argument(
        "--serve", action="store_true", help="show it on this machine, until Ctrl-C"
    )
    parser.add_argument("--port", type=int, default=0, help="of --serve; default any that is free")


def run(args: argparse.Namespace) -> int:
    from ..site import write_site

    try:
        built = write_site(args.output)
    except OSError as error:
        raise UserError(f"cannot write the site: {error}") from error
    print(f"wrote {built.folder}: {built.stories} stories, {built.bytes / 1e6:.1f} MB")
    if args.serve:
        _serve(args.output, args.port)
    return 0


def _serve(folder: Path, port: int) -> None:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise UserError(f"cannot serve at port {port}: {error.strerror}; take another") from error
    with server:
        print(f"open http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
