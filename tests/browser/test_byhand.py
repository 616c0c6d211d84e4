"""`mqlab build play` in a real browser: a learner's file by hand, without a notebook."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("anywidget", reason="anywidget is missing: make setup")

from mqlab.cli.alone import PageServer
from mqlab.lessons.builder.byhand import ByHand
from mqlab.lessons.builder.right import read_right
from tests.lessons.builder.wrong import FILES

pytestmark = pytest.mark.needs("chromium")

ONE = "partitions=1 off=epoch_bump 'app=init; begin; send orders-0 a; commit'"
RIGHT = read_right(FILES, 1)
STEP = "    def step(self, event, disk: Disk):\n"


def test_an_exception_is_undone_and_corrected_while_the_page_stays(browser: Any, tmp_path: Path):
    mine = tmp_path / "coordinator.py"
    mine.write_text(RIGHT.replace(STEP, f"{STEP}        {{}}['mine']\n"), "utf-8")
    hand = ByHand(mine, ONE, 1)
    with PageServer(hand.begin, "en") as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(server.address)
        run, undo = (page.get_by_role("button", name=name) for name in ("let it run", "undo"))
        run.click()
        said = page.get_by_text("your code breaks: it raised KeyError (line ").first
        said.wait_for()
        undo.click()
        said.wait_for(state="detached")
        mine.write_text(RIGHT, "utf-8")
        page.reload()
        run.click()
        page.get_by_text("CompleteCommit").first.wait_for()
        assert page.get_by_text("your code breaks").count() == 0 and not errors
        server.shutdown()
        thread.join()
        server.server_close()
        undo.click()
        page.get_by_text("has ended. Start it again").wait_for()
        page.close()
    hand.close()
