"""HTTP at every address of the project: what is a request, and who may ask."""

from __future__ import annotations

import ast
import http.client
import json
import re
import socket
from collections.abc import Iterator

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve import http as parser
from mqlab.serve.http import Exchange, HttpError, HttpRequest
from mqlab.serve.process import start_broker
from mqlab.serve.pulsar.front.admin import ROUTES
from tests.project.sources import imports, modules, relative

HERE = ("127.0.0.1", 6650)
HEAD = b"POST /x HTTP/1.1\r\nHost: localhost\r\n"
FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example:80"},
    {"Host": "evil.example@127.0.0.1"},
    {"Host": "192.0.2.7"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1.evil.example"},
    {"Origin": "null"},
]
OURS = [
    {},
    {"Host": "127.0.0.1"},
    {"Host": "localhost:8080"},
    {"Host": "[::1]:8080"},
    {"Origin": "http://localhost:8888"},
]


# ---- requests out of bytes -----------------------------------------------------------------


def take(data: bytes, step: int = 0) -> tuple[HttpRequest, bytes]:
    """The first request, and what is left; the bytes come `step` at a time."""
    exchange, buffer, asked = Exchange(HERE), bytearray(), None
    pieces = [data[i : i + step] for i in range(0, len(data), step)] if step else [data]
    while asked is None:
        buffer += pieces.pop(0)
        asked = exchange.take(buffer)
    return asked, bytes(buffer) + b"".join(pieces)


@pytest.mark.parametrize("step", [0, 1, 7])
def test_a_body_comes_by_length_or_in_chunks(step: int) -> None:
    sized = HEAD + b"Content-Length: 4\r\n\r\nbody"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x=y\r\ndy\r\n0\r\n\r\n"
    for data in (sized, chunked):
        asked, left = take(data + b"GET /next", step)
        assert (asked.method, asked.target, asked.body, asked.last) == (
            "POST",
            "/x",
            b"body",
            False,
        )
        assert left == b"GET /next", "the next request stays whole"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody!", 400),
        (HEAD + b"Content-Length: 4, 5\r\n\r\nbody!", 400),
        (HEAD + b"Content-Length: -4\r\n\r\n", 400),
        (HEAD + b"Content-Length: \xb2\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 501),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        (HEAD + b"Host: localhost\r\n\r\n", 400),
        (b"GET /x HTTP/1.1\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (HEAD + b"X: " + b"x" * parser.MOST_HEAD + b"\r\n\r\n", 431),
        (HEAD + b"X: " + b"x" * 3 * parser.MOST_HEAD, 431),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (parser.MOST_BODY + 1), 413),
        (HEAD + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", 417),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1000\r\n%b\r\n" % (b"x" * 4096) * 300,
            413,
        ),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1;%b\r\nx\r\n" % (b"y" * 4096) * 600,
            413,
        ),
    ],
)
def test_what_is_no_request_is_refused_with_its_status(data: bytes, status: int) -> None:
    exchange = Exchange(HERE)
    with pytest.raises(HttpError) as refused:
        exchange.take(bytearray(data))
    assert refused.value.status == status
    said = exchange.respond(status, (), b"why")
    assert said.startswith(b"HTTP/1.1 %d " % status) and b"Connection: close" in said


def test_an_answer_to_head_has_no_body_and_http_1_0_closes() -> None:
    exchange = Exchange(HERE)
    asked = exchange.take(bytearray(b"HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    assert asked is not None and not asked.last
    assert exchange.respond(200, (), b"body").endswith(b"Content-Length: 4\r\n\r\n")
    old, _ = take(b"GET /x HTTP/1.0\r\nHost: localhost\r\n\r\n")
    closing, _ = take(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert old.last and closing.last


@pytest.mark.parametrize(
    ("host", "here", "ours"),
    [
        ("10.0.0.5:8080", "10.0.0.5", True),
        ("10.0.0.6:8080", "10.0.0.5", False),
        ("127.0.0.1", "10.0.0.5", True),
        ("[::1]", "::1", True),
        ("[fe80::1]", "::1", False),
        ("LOCALHOST", "127.0.0.1", True),
        ("999.1.1.1", "127.0.0.1", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("", "127.0.0.1", False),
    ],
)
def test_a_host_is_this_machine_or_foreign(host: str, here: str, ours: bool) -> None:
    assert parser.is_here(host, here) is ours


# ---- every address ----------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["kafka", "rocketmq", "pulsar"])
def server(request: pytest.FixtureRequest) -> Iterator[RunningBroker]:
    with start_broker(request.param, []) as running:
        yield running


def list_addresses(server: RunningBroker) -> list[tuple[str, str, str]]:
    """(address, method, path) of all that is answered by HTTP."""
    places = [(server.trace_url.removeprefix("http://"), "GET", "/trace")]
    if server.name == "pulsar":
        places += [(server.address, method, fill(pattern.pattern)) for method, pattern, _ in ROUTES]
    return places


def fill(pattern: str) -> str:
    """A path that matches a route."""
    pattern = pattern.replace(r"(\d{1,18})", "0").replace("(?P<topic>", "(")
    return pattern.replace("([^/]+/[^/]+/[^/]+)", "x/x/x").replace("([^/]+)", "x")


def ask(address: str, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    connection = http.client.HTTPConnection(address, timeout=600)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_no_door_opens_to_a_foreign_host_or_origin(server: RunningBroker) -> None:
    for address, method, path in list_addresses(server):
        for headers in FOREIGN:
            status, said = ask(address, method, path, headers)
            assert status == 403 and len(said.split()) > 5, (method, path, headers)
        for headers in OURS:
            assert ask(address, method, path, headers)[0] != 403, (method, path, headers)


def test_each_route_of_the_admin_interface_is_tried() -> None:
    for method, pattern, _ in ROUTES:
        assert pattern.fullmatch(fill(pattern.pattern)), (method, pattern.pattern)


def test_there_is_one_parser_and_no_other_one() -> None:
    """A new server speaks HTTP by `serve/http.py`, or stands here with its reason."""
    users = {
        name
        for name, path in modules().items()
        if "h11" in path.read_text("utf-8")
        for _, imported in imports(name, path)
        if imported.partition(".")[0] in ("h11", "http.server")
    }
    assert users == {"mqlab.serve.http"}
    calls = {"start_server", "create_server", "HTTPServer", "ThreadingHTTPServer"}
    listening = {
        relative(path)
        for path in modules().values()
        if any(call in path.read_text("utf-8") for call in calls)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in calls
    }
    assert listening == {
        "mqlab/serve/server.py",  # the brokers' own protocols, and Pulsar's admin interface
        "mqlab/serve/trace/http.py",  # the live trace
        "mqlab/spark/flink/relay.py",  # no HTTP: bytes between a job and its source
        "mqlab/cli/site.py",  # static pages, which anybody may read
        "mqlab/real/processes.py",  # finds free ports
        "mqlab/real/rocketmq/broker.py",  # finds free ports
    }


# ---- connections ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pulsar() -> Iterator[RunningBroker]:
    with start_broker("pulsar", []) as running:
        yield running


def exchange_bytes(address: str, data: bytes) -> bytes:
    """All that comes until the server closes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=600) as line:
        line.sendall(data)
        told = b""
        while part := line.recv(65_536):
            told += part
    return told


def test_requests_on_one_connection_are_answered_in_their_order(pulsar: RunningBroker) -> None:
    create = (
        b"PUT /admin/v2/persistent/public/default/%b/partitions HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n2\r\n0\r\n\r\n"
    )
    told = exchange_bytes(
        pulsar.address,
        create % b"piped"
        + create % b"piped"
        + b"GET /admin/v3/transactions/coordinators HTTP/1.1\r\nHost: localhost\r\n"
        b"Connection: close\r\n\r\n",
    )
    assert re.findall(rb"HTTP/1\.1 (\d+) ", told) == [b"204", b"409", b"200"]
    assert told.endswith(b"]"), "and the connection closes when the client said so"


def test_a_request_that_is_none_is_answered_and_closes(pulsar: RunningBroker) -> None:
    head = b"PUT /admin/v2/persistent/public/default/p HTTP/1.1\r\nHost: localhost\r\n"
    told = exchange_bytes(
        pulsar.address, head + b"Content-Length: 0\r\nContent-Length: 1\r\n\r\n" + head + b"\r\n"
    )
    start, _, body = told.partition(b"\r\n\r\n")
    assert start.startswith(b"HTTP/1.1 400 ") and "Content-Length" in json.loads(body)["reason"]


@pytest.mark.parametrize("target", [b"//[/x", b"/admin/v2/persistent/a/b/%C2%B2/partitions", b"*"])
def test_no_target_ends_in_a_traceback(pulsar: RunningBroker, target: bytes) -> None:
    asked = b"PUT " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    told = exchange_bytes(pulsar.address, asked + b"Content-Length: 2\r\n\r\n\xc2\xb2")
    assert told.split()[1] in (b"400", b"404"), told
