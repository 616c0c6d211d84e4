"""What a call of an application gave back.

There are three kinds of outcome, and a careful application treats all three differently:
`ok`, `failed` (definite: it did not happen) and `unknown` (indefinite: it may have). Maelstrom
tells its errors apart by the same two words (jepsen-io/maelstrom, doc/protocol.md, "Errors").

An outcome keeps the call itself, so that a claim about an application asks the call for its
fields, and nobody takes its words apart.
"""

from __future__ import annotations

from .values import frozen

OK, FAILED, UNKNOWN = "ok", "failed", "unknown"


@frozen
class Outcome:
    """`call`: the call as the application made it. `status`: `ok`, `failed` or `unknown`.
    `detail`: the error's name, or what was read."""

    call: object
    status: str = OK
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.status == OK

    @property
    def result(self) -> str:
        """What came back, in words: `ok @7`, `failed InvalidTxnStateException`."""
        return f"{self.status} {self.detail}".rstrip()

    def __str__(self) -> str:
        return f"{self.call}: {self.result}"


def build_success(call: object, detail: str = "") -> Outcome:
    """It was done; `detail` says what was read, where something was."""
    return Outcome(call, OK, detail)


def build_failure(call: object, why: object) -> Outcome:
    """It was not done; `why` is an error or a sentence."""
    return Outcome(call, FAILED, str(why))
