"""The table of client libraries: each tells the same story, and then its log is looked at."""

from __future__ import annotations

from functools import partial

from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.programs import tell_story

from ..libraries import LIBRARIES, Library
from . import LIBRARY, program


def play_library(library: Library, lab: Lab) -> None:
    tell_story(lab, library.name, library.version, library.story())


for one in LIBRARIES:
    if one.version:  # the one that is installed tells it in lab 14 too
        program(
            one.scenario,
            f"the story of every client library, told by {one.name} {one.version}",
            profiles=("tv2-legacy" if one.legacy else "tv2",),
            needs=(LIBRARY,),
        )(partial(play_library, one))
