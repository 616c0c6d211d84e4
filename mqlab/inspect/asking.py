"""Asking a broker that may refuse, or that is damaged: what is refused costs a part of the report.
And what may be found, from a table."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from shlex import quote
from typing import Any

from ..kernel import Text, Words, frozen, tr
from .reading import Evidence, Finding, Gap, Kind, Unreadable

OTHER_FORM = Words("the answer is not as this version of mqlab expects it ({why})")


class Refused(Exception):
    """There is no answer. `why`: in words; `failed`: it should have come, and is damaged or
    refused; `code`: the broker's own."""

    def __init__(self, why: Text, failed: bool = False, code: int = 0) -> None:
        super().__init__(why.en)
        self.why, self.failed, self.code = why, failed, code


def attempt(
    gaps: list[Gap], what: Text, otherwise: Any, ask: Callable[..., Any], *args: object
) -> Any:
    """What `ask(*args)` returns; where it is refused, or of another shape, `otherwise`, and a gap
    named `what`."""
    try:
        return ask(*args)
    except Refused as refused:
        gaps.append(Gap(what, refused.why, refused.failed))
    except (ValueError, AttributeError, TypeError, LookupError) as error:  # of another shape
        gaps.append(Gap(what, OTHER_FORM(why=f"{type(error).__name__}: {error}"), failed=True))
    return otherwise


def parse_settings(text: str) -> dict[str, str]:
    """Lines name=value; others are passed over, as Java does."""
    rows = (line.partition("=") for line in text.splitlines() if not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, equals, value in rows if equals}


def read_settings(path: str) -> dict[str, str]:
    """A client's; none without a path. Raises Unreadable."""
    try:
        return parse_settings(Path(path).read_text("utf-8")) if path else {}
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable("cannot read the settings in {}: {}", path, error) from error


@frozen
class Case:
    """A kind of finding with its words. `commands` and `says` are templates."""

    kind: Kind
    says: Words
    advice: Text
    commands: tuple[str, ...]

    def find(
        self, where: str, proof: Iterable[Evidence], logs: Iterable[str] = (), **made: Any
    ) -> Finding:
        words = ([word.format(**made) for word in c.split()] for c in self.commands)
        # without one of which a word is not known
        commands = (map(quote, line) for line in words if "?" not in line)
        says = self.says(**made)
        lines = tuple(map(" ".join, commands))
        return Finding(self.kind, where, says, tuple(proof), tuple(logs), self.advice, lines)


def load_cases(path: Path) -> dict[str, Case]:
    """From a file `findings.toml`, the worst first; the catalogue has its Chinese."""
    return {
        name: Case(
            Kind(name, tr(row["title"]), tr(row["risk"]), tuple(row["see"])),
            Words(row["says"]), tr(row["advice"]), tuple(row["commands"]),
        )
        for name, row in tomllib.loads(path.read_text("utf-8")).items()
    }  # fmt: skip
