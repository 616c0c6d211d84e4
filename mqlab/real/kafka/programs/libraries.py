"""The table of client libraries: each tells the same story, and then its log is looked at."""

from __future__ import annotations

from functools import partial

from ...stories import play
from ..admin import describe, fetch_offsets
from ..client import Lab
from ..libraries import LIBRARIES, Library
from . import LIBRARY, program


def play_library(library: Library, lab: Lab) -> None:
    """What the library told, then what it left behind, asked for by raw requests."""
    lab.clients[library.name] = library.version
    play(lab, library.story())
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    lab.log("orders-0", end=1)
    lab.log("orders-1", end=1)
    describe(lab, "A", "CompleteCommit")
    fetch_offsets(lab, "billing", "orders-0")
    fetch_offsets(lab, "accounting", "orders-0", "orders-1")


for one in LIBRARIES:
    program(
        one.scenario,
        f"the story of every client library, told by {one.name} {one.version}".rstrip(),
        profiles=("tv2-legacy" if one.legacy else "tv2",),
        needs=(LIBRARY,) if one.version else (),
    )(partial(play_library, one))
