"""`mqlab site`: the static site, written into a folder and, if asked for, shown."""

from __future__ import annotations

import argparse
import http.server
import webbrowser
from functools import partial
from pathlib import Path

from ..kernel.text import say_cause
from .errors import UserError
from .language import add_flag, tell

HELP = "write the site: pages that play in any browser, without an installation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path(".cache/site"),
        help="folder to write (default: .cache/site); any web server can serve it, below any path",
    )  # fmt: skip
    add_flag(parser, "--serve", help="serve it on this machine, until Ctrl-C")
    parser.add_argument(
        "--port", type=int, default=0, help="port for --serve (default: any that is free)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the static site, and serve it where asked. Play needs Pyodide, and the labs need it and
    JupyterLite: where one cannot be fetched, the site is written without what needs it. UserError
    where the site cannot be written."""
    from ..site import NoLabs, write_site
    from ..site.pages import need_folder

    try:
        need_folder(args.output)  # before anything is fetched
        pyodide, lite = _fetch()
        built = write_site(args.output, pyodide=pyodide, lite=lite)
    except (NoLabs, OSError) as error:  # NoLabs: all was fetched, and JupyterLite's build fails
        why = say_cause(error) if isinstance(error, OSError) else error
        raise UserError("cannot write the site: {}", why) from error
    tell("wrote {}: {} scenarios, {:.1f} MB", built.folder, built.stories, built.bytes / 1e6)
    if args.serve:
        _serve(args.output, args.port)
    return 0


def _fetch() -> tuple[Path | None, Path | None]:
    """What Play and the labs need; None where it cannot be fetched."""
    from ..site import NoLabs, NoPlay, fetch_lite, fetch_pyodide

    pyodide = lite = None
    try:
        pyodide = fetch_pyodide()
        lite = fetch_lite()
    except NoPlay as error:
        tell("the site is without Play and labs: {}", error)
    except NoLabs as error:
        tell("the site is without labs: {}", error)
    return pyodide, lite


def add_page_arguments(parser: argparse.ArgumentParser, folder: str) -> None:
    """Those of a command that writes one page of the site, with what it leads to."""
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path(folder),
        help="folder to write (default: %(default)s); the pages need no server",
    )  # fmt: skip
    add_flag(parser, "--no-browser", help="do not open the page")


def show_page(args: argparse.Namespace, name: str) -> int:
    """Write the site with no more stories than the choice leads to, and open one of its pages."""
    from ..site import write_site
    from ..site.pages import list_linked, need_folder

    try:
        need_folder(args.output)  # before the executions that the page needs
        built = write_site(args.output, list_linked())
    except OSError as error:
        raise UserError("cannot write the page: {}", say_cause(error)) from error
    page = built.folder / name
    tell("wrote {}, with {} scenarios ({:.1f} MB)", page, built.stories, built.bytes / 1e6)
    address = page.resolve().as_uri()
    if not args.no_browser and not webbrowser.open(address):
        tell("next: open {} in a browser", address)
    return 0


def _serve(folder: Path, port: int) -> None:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise UserError(
            "cannot serve at port {}: {}; choose another", port, say_cause(error)
        ) from error
    with server:
        tell("next: open http://127.0.0.1:{}/ (Ctrl-C ends it)", server.server_port, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
