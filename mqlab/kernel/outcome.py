"""What a call of an application gave back.

There are three kinds of outcome, and a careful application treats all three differently:
`ok`, `failed` (definite: it did not happen) and `unknown` (indefinite: it may have). Maelstrom
tells its errors apart by the same two words (jepsen-io/maelstrom, doc/protocol.md, "Errors").

An outcome keeps the call itself, so that a claim about an application asks the call for its
fields, and nobody takes its words apart.
"""

from __future__ import annotations

from enum import Enum

from .values import frozen

OK, FAILED, UNKNOWN = "ok", "failed", "unknown"


@frozen
class Outcome:
    """`call`: the call as the application made it. `status`: `ok`, `failed` or `unknown`.
    `detail`: the error's name, or what was read. `meaning`: the same for programs, where they tell
    several apart: the error itself, its kind, a state; None where they need not."""

    call: object
    status: str = OK
    detail: str = ""
    meaning: object = None

    @property
    def ok(self) -> bool:
        return self.status == OK

    @property
    def result(self) -> str:
        """What came back, in words: `ok @7`, `failed InvalidTxnStateException`."""
        return f"{self.status} {self.detail}".rstrip()

    def __str__(self) -> str:
        return f"{self.call}: {self.result}"


def build_success(call: object, detail: str = "", meaning: object = None) -> Outcome:
    """It was done; `detail` says what was read, where something was."""
    return Outcome(call, OK, detail, meaning)


def build_failure(call: object, why: object, meaning: object = None) -> Outcome:
    """It was not done; `why` is an error, which says itself what it means, or a sentence."""
    return Outcome(call, FAILED, str(why), why if isinstance(why, Enum) else meaning)
