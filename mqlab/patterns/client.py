"""An application's side of every model: one call, one request, one outcome.

The call itself is what is sent. A call whose connection breaks has an unknown outcome: it may
have happened, and this client does not ask again. To know it, one must look at the data.
"""

from __future__ import annotations

from ..kernel import (
    OK,
    UNKNOWN,
    Call,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Outcome,
    Quiet,
    Response,
    Return,
    Send,
    frozen,
    phrase_word,
    replace,
)


@frozen
class Answer:
    """What a coordinator says to a client: `ok`, `failed` or `unknown`, and why."""

    txn: str
    status: str = OK
    detail: str = ""

    @property
    def key(self) -> str:
        return f"answer {self.status}"

    def __str__(self) -> str:
        return f"{phrase_word(self.status)} {phrase_word(self.detail)}".rstrip()


@frozen
class Client(Quiet):
    """`server`: whom it asks; `call`: the one that has no outcome yet."""

    server: str
    call: object = None

    @staticmethod
    def recover(server: str, disk: Disk, at_ms: int) -> tuple[Client, Effects]:
        return Client(server), ()

    def step(self, event: Event, disk: Disk) -> tuple[Client, Effects]:
        match event:
            case Call(body=call):
                return replace(self, call=call), (Send(self.server, call),)
            case Response(body=Answer(status=status, detail=detail)) if self.call is not None:
                outcome = Outcome(self.call, status, detail)
                return replace(self, call=None), (Return(outcome),)
            case ConnectionLost() if self.call is not None:
                outcome = Outcome(self.call, UNKNOWN, "connection broken")
                return replace(self, call=None), (Return(outcome),)
        return self, ()  # an answer to a call that was given up
