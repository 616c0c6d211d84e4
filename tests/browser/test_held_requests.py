"""A real client before a closed gate, in a pane of JupyterLab's size: what waits is a message in
the picture and a row of buttons, and a click does it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from mqlab_widgets import Follow

from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import PATIENCE_S, create, producer, read, transaction
from tests.widgets.harness import put, state

pytestmark = pytest.mark.needs("chromium")

PANE = {"width": 950, "height": 679}


@dataclass
class Held:
    """A followed broker that holds the requests of a client."""

    page: Any
    follow: Follow
    client: threading.Thread

    def wait_for(self, kind: str) -> None:
        """Until a request of this kind waits at the gate, and the page shows it."""
        held = self.follow.gate.wait(kind)
        self.follow.poll()
        self.page.evaluate("(now) => take(now)", state(self.follow))
        self.page.wait_for_selector(f".gate legend:has-text('{held.text.en}')")

    def press(self, name: str) -> None:
        self.click(self.page.locator(".gate button", has_text=name).first)

    def click(self, button: Any) -> None:
        """Until it is answered: what the page asks next is answered after it."""
        button.click()
        self.page.evaluate("() => window.python({ type: 'state' })")


@pytest.fixture(params=["light", "dark"])
def held(browser: Any, request: Any) -> Iterator[Held]:
    with serve() as broker:
        create(broker.address, "orders")

        def commit_one() -> None:
            transaction(producer(broker.address, "order-service"), "orders", "order-1")

        client = threading.Thread(target=commit_one, daemon=True)
        follow = Follow(broker, hold=True, every_s=600)
        client.start()
        page = browser.new_page(viewport=PANE, reduced_motion="reduce")
        page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
        follow.gate.wait("InitProducerId")
        follow.poll()
        put(page, follow, request.param)
        yield Held(page, follow, client)
        page.close()
        follow.close()
        client.join(PATIENCE_S)
        assert not client.is_alive()
        assert read(broker.address, "orders") == ["order-1"]


def test_a_learner_lets_go_drops_and_kills_what_a_real_client_asks(held: Held) -> None:
    page = held.page
    held.wait_for("InitProducerId")
    area = page.locator(".area.message")
    assert area.count() == 1
    over, row = area.bounding_box(), page.locator(".row.now").bounding_box()
    assert row["y"] - 2 <= over["y"] <= row["y"] + row["height"], "on the row of the message"
    area.click()
    assert page.locator(".menu button").count() == 4
    held.click(page.locator(".menu button").first)
    if "AddPartitionsToTxn" in (one := held.follow.gate.wait()).kind:
        held.wait_for(one.kind)
        held.press("let go")
    held.wait_for("Produce")
    held.press("drop")
    held.wait_for("Produce")
    held.press("let go")
    held.wait_for("EndTxn")
    held.press("kill after")
    held.wait_for("EndTxn")
    assert page.locator("[data-panel=space-time] .crash").count() >= 1
    buttons = page.locator(".gate button").all()
    assert [el.text_content() for el in buttons] == ["let go", "drop", "kill before", "kill after"]
    held.press("let go")
    held.client.join(PATIENCE_S)


def test_a_request_that_is_gone_is_said_beside_the_buttons(held: Held) -> None:
    held.wait_for("InitProducerId")
    held.follow.gate.let_go(held.follow.waiting[0])
    held.press("drop")
    held.page.wait_for_selector(".status.failed:has-text('no request number 1')")


def test_closing_the_widget_lets_everything_go(held: Held) -> None:
    held.wait_for("InitProducerId")
    held.follow.stop()
    held.client.join(PATIENCE_S)
    assert not held.client.is_alive()
