"""The gate of a server that knows no broker: what is held, what may be done with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mqlab.kernel import replace
from mqlab.serve import gate
from mqlab.serve.connection import Connection
from mqlab.serve.gate import Verb
from mqlab.serve.options import Options
from mqlab.serve.server import Server
from mqlab.serve.trace.http import KeyedGate, TraceServer
from mqlab.serve.trace.live import Dropped, Held, Killed
from tests.serve.test_turns import Wire
from tests.serve.toy import TOY, pack

FEED = {"id": 1, "do": "feed", "text": "a"}
ECHO = {"id": 2, "do": "echo", "text": "b"}
GATE = replace(TOY, held=("tuple",))  # the messages from the toy's front to its feed


class Cut(Wire):
    """A wire that says whether it was cut off."""

    cut = False

    def abort(self) -> None:
        self.cut = True


class Client:
    def __init__(self, server: Server, number: int) -> None:
        self.connection, self.wire = Connection(server, number), Cut()
        self.connection.connection_made(self.wire)

    def ask(self, said: dict[str, Any]) -> None:
        self.connection.data_received(pack(said))

    @property
    def heard(self) -> list[dict[str, Any]]:
        parts, left = [], self.wire.sent
        while left:
            size = int.from_bytes(left[:4], "big")
            parts.append(json.loads(left[4 : 4 + size]))
            left = left[4 + size :]
        return parts


def serving(talk: Callable[[Server, Client], Awaitable[None]], adapter: Any = GATE) -> Server:
    made: list[Server] = []

    async def run() -> None:
        server = Server(adapter, Options())
        made.append(server)
        server.driver.start()
        await talk(server, Client(server, 1))
        await asyncio.sleep(0)

    asyncio.run(run())
    return made[0]


def outside(server: Server) -> list[object]:
    kinds = (Held, Dropped, Killed)
    return [type(new) for _, _, new, _, _ in server.driver.recorder.steps if isinstance(new, kinds)]


def test_an_open_door_holds_nothing() -> None:
    async def talk(server: Server, client: Client) -> None:
        client.ask(FEED)
        await asyncio.sleep(0)
        assert client.heard == [{"id": 1, "is": "fed"}] and not server.gate.waiting

    serving(talk)


def test_a_closed_door_holds_what_sends_such_a_message_and_nothing_else() -> None:
    async def talk(server: Server, client: Client) -> None:
        server.gate.close()
        client.ask(FEED)
        client.ask(ECHO)
        await asyncio.sleep(0)
        assert client.heard == [{"id": 2, "is": "b"}]
        (held,) = server.gate.describe({})["waiting"]
        assert (held["id"], held["kind"], held["to"], held["fact"]) == (1, "tuple", "feed", 0)
        server.gate.act(Verb.LET_GO, 1)
        await asyncio.sleep(0)
        assert client.heard[1:] == [{"id": 1, "is": "fed"}]

    assert outside(serving(talk)) == [Held]


def test_what_is_dropped_takes_its_connection_with_it_and_is_never_done() -> None:
    async def talk(server: Server, client: Client) -> None:
        server.gate.close()
        Client(server, 2).ask({"id": 9, "do": "follow"})
        client.ask(FEED)
        server.gate.act(Verb.DROP, 2)
        await asyncio.sleep(0)
        assert client.wire.cut and not client.heard
        assert list(server.gate.waiting) == [1], "the other one still waits"

    assert outside(serving(talk)) == [Held, Held, Dropped]


@pytest.mark.parametrize("verb", [Verb.KILL_BEFORE, Verb.KILL_AFTER])
def test_a_killed_node_forgets_all_but_its_disk_and_answers_nobody(verb: Verb) -> None:
    async def talk(server: Server, client: Client) -> None:
        client.ask({"do": "note", "text": "kept"})
        client.ask({"id": 5, "do": "wait", "text": "x"})
        other = Client(server, 2)
        other.ask({"id": 9, "do": "follow"})
        await asyncio.sleep(0)
        server.gate.close()
        client.ask(FEED)
        server.gate.act(verb, 1)
        await asyncio.sleep(0)
        assert client.wire.cut and other.wire.cut and not client.heard
        assert not server.driver.roles["front"].waiting, "who waited is forgotten"
        assert not server.driver.roles["feed"].followers
        again = Client(server, 3)
        again.ask({"id": 7, "do": "notes"})
        await asyncio.sleep(0)
        assert again.heard == [{"id": 7, "is": ["kept"]}]

    assert outside(serving(talk)) == [Held, Killed]


def test_a_client_that_goes_away_takes_its_requests_with_it() -> None:
    async def talk(server: Server, client: Client) -> None:
        server.gate.close()
        client.ask(FEED)
        assert server.gate.waiting
        client.connection.connection_lost(None)
        assert not server.gate.waiting
        with pytest.raises(ValueError, match="no request number 1 waits"):
            server.gate.act(Verb.LET_GO, 1)

    serving(talk)


def test_a_door_that_nobody_asks_about_opens_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "LEASE_S", 0.0)

    async def talk(server: Server, client: Client) -> None:
        server.gate.close()
        client.ask(FEED)
        while not client.heard:
            await asyncio.sleep(0)
        assert not server.gate.kinds and not server.gate.waiting

    serving(talk)


def test_a_home_that_names_nothing_cannot_hold_anything() -> None:
    async def talk(server: Server, client: Client) -> None:
        with pytest.raises(ValueError, match="no request to toy can be held"):
            server.gate.close()

    serving(talk, TOY)


async def post(port: int, target: str, said: object, method: str = "POST", origin: str = "") -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(said).encode()
    head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    head += f"Origin: {origin}\r\n" if origin else ""
    writer.write(head.encode() + b"\r\n" + body)
    status = int((await reader.readline()).split()[1])
    writer.close()
    return status


def test_only_who_knows_the_key_and_is_here_acts_at_the_door() -> None:
    seen: list[int] = []

    async def talk(server: Server, client: Client) -> None:
        trace = TraceServer(server.driver.live, gate=KeyedGate(server.gate, "secret"))
        port, hold = await trace.start(0), {"do": "hold", "kinds": []}
        seen.append(await post(port, "/gate", hold))
        seen.append(await post(port, "/gate?key=guess", hold))
        seen.append(await post(port, "/gate?key=secret", hold, origin="http://elsewhere.example"))
        assert not server.gate.kinds
        for said in (["hold"], {"do": "fly", "id": 1}, {"do": "drop", "id": 1}):
            seen.append(await post(port, "/gate?key=secret", said))
        seen.append(await post(port, "/gate?key=secret", hold))
        assert server.gate.kinds == {"tuple"}
        seen.append(await post(port, "/gate?key=secret", {"do": "open"}))
        assert not server.gate.kinds
        seen.append(await post(port, "/trace?after=0&key=guess", "", "GET"))
        trace.close()

    serving(talk)
    assert seen == [403, 403, 403, 409, 409, 409, 204, 204, 403]


def test_a_server_without_a_door_has_none() -> None:
    async def talk(server: Server, client: Client) -> None:
        trace = TraceServer(server.driver.live)
        port = await trace.start(0)
        assert await post(port, "/gate?key=", {"do": "open"}) == 403
        trace.close()

    serving(talk)
