"""HTTP/1.1 as the servers of this project speak it: a request out of bytes, and its response.

h11 reads and writes the protocol (chunked bodies, lengths that contradict each other, connections
that stay open); it does no I/O, and neither does this module. What is added here holds for every
route, since no request gets past it:

    Host      must be this machine: `localhost`, a loopback address, or the address at which the
              client has reached the server. A name that an attacker's DNS has turned to 127.0.0.1
              (DNS rebinding) is another one.
    Origin    says that a page of a browser asks. A page that this machine has not served is
              refused: it could end a user's transaction with one POST.
    sizes     of head and body are bounded.

Source: RFC 9112 (HTTP/1.1), RFC 6454 (Origin).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from ipaddress import ip_address

import h11

from ..kernel import frozen

MOST_HEAD, MOST_BODY = 16 << 10, 1 << 20
MOST_WIRE = 2 * MOST_BODY  # of a body in chunks, with the sizes in between
HOST = re.compile(r"(localhost|[0-9.]+|\[[0-9a-f:.]+\])(?::\d{1,5})?", re.IGNORECASE)

Header = tuple[str, str]


class HttpError(Exception):
    """A request that no route is asked about. `status` and the message are the answer, after which
    the connection closes."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@frozen
class HttpRequest:
    """`target`: path and query as they came, not decoded. `last`: the client wants the connection
    closed after the response."""

    method: str
    target: str
    body: bytes
    last: bool


class Exchange:
    """One request and its response; the next on the connection has an exchange of its own.

    `here`: the address (host, port) at which the client has reached the server.
    """

    def __init__(self, here: tuple[str, int]) -> None:
        self._here = here[0]
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)
        self._fed = 0  # bytes of the buffer that h11 has seen
        self._head: h11.Request | None = None
        self._body = bytearray()

    def take(self, buffer: bytearray) -> HttpRequest | None:
        """Return the next request in `buffer` and remove its bytes; None while it is not complete.
        Bytes after it stay for the next exchange. Raises HttpError as soon as it is clear that the
        bytes are no acceptable request."""
        try:
            while not self._read_events(buffer):  # False: h11 needs more bytes
                if self._fed == len(buffer):
                    return None  # h11 has seen all bytes and wants more
                # `_fed`: how many bytes of the buffer h11 has seen
                piece = bytes(buffer[self._fed : self._fed + MOST_HEAD])
                self._h11.receive_data(piece)
                self._fed += len(piece)
        except h11.RemoteProtocolError as error:
            raise HttpError(error.error_status_hint, f"this is no request: {error}") from error
        del buffer[: self._request_size]
        assert self._head is not None
        method, target = self._head.method.decode(), self._head.target.decode("latin-1")
        # the client will send nothing more, or asked to close
        last = self._h11.their_state is not h11.DONE
        return HttpRequest(method, target, bytes(self._body), last)

    def respond(self, status: int, headers: Iterable[Header], body: bytes) -> bytes:
        """The whole response."""
        start = self.begin(status, headers, len(body))
        silent = self._head is not None and self._head.method == b"HEAD"
        return start if silent or status == HTTPStatus.NO_CONTENT else start + body

    def begin(self, status: int, headers: Iterable[Header], size: int, last: bool = False) -> bytes:
        """The response's head; its body has `size` bytes. `last`: the connection will close."""
        fields = list(headers)
        if status != HTTPStatus.NO_CONTENT:
            fields.append(("Content-Length", str(size)))
        if last or self._h11.their_state is not h11.DONE:
            fields.append(("Connection", "close"))
        try:
            reason = HTTPStatus(status).phrase
        except ValueError:
            reason = ""
        head = h11.Response(status_code=status, headers=fields, reason=reason)
        return self._h11.send(head) or b""

    # -- what h11 has found ------------------------------------------------------------------

    @property
    def _request_size(self) -> int:
        """Bytes of the buffer that belong to this request, as far as h11 has read it."""
        return self._fed - len(self._h11.trailing_data[0])

    def _read_events(self, buffer: bytearray) -> bool:
        """Whether the request is whole."""
        while (event := self._h11.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Request):
                self._head = event
                self._check_head()
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return True
            if len(self._body) > MOST_BODY or self._fed > MOST_HEAD + MOST_WIRE:
                raise HttpError(413, f"a body may have {MOST_BODY} bytes")
        return False

    def _check_head(self) -> None:
        """Refuse a request whose head is too large, comes by a foreign host name or from a foreign
        web page, or announces too large a body. Raises HttpError; runs before the body is read."""
        if self._request_size > MOST_HEAD:  # as far as it is read: its head
            raise HttpError(431, f"the head of a request may have {MOST_HEAD} bytes")
        host, origin = self._header(b"host"), self._header(b"origin")
        if not is_here(host or "", self._here):
            raise HttpError(
                403,
                f"this server is asked as 127.0.0.1 or localhost, not as {host or 'nobody'}: "
                "a page could have come here by another name",
            )
        if origin is not None and not is_here(origin.partition("://")[2], self._here):
            raise HttpError(403, f"a page of another address ({origin[:80]}) may not ask")
        if self._header(b"expect") is not None:
            raise HttpError(417, "send the body without waiting for 100 Continue")
        if int(self._header(b"content-length") or 0) > MOST_BODY:
            raise HttpError(413, f"a body may have {MOST_BODY} bytes")

    def _header(self, name: bytes) -> str | None:
        assert self._head is not None
        values = (value for key, value in self._head.headers if key == name)
        value = next(values, None)
        return None if value is None else value.decode("latin-1")


def is_here(host: str, here: str) -> bool:
    """Whether a Host header names this machine; `here`: the address that the client has reached."""
    match = HOST.fullmatch(host)
    if match is None:
        return False
    name = match[1].lower().strip("[]")
    if name == "localhost":
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or str(address) == here
