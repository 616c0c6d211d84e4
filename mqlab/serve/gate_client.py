"""A client of a server's gate, which holds and releases requests: `GateClient(broker.gate_url)`.

The address is what `mqlab serve NAME --gate` says when it starts, key included. Requests that
matter to a transaction then stop at the gate, and each is let in, dropped, or met by the death of
the node (`gate.Verb`). The gate opens by itself when no client has asked about it for a while, so
a program that waits for something to happen there asks again and again, as `wait` does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from ..kernel import Text, frozen
from .gate import Verb

PATIENCE_S = 30.0
PAUSE_S = 0.05


class GateError(Exception):
    """The gate does not do this; the message is the server's reason."""


@frozen
class HeldRequest:
    """`kind`: the message that it sends to the role `to` (`EndTxn`), `text`: what that says.
    `client`: what its client calls itself. `fact`: of the live trace, the one that tells of it."""

    id: int
    kind: str
    client: str
    to: str
    text: Text
    fact: int


def read_held(gate: dict[str, Any]) -> tuple[HeldRequest, ...]:
    """The held requests, from the JSON that a server answers."""
    return tuple(
        HeldRequest(
            one["id"],
            one["kind"],
            one["client"],
            one["to"],
            Text.from_json(one["text"]),
            one["fact"],
        )
        for one in gate["waiting"]
    )


class GateClient:
    """`url`: such as "http://127.0.0.1:41235/gate?key=…". A method that raises GateError raises
    OSError where no server answers."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opener = build_opener(ProxyHandler({}))

    def hold(self, *kinds: str) -> None:
        """Close the gate to what sends these messages, or to all that matters to a transaction."""
        self._post({"do": "hold", "kinds": kinds})

    def open(self) -> None:
        """What waits goes in, and nothing is held any more."""
        self._post({"do": "open"})

    def waiting(self) -> tuple[HeldRequest, ...]:
        """What is held, oldest first."""
        with self._opener.open(self._url, timeout=PATIENCE_S) as answer:
            return read_held(json.loads(answer.readline())["gate"])

    def wait(self, kind: str = "", timeout_s: float = PATIENCE_S) -> HeldRequest:
        """The first request of this kind, of any if none is named; others before it stay held.
        Raises TimeoutError."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            for one in self.waiting():
                if kind in ("", one.kind):
                    return one
            time.sleep(PAUSE_S)
        raise TimeoutError(f"no {kind or 'request'} came to the gate in {timeout_s:.0f} s")

    def let_go(self, held: HeldRequest) -> None:
        self.act(Verb.LET_GO, held.id)

    def drop(self, held: HeldRequest) -> None:
        """The request is lost, and its connection breaks."""
        self.act(Verb.DROP, held.id)

    def kill_before(self, held: HeldRequest) -> None:
        """The node dies without having got the request, and starts again."""
        self.act(Verb.KILL_BEFORE, held.id)

    def kill_after(self, held: HeldRequest) -> None:
        """The node does what is asked, and dies before it has answered."""
        self.act(Verb.KILL_AFTER, held.id)

    def act(self, verb: Verb, number: int) -> None:
        self._post({"do": verb, "id": number})

    def _post(self, order: dict[str, Iterable[str] | str | int]) -> None:
        data = json.dumps(order).encode()
        try:
            self._opener.open(Request(self._url, data, method="POST"), timeout=PATIENCE_S).close()
        except HTTPError as error:
            raise GateError(error.read().decode().strip()) from error
        except HTTPException as error:
            raise OSError(f"no server with a gate answers: {error}") from error
