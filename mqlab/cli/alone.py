"""A playground in the browser, without a notebook: a page on loopback that this process answers.

    GET  /KEY/            the page; each time it is loaded it begins again
    GET  /KEY/widget.js   its module
    POST /KEY/            a message of the widget, as JSON; what it shows then, by trait

KEY is said to the one who starts it. `serve/http.py` says who else may not ask.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Lock
from typing import TYPE_CHECKING, Any

from mqlab.serve.http import Exchange, Header, HttpError, HttpRequest

from ..kernel.text import Lang, Text, tr
from .lab_server import HOST

if TYPE_CHECKING:
    from mqlab_widgets import Playground

PATIENCE_S = 10.0  # for a request to come, and for its answer to be read
READ = 1 << 14
GONE = tr("The program that answers this page has ended. Start it again.")
#: a page that fetches nothing but its module and its data
HEADERS: tuple[Header, ...] = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'; "
     "style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'"),
    ("X-Content-Type-Options", "nosniff"),
)  # fmt: skip
PAGE, MODULE, DATA, PLAIN = (
    f"{kind}; charset=utf-8"
    for kind in ("text/html", "text/javascript", "application/json", "text/plain")
)
Answer = tuple[int, str, str]


class PageServer(ThreadingTCPServer):
    """Listens on a port of loopback, 0: any. `begin` makes the playground and what is above it,
    each time the page is loaded; None instead of a playground where there is none. OSError where
    the port cannot be opened."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(
        self, begin: Callable[[], tuple[Playground | None, Text]], lang: Lang, port: int = 0
    ) -> None:
        self._begin, self._lang, self._lock = begin, lang, Lock()
        self._widget: Playground | None = None
        self._path = f"/{secrets.token_urlsafe(16)}/"
        super().__init__((HOST, port), Asked)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}{self._path}"

    def answer(self, asked: HttpRequest) -> Answer:
        """Status, type and text. HttpError for a path that is not served."""
        with self._lock:
            match asked.method, asked.target:
                case "GET", self._path:
                    self._widget, says = self._begin()
                    return 200, PAGE, self._page(says)
                case "GET", target if target == f"{self._path}widget.js":
                    return 200, MODULE, _read_module()
                case "POST", self._path if self._widget is not None:
                    return 200, DATA, json.dumps(self._tell(self._widget, asked.body))
        raise HttpError(404, "there is nothing here: take the address that the program has said")

    def _page(self, says: Text) -> str:
        from mqlab_widgets.player import document
        from mqlab_widgets.playground import Playground
        from mqlab_widgets.scene import xml

        body = (
            f"<style>{Playground._css}p{{font:14px/1.4 system-ui,sans-serif}}</style>"
            f'<p id="says">{xml(says.of(self._lang))}</p>'
            f'<p id="gone" role="alert" hidden>{xml(GONE.of(self._lang))}</p>'
        )
        if self._widget is not None:
            body += '<div id="widget"></div><script type="module" src="widget.js"></script>'
        return document("mqlab", self._lang, body, "")

    def _tell(self, widget: Playground, body: bytes) -> dict[str, str]:
        """What the widget shows after a message."""
        try:
            message: Any = json.loads(body)
        except ValueError as error:
            raise HttpError(400, "a message is JSON") from error
        widget._handle_custom_msg(message, [])
        return {
            "payload": base64.b64encode(widget.payload).decode(),
            "other": base64.b64encode(widget.other).decode(),
            "ui": json.dumps(widget.ui),
        }


def _read_module() -> str:
    from mqlab_widgets.widget import join_modules

    return join_modules("acts.js", "branches.js", "beside.js", "playground.js", "alone.js")


class Asked(BaseRequestHandler):
    """A connection: one request, and its answer."""

    server: PageServer

    def handle(self) -> None:
        """Receive one HTTP request and send the page server's answer to it, or its HTTP error; then
        the connection is closed. There is no answer where nothing comes for PATIENCE_S, or the
        client closes, before the request is whole."""
        self.request.settimeout(PATIENCE_S)
        exchange, buffer = Exchange(self.request.getsockname()[:2]), bytearray()
        try:
            request = exchange.take(buffer)
            while request is None:  # not whole yet
                if not (received := self.request.recv(READ)):
                    return  # the client has closed
                buffer += received
                request = exchange.take(buffer)
            status, kind, text = self.server.answer(request)
        except HttpError as error:
            status, kind, text = error.status, PLAIN, str(error)
        except OSError:
            return
        headers, body = (("Content-Type", kind), *HEADERS), text.encode()
        with suppress(OSError):
            self.request.sendall(exchange.begin(status, headers, len(body), last=True) + body)
