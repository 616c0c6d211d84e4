"""A notebook with one display of each kind, each in a cell of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

NAME = "displays.ipynb"
BEGIN = """import json, threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from mqlab.lab import (
    Explorer, Follow, Play, Player, Playground, Trials, put_beside, scenario, system, vary)
from mqlab.lessons.kafka.lab05 import PRODUCE
from mqlab_widgets import Predict

ORDERS = "orders 'app=init; begin; send orders-0 580538; send payments-0 paid-580538; commit'"
TORN = '''
# An order and its payment are committed
system orders
run app: init, begin, send orders-0 580538, send payments-0 paid-580538
run app: commit
'''
torn = scenario(TORN)
question = ("What does a reader get?", ["both", "half", "nothing"], 1, ["a", "b", "c"])

class Trace(BaseHTTPRequestHandler):
    def do_GET(self):
        data = torn.to_json()
        after = int(self.path.rpartition("=")[2])
        head = {"snapshot": data["start"], "system": torn.system, "title": data["title"]}
        head["after"] = 0
        lines = zip(data["facts"], data["changes"]) if not after else ()
        rows = [head, *({"fact": f, "change": c} for f, c in lines)]
        if after:
            rows = [{**head, "after": after}]
        self.send_response(200)
        self.end_headers()
        self.wfile.write("".join(json.dumps(row) + "\\n" for row in rows).encode())

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Trace)
threading.Thread(target=server.serve_forever, daemon=True).start()"""

DISPLAYS = {
    "player": "Player(torn)",
    "question": "Predict(*question, trace=torn, step=12)",
    "answered": "Predict(*question, trace=torn, step=12, until=24, chosen=1, revealed=True)",
    "playground": "play = Play(system(ORDERS))\nplay.go_on()\nPlayground(play)",
    "pair": "put_beside(TORN, TORN)",
    "futures": "play = Play(system(ORDERS))\nplay.go_on()\nground = Playground(play)\n"
    "ground.branch(len(play.choices) - 4, 'kill coordinator')\nground.compare()\nground",
    "explorer": "Explorer(system('two_phase'))",
    "ordering": "order = PRODUCE.arrange([])",
    "judged": "from mqlab_widgets import Ordering\n"
    "judged = Ordering(PRODUCE, ['answer', 'duplicate', 'fence', 'sequence', 'append'])\n"
    "judged.judge()\njudged",
    "follow": "Follow(f'http://127.0.0.1:{server.server_port}')",
    "trials": "Trials({'what': ['one', 'two']}, lambda what, say: [what], ['came of it'])",
    "vary": "vary(lambda what: Player(torn, title=what), what=['one', 'two'])",
}
SHOWN = {
    "trials": ".widget-vbox",
    "explorer": ".mqlab.explorer",
    "ordering": ".mqlab.ordering",
    "judged": ".mqlab.ordering:has([data-step])",
}


def write(folder: Path) -> Path:
    """The notebook; before and after each display stands some text, as in a lab."""
    cells: list[Any] = [nbformat.v4.new_code_cell(BEGIN, id="begin")]
    for name, source in DISPLAYS.items():
        cells.append(nbformat.v4.new_markdown_cell(f"### {name}\n\nSome words before it."))
        cells.append(nbformat.v4.new_code_cell(source, id=name))
        cells.append(nbformat.v4.new_markdown_cell("Some words after it. " * 40))
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    path = folder / NAME
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    return path


def wait_for(page: Any, name: str) -> Any:
    """The display of a cell, as soon as it is drawn."""
    where = (
        f"() => jupyterapp.shell.currentWidget.content.widgets.find((c) => c.model.id === '{name}')"
    )
    shown = SHOWN.get(name, ".mqlab[data-step]")
    found = page.wait_for_function(f"() => ({where})().outputArea.node.querySelector('{shown}')")
    return found.as_element()
