"""Floor 7: a folder of static pages, for those who install nothing.

    stories      what there is to show: each committed scenario, and what it can be found by
    pages        the pages, from the templates in labs/site, and what they share

A picture plays without a kernel, so a page needs a web server at most, and a story costs its own
payload only: player, style and font are files that all pages load once. No page asks anything of
another host, and every address is relative, so that the folder works below any path.
"""

from .lite import NoLabs, fetch_lite
from .pages import Built, write_site
from .play import NoPlay, fetch_pyodide

__all__ = ["Built", "NoLabs", "NoPlay", "fetch_lite", "fetch_pyodide", "write_site"]
