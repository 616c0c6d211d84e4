"""`Follow`: watch a running broker through its trace port.

`GET <url>/trace?after=N` answers with JSON lines: first `{"snapshot", "system", "title",
"after"}`, the state before what follows, then a line `{"fact", "change"}` for each fact,
`change` being a patch to the Snapshot before. A thread asks at most twice a second.

`hold` closes the server's gate: the requests of real clients that matter to a transaction stop
there, as messages in the picture, until the learner lets one go, drops it, or kills the node.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, build_opener

from mqlab.kernel.snapshot import Snapshot
from mqlab.kernel.text import NOTHING, Lang, Text, Words, tr
from mqlab.kernel.trace import FORMAT, Fact, Trace, patch
from mqlab.serve.gate import Verb
from mqlab.serve.gate_client import GateClient, GateError, HeldRequest, read_held

from .encoding import pack
from .held_requests import AREAS, NOBODY, list_waiting, read_choice
from .payload import Look, build, refuse
from .player import Player
from .predict import choose
from .style import page_css
from .views.common import find_lanes
from .widget import PictureWidget, join_modules

ROWS = 120  # shown: every fact that is news, of the latest transactions
KEPT = 1_000  # facts of a server that are at hand, whether they are shown or not
KNOWN = ("hold", "title", "lang", "scale", "panels", "level", "every_s")

# What comes of an address where no server, or another program, answers.
NO_TRACE = (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError)

WAITING = Words("{url}: nothing has happened yet")
GOING = Words("{url}: {n} facts so far; {shown} of the last {kept} are shown")
GONE = Words(
    "{url} does not answer ({error}); asking again. Is the server running with --trace-port?"
)
EVERYTHING = tr("polling and repeats too")
LANES = tr("Lanes that are shown")
HIDE = tr("Click: hide this lane")
PANELS = ("space-time", "outcomes", "readers", "lights", "logs", "money", "graphs", "tables")
STOPPED = Words("{url}: no longer followed")


class Serving(Protocol):
    """A server, such as `mqlab.serve.RunningBroker`."""

    @property
    def trace_url(self) -> str: ...
    @property
    def gate_url(self) -> str: ...


class Tail:
    """The last facts of a trace that goes on, put together from the lines of the server: at most
    `kept` of them, of which the last `most` rows are shown. `hidden`, `everything`: see `story`."""

    def __init__(self, most: int = ROWS, kept: int = KEPT) -> None:
        self.most = most
        self.kept = kept
        self.hidden: frozenset[str] = frozenset()
        self.everything = False
        self.index = 0  # of the last fact
        self.waiting: tuple[HeldRequest, ...] = ()  # at the gate
        self._head: dict[str, Any] = {"system": "", "title": ""}
        self._plain: Any = None  # the last Snapshot as JSON, None before the first answer
        self._facts: list[Fact] = []
        self._snapshots: list[Snapshot] = [Snapshot()]

    def feed(self, lines: Iterable[bytes | str]) -> bool:
        """Append the facts of one answer of the server, its lines of JSON: a head, with the
        snapshot before the facts and the requests that the gate holds, then the facts. Where the
        answer does not begin after the last fact that is known, all of these are forgotten. Returns
        whether there is a new fact, or this is the first answer or a new beginning; ValueError for
        an answer of another form."""
        answer = [json.loads(line) for line in lines if line.strip()]
        if not answer or "snapshot" not in answer[0]:
            raise ValueError("the answer does not begin with a snapshot")
        head, new = answer[0], answer[1:]
        self.waiting = read_held(head["gate"]) if "gate" in head else ()
        first = self._plain is None  # no answer yet
        if first or head["after"] != self.index:
            # Begin again: the server was restarted, or has dropped facts that we asked for late.
            self._head, self._plain, self.index = head, head["snapshot"], head["after"]
            self._facts, self._snapshots = [], []
        if not new and self._snapshots:
            return first
        part = self._part([line["fact"] for line in new], [line["change"] for line in new])
        for line in new:
            self._plain = patch(self._plain, line["change"])
        self._facts = (self._facts + list(part.facts))[-self.kept :]
        # A trace has one snapshot more than facts; the part's first is our last one already.
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
        """What is shown of what is kept."""
        title = Text.from_json(self._head["title"]) if self._head["title"] else NOTHING
        rows = choose(self._facts, self.hidden, self.everything)[-self.most :]
        facts = tuple(fact for _, fact in rows)
        start = self._snapshots[rows[0][0] if rows else -1]
        snapshots = tuple(_without(self._snapshots[at + 1], self.hidden) for at, _ in rows)
        return Trace(
            self._head["system"], (), facts, (_without(start, self.hidden), *snapshots), title
        )

    def list_lanes(self) -> list[str]:
        """Every lane of what is kept, by its name, as they are beside each other."""
        return [lane.name for lane in find_lanes(self._snapshots)]


def _without(snapshot: Snapshot, hidden: frozenset[str]) -> Snapshot:
    if not hidden:
        return snapshot
    lanes = tuple(lane for lane in snapshot.lanes if lane.name not in hidden)
    return replace(snapshot, lanes=lanes)


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
    """A player that goes on by itself. `stop()` ends it; closing the widget does too.

    It shows what is news: repeats are in one row, polling in none, until one asks for them with
    the switch below the picture. The buttons beside it hide a lane and show it again.

    `server`: a `RunningBroker`, or the address of a trace. `hold`: stop what matters to a
    transaction at the server's gate, or only the requests that send these messages ("EndTxn").
    A server that was not started by `serve()` says its gate's address when it is started with
    `--gate`: that address, key included, is then the `server`.
    """

    _esm = join_modules("acts.js", "follow.js")
    _css = page_css("acts.css")

    def __init__(
        self,
        server: str | Serving,
        *,
        hold: bool | Collection[str] = False,
        title: str | None = None,
        lang: Lang | None = None,
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        level: str = "everything",
        every_s: float = 0.5,
        **unknown: object,
    ) -> None:
        """Check the address, hold requests at the server's gate if asked to (`hold`: True, or names
        of messages such as "EndTxn"), show what there is already, and begin to poll every
        `every_s` seconds, 0.5 at least, in a thread of its own. `panels` None: the usual ones.
        TypeError for `unknown` arguments, ValueError for a wrong value."""
        self._over = threading.Event()  # set by `stop` and `close`
        self._holds = False  # whether the server's gate is closed for us
        refuse("Follow", unknown, KNOWN)
        self._server = server
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(
                f"{self.url!r} is no address; give one such as 'http://127.0.0.1:9094'"
            )
        self._opener = opener_of(self.url)
        if hold:
            # Without names: all that matters to a transaction.
            self.gate.hold(*([] if hold is True else hold))
            self._holds = True
        self._look = Look.of(title, lang, scale, PANELS if panels is None else panels, level)
        self._every_s = max(every_s, 0.5)
        self._tail = Tail()
        self._lock = threading.Lock()  # of the tail, which the thread extends
        self._drawing = threading.Lock()  # held while a picture is made and sent
        super().__init__()
        self.on_msg(self._asked)
        if self.comm is not None:
            # A choice is heard while a cell runs: JupyterLab sends it to a subshell, but ipykernel
            # 7 would hand it to the shell that has opened the widget, which is busy.
            setattr(self.comm, "_reply_subshell_for", lambda _, subshell: subshell)  # noqa: B010
        self._draw()
        self._tell(WAITING(url=self.url))
        self.poll()
        self._thread = threading.Thread(target=self._ask, name=f"follow {self.url}", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the server is; one that was started again may be elsewhere."""
        url = self._server if isinstance(self._server, str) else self._server.trace_url
        return url.partition("?")[0].rstrip("/").removesuffix("/gate")

    @property
    def gate(self) -> GateClient:
        """Who acts at the server's gate."""
        return GateClient(self._gate_url)

    @property
    def _gate_url(self) -> str:
        return self._server if isinstance(self._server, str) else self._server.gate_url

    @property
    def waiting(self) -> tuple[HeldRequest, ...]:
        """The requests that are held, as the server said last."""
        return self._tail.waiting

    def act(self, verb: Verb, number: int) -> None:
        """Let go, drop or answer by a kill the request of this number. Raises GateError where none
        waits, OSError where no server answers."""
        self.gate.act(verb, number)
        self.poll()

    @property
    def trace(self) -> Trace:
        """The last facts, as a trace that can be narrated, saved or played."""
        return self._tail.trace

    def stop(self) -> None:
        """Ask no more, and let go what is held. What is shown stays."""
        self._let_all_go()
        self._tell(STOPPED(url=self.url))

    def close(self) -> None:
        self._let_all_go()
        super().close()

    def _let_all_go(self) -> None:
        self._over.set()
        if self._holds:
            self._holds = False
            with suppress(OSError, GateError):  # where the server has ended, so has its gate
                self.gate.open()
            self._tail.waiting = ()

    def poll(self) -> bool:
        """Ask once; true if anything is new. The thread does this by itself."""
        try:
            with self._opener.open(self._next(), timeout=5) as answer, self._lock:
                new = self._tail.feed(answer)
        except NO_TRACE as error:
            self._tell(GONE(url=self.url, error=error), failed=True)
            return False
        if new:
            self._draw()
        self._tell(self._say_where())
        return new

    def _say_where(self) -> Text:
        tail = self._tail
        if not tail.index:
            return WAITING(url=self.url)
        return GOING(url=self.url, n=tail.index, shown=self._shown, kept=len(tail))

    def choose(self, hidden: Collection[str] = (), everything: bool = False) -> None:
        """Show what these lanes do not take part in; `everything`: with polling and repeats."""
        with self._lock:
            self._tail.hidden, self._tail.everything = frozenset(hidden), everything
        self._draw()
        self._tell(self._say_where())

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        """What the browser asks for; while a cell runs, Jupyter hands it over all the same."""
        match message:
            case {"type": "choose", "hidden": list(hidden)}:
                self.choose([str(name) for name in hidden], bool(message.get("everything")))
            case {"type": "do", "choice": str(choice)}:
                try:
                    self.act(*read_choice(choice))
                except (ValueError, OSError, GateError) as error:
                    self._tell(Text(str(error)), failed=True)

    def still_html(self) -> str:
        return self._still().still_html()

    def narration(self) -> str:
        return self._still().narration()

    def _still(self) -> Player:
        return Player.of(self.trace, self._look)

    def _next(self) -> str:
        query = {"after": self._tail.index}
        key = parse_qs(urlsplit(self._gate_url).query).get("key") if self._holds else None
        return f"{self.url}/trace?{urlencode(query | ({'key': key[-1]} if key else {}))}"

    def _ask(self) -> None:
        while not self._over.wait(self._every_s):
            self.poll()

    def _draw(self) -> None:
        """The newest picture; one after the other, so that the latest choice is drawn last."""
        with self._drawing:
            with self._lock:
                trace = self._drawn = self._tail.trace
            self._shown = len(trace)
            self.payload = pack(build(trace, len(trace), self._look))

    def _list_areas(self) -> list[dict[str, Any]]:
        lang, drawn = self._look.lang, self._drawn
        names = {lane.name: lane.title.of(lang) for lane in drawn.snapshot(-1).lanes}
        return list_waiting(self._tail.waiting, drawn.facts, names, lang)

    def _tell(self, status: Text, failed: bool = False) -> None:
        """Send the browser what is below the picture, if it has changed: the status line (`failed`:
        it is an error), the switches of the lanes, the held requests."""
        lang = self._look.lang
        ui = {
            "kind": "follow",
            "still": self._name,  # of the still in the output, whose place the picture takes
            "status": status.of(lang),
            "failed": failed,
            "lanes": self._tail.list_lanes(),
            "hidden": sorted(self._tail.hidden),
            "everything": self._tail.everything,
            "holds": self._holds,
            "areas": self._list_areas(),
            "skipped": 0,  # facts before the shown ones, by which the browser would shift `areas`
            "words": {
                "areas": AREAS.of(lang),
                "nobody": NOBODY.of(lang),
                "everything": EVERYTHING.of(lang),
                "lanes": LANES.of(lang),
                "hide": HIDE.of(lang),
            },
        }
        if self.ui != ui:
            self.ui = ui  # a trait of the widget: to assign it is to send it
