"""`Follow`: watch a running broker through its trace port.

`GET <url>/trace?after=N` answers with JSON lines: first `{"snapshot", "system", "title",
"after"}`, the state before what follows, then a line `{"fact", "change"}` for each fact,
`change` being a patch to the Snapshot before. A thread asks at most twice a second.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from urllib.request import OpenerDirector, ProxyHandler, build_opener

from mqlab.kernel.snapshot import Snapshot
from mqlab.kernel.text import NOTHING, Lang, Text, Words
from mqlab.kernel.trace import FORMAT, Fact, Trace, patch

from .connections import name_clients
from .lives import deflate
from .payload import WINDOW, Look, build, refuse
from .player import Player
from .widget import PictureWidget, join_modules

KNOWN = ("title", "lang", "scale", "panels", "every_s")

# What comes of an address where nobody, or somebody else, answers.
NO_TRACE = (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError)

WAITING = Words("{url}: nothing has happened yet", "{url}：还没有发生任何事")
GOING = Words(
    "{url}: {n} facts so far, the last {shown} are shown", "{url}：共 {n} 条，显示最后 {shown} 条"
)
GONE = Words(
    "{url} does not answer ({error}); asking again. Is the server running with --trace-port?",
    "{url} 没有应答（{error}），稍后再试。服务器启动时带 --trace-port 了吗？",
)
STOPPED = Words("{url}: no longer followed", "{url}：已停止跟踪")


class Tail:
    """The last facts of a trace that goes on, put together from the lines of the server."""

    def __init__(self, most: int = WINDOW) -> None:
        self.most = most
        self.index = 0  # of the last fact
        self._head: dict[str, Any] = {"system": "", "title": ""}
        self._plain: Any = None
        self._facts: list[Fact] = []
        self._snapshots: list[Snapshot] = [Snapshot()]

    def feed(self, lines: Iterable[bytes | str]) -> bool:
        """Take one answer; true if anything is new. Raises ValueError for another protocol."""
        answer = [json.loads(line) for line in lines if line.strip()]
        if not answer or "snapshot" not in answer[0]:
            raise ValueError("the answer does not begin with a snapshot")
        head, new = answer[0], answer[1:]
        first = self._plain is None
        if first or head["after"] != self.index:
            # The server was started again, or has dropped what we had not asked for in time.
            self._head, self._plain, self.index = head, head["snapshot"], head["after"]
            self._facts, self._snapshots = [], []
        if not new and self._snapshots:
            return first
        if len(new) > self.most:  # what would not be shown is passed over, not built
            for line in new[: -self.most]:
                self._plain = patch(self._plain, line["change"])
            self._facts, self._snapshots, new = [], [], new[-self.most :]
        part = self._part([line["fact"] for line in new], [line["change"] for line in new])
        for line in new:
            self._plain = patch(self._plain, line["change"])
        self._facts = (self._facts + list(part.facts))[-self.most :]
        kept = self._snapshots + list(part.snapshots[1 if self._snapshots else 0 :])
        self._snapshots = kept[-len(self._facts) - 1 :]
        self.index = self._facts[-1].index if self._facts else self.index
        return True

    def _part(self, facts: list[Any], changes: list[Any]) -> Trace:
        """Only what is new is built; the Snapshots of earlier facts are kept."""
        return Trace.from_json(
            {
                "format": FORMAT,
                "system": self._head["system"],
                "title": self._head["title"],
                "choices": [],
                "facts": facts,
                "start": self._plain,
                "changes": changes,
            }
        )

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def trace(self) -> Trace:
        """What is kept, its lanes headed by the names of the clients."""
        title = Text.from_json(self._head["title"]) if self._head["title"] else NOTHING
        whole = Trace(self._head["system"], (), tuple(self._facts), tuple(self._snapshots), title)
        return name_clients(whole)


def opener_of(url: str) -> OpenerDirector:
    """What asks this address: this machine directly, others by the proxy that is set, if any.

    `http_proxy` without `no_proxy` would send 127.0.0.1 to the proxy, whose own 127.0.0.1 it is.
    """
    host = urlsplit(url).hostname or ""
    try:
        is_here = ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    return build_opener(ProxyHandler({})) if is_here else build_opener()


class Follow(PictureWidget):
    """A player that goes on by itself. `stop()` ends it; closing the widget does too."""

    _esm = join_modules("follow.js")

    def __init__(
        self,
        url: str,
        *,
        title: str | None = None,
        lang: Lang = "en",
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        every_s: float = 0.5,
        **unknown: object,
    ) -> None:
        self._over = threading.Event()
        refuse("Follow", unknown, KNOWN)
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is no address; give one such as 'http://127.0.0.1:9094'")
        self.url = url.rstrip("/")
        self._opener = opener_of(url)
        self._look = Look.of(title, lang, scale, panels)
        self._every_s = max(every_s, 0.5)
        self._tail = Tail()
        self._lock = threading.Lock()
        super().__init__()
        self._draw()
        self._tell(WAITING(url=self.url))
        self.poll()
        self._thread = threading.Thread(target=self._ask, name=f"follow {url}", daemon=True)
        self._thread.start()

    @property
    def trace(self) -> Trace:
        """The last facts, as a trace that can be narrated, saved or played."""
        return self._tail.trace

    def stop(self) -> None:
        """Ask no more. What is shown stays."""
        self._over.set()
        self._tell(STOPPED(url=self.url))

    def close(self) -> None:
        self._over.set()
        super().close()

    def poll(self) -> bool:
        """Ask once; true if anything is new. The thread does this by itself."""
        try:
            with self._lock, self._opener.open(self._next(), timeout=5) as answer:
                new = self._tail.feed(answer)
        except NO_TRACE as error:
            self._tell(GONE(url=self.url, error=error), failed=True)
            return False
        if new:
            self._draw()
        n = self._tail.index
        shown = len(self._tail)
        self._tell(GOING(url=self.url, n=n, shown=shown) if n else WAITING(url=self.url))
        return new

    def still_html(self) -> str:
        return self._still().still_html()

    def narration(self) -> str:
        return self._still().narration()

    def _still(self) -> Player:
        look = self._look
        return Player(
            self.trace, title=look.title, lang=look.lang, scale=look.scale, panels=look.panels
        )

    def _next(self) -> str:
        return f"{self.url}/trace?after={self._tail.index}"

    def _ask(self) -> None:
        while not self._over.wait(self._every_s):
            self.poll()

    def _draw(self) -> None:
        trace = self._tail.trace
        self.payload = deflate(build(trace, len(trace), self._look))

    def _tell(self, status: Text, failed: bool = False) -> None:
        ui = {
            "kind": "follow",
            "still": self._name,
            "status": status.of(self._look.lang),
            "failed": failed,
        }
        if self.ui != ui:
            self.ui = ui
