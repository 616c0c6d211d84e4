"""A page of another site, in the browser of somebody who runs a server: nothing that it tries
reaches a coordinator, and it reads nothing.

The site's name leads to this machine, as after DNS rebinding, so the page is as near as it can be:
the browser lets it ask, and the servers have to say no.
"""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mqlab.serve.pulsar import serve
from tests.conftest import NO_NETWORK
from tests.serve.pulsar.raw import Raw, ask_admin

pytestmark = pytest.mark.needs("chromium")
SITE = "shop.example"
ASK = """async ([url, options]) => {
    try { const answer = await fetch(url, options); return [answer.status, await answer.text()] }
    catch (error) { return [-1, ""] }
}"""
FORM = """url => {
    const form = document.body.appendChild(document.createElement("form"))
    form.method = "post"; form.action = url; form.submit()
}"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[int]:
    """The port of a page that belongs to nobody here."""
    (tmp_path / "index.html").write_text("<!doctype html><title>a shop</title>", "utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_foreign_page_ends_no_transaction_and_reads_nothing(
    launch: Callable[..., Any], site: int
) -> None:
    rules, *others = NO_NETWORK
    browser = launch(args=[rules.replace("MAP", f"MAP {SITE} 127.0.0.1, MAP", 1), *others])
    with serve() as broker, Raw(broker.address) as client:
        txn = client.begin(600_000)
        end = f"/admin/v3/transactions/abortTransaction/{txn.most}/{txn.least}"
        about = f"/admin/v3/transactions/transactionMetadata/{txn.most}/{txn.least}"
        port, trace = broker.address.rpartition(":")[2], broker.trace_url.rpartition(":")[2]
        page = browser.new_page()
        page.goto(f"http://{SITE}:{site}/")
        for host in ("127.0.0.1", "localhost", SITE):
            for mode in ("cors", "no-cors"):
                told = page.evaluate(
                    ASK, [f"http://{host}:{port}{end}", {"method": "POST", "mode": mode}]
                )
                assert told[0] in (-1, 0) and not told[1], (host, mode)
            for place in (f"{port}{about}", f"{trace}/trace"):
                assert page.evaluate(ASK, [f"http://{host}:{place}", {}]) == [-1, ""]
        with page.expect_navigation():
            page.evaluate(FORM, f"http://127.0.0.1:{port}{end}")
        # The name leads to the server now, so the page is of one origin with it.
        page.goto(f"http://{SITE}:{port}{about}")
        rebound = page.evaluate(ASK, [end, {"method": "POST"}])
        assert rebound[0] == 403 and "127.0.0.1" in rebound[1]
        assert page.evaluate(ASK, [about, {}])[0] == 403
        assert ask_admin(broker.address, "GET", about)[1]["status"] == "OPEN"
        browser.close()
