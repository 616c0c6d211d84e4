"""A learner's file in a system of her own choice, to be played choice by choice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...kernel import Play, Text, Words
from .checking import NO_SITTING
from .host import BuildError, FileHost, read_file
from .whats import find_what

if TYPE_CHECKING:
    from mqlab_widgets import Playground

SAYS = Words(
    "{file} plays its part. Save a change and reload this page: it shows the same choices with "
    "your new code."
)
SHORTER = Words("Of the {all} choices the first {left} are possible with {file} as it is now.")
CORRECT = Words("{why}. Correct {file}, save it, and reload this page.")


def begin(
    source: str, line: str = "", sitting: int = 1, choices: Sequence[str] = ()
) -> tuple[Play, FileHost]:
    """Start the learner's file in a process of its own, and return a play with it and that process,
    which the caller ends.

    The play is of the system of `line`, or of the first trial in the lab's part `sitting`, with the
    role that the text of the file, `source`, programs. The `choices` are made up to the first that
    is impossible with it. BuildError where the file cannot be loaded; ValueError for what is no
    system line, and where there is no such part.
    """
    what = find_what(source)
    if sitting not in what.sittings:
        raise ValueError(str(NO_SITTING(sitting=sitting, last=len(what.sittings))))
    host: Any = what.host(source)
    try:
        system = what.arrange_play(line or what.sittings[sitting][0].line, host.recover)
        play = Play(system)
    except BaseException:
        host.close()
        raise
    with suppress(ValueError):  # the first choice that is impossible ends them
        for choice in choices:
            play.do(choice)
    return play, host


class ByHand:
    """A file that is played while it is written: with each `begin` it is read again, and the
    choices that were made so far are made again. `line`, `sitting`: as above; `choices`: the
    first."""

    def __init__(self, path: Path, line: str, sitting: int, choices: Sequence[str] = ()) -> None:
        self.path, self.line, self.sitting = path, line, sitting
        self._choices = tuple(choices)
        self._play: Play | None = None
        self._host: FileHost | None = None

    def begin(self) -> tuple[Playground | None, Text]:
        """Read the file again and return its playground, at the choices made so far, with a
        sentence that says how many of them are no longer possible, if any; (None, why) where the
        file cannot be played now. ValueError as the function `begin`."""
        from mqlab_widgets import Playground

        if self._play is not None:
            self._choices = self._play.choices
        file = self.path.name
        try:
            play, host = begin(read_file(self.path), self.line, self.sitting, self._choices)
        except BuildError as error:
            return None, CORRECT(why=error, file=file)
        self.close()  # the process of the file as it was before
        self._play, self._host = play, host
        wanted, made = len(self._choices), len(play.choices)
        sentence = SAYS(file=file)
        if made < wanted:
            sentence = SHORTER(all=wanted, left=made, file=file)
        return Playground(play), sentence

    def close(self) -> None:
        """End the process of the file."""
        if self._host is not None:
            self._host.close()
