"""The table of client libraries: each tells the same story, and then its log is looked at."""

from __future__ import annotations

from functools import partial

from ..client import Lab
from ..libraries import LIBRARIES, Library
from ..stories import Story
from . import JAVA, LIBRARY, program
from .java import wait_until_known


def play_library(library: Library, lab: Lab) -> None:
    """Its checks come with a round that is made here."""
    lab.topic("orders")
    command = library.story()
    lab.clients[library.name] = library.version
    with Story(lab, "orders", command) as app:
        app.note_until("sent")
        wait_until_known(lab)
        lab.write_ops()
        lab.round()
        app.note_until("end")
    lab.write_ops()
    lab.log("half", 4)
    lab.log("op", 2)
    lab.log("orders", library.messages)


for one in LIBRARIES:
    program(
        one.scenario,
        "a transaction committed, rolled back and asked about, told by a client library",
        profiles=("5.5",),
        needs=(JAVA, LIBRARY),  # whatever its language, it asks a name server, as Java's does
        settings={"timerWheelEnable": "true"},
    )(partial(play_library, one))
