"""A page that holds a widget as JupyterLab would, with Python on the other side of it."""

from __future__ import annotations

import base64
from typing import Any

TRAITS = ("chosen", "locked", "revealed", "kept", "order")

# The model is anywidget's, as far as the module uses it.
MODEL = """
const state = await window.python({ type: "state" });
const listeners = {};
const decode = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const BYTES = ["payload", "other"];
for (const name of BYTES) if (name in state) state[name] = decode(state[name]);
const take = (now) => {
  for (const [name, value] of Object.entries(now)) {
    state[name] = BYTES.includes(name) ? decode(value) : value;
  }
  for (const name of Object.keys(now)) {
    for (const tell of listeners[`change:${name}`] ?? []) tell();
  }
};
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  on: (event, tell) => (listeners[event] ??= []).push(tell),
  off: (event, tell) => { listeners[event] = listeners[event].filter((t) => t !== tell); },
  send: (message, callbacks) => {
    (window.types ??= []).push(message.type);
    callbacks?.iopub.status({ content: { execution_state: "busy" } });
    const before = window.sent;
    window.sent = window.python(message).then(async (now) => { await before; take(now); });
  },
};
window.take = take;
if (window.late) {  // the widget is asked for before it is filled
  const full = { ...state };
  Object.assign(state, { ui: {}, payload: new DataView(new ArrayBuffer(0)) });
  setTimeout(() => {
    Object.assign(state, full);
    for (const tell of [...listeners["change:ui"]]) tell();
  }, 50);
}
await front.render({ model, el: document.getElementById("widget") });
document.body.dataset.ready = "yes";
"""


def script_of(widget: Any) -> str:
    """A script element: the widget's module, as anywidget would load it, around `MODEL`."""
    source = str(widget._esm).replace("export default", "const front =") + MODEL
    return f'<script type="module">{source.replace("</", "<" + chr(92) + "/")}</script>'


def state(widget: Any) -> dict[str, Any]:
    traits = {name: getattr(widget, name) for name in TRAITS if widget.has_trait(name)}
    payload = base64.b64encode(widget.payload).decode()
    if widget.has_trait("other"):
        traits["other"] = base64.b64encode(widget.other).decode()
    return {"payload": payload, "ui": dict(widget.ui), **traits}


def put(page: Any, widget: Any, theme: str = "light", late: bool = False) -> None:
    """Show a widget on a page, its still before it, its clicks answered by Python. `late`: it is
    asked for before Python has filled it."""

    known: dict[str, Any] = {}

    def python(message: dict[str, Any]) -> Any:
        """What has changed, but for what the page has set itself."""
        if message["type"] != "state":
            widget._asked(widget, message, None)
        known.update(message.get("traits", {}))
        news = {name: value for name, value in state(widget).items() if known.get(name) != value}
        known.update(news)
        return news

    page.expose_function("python", python)
    css = widget._css
    page.set_content(
        f'<!doctype html><html lang="en"><title>notebook</title><style>{css}</style>'
        f'<body data-jp-theme-light="{str(theme == "light").lower()}"><main><h1>Notebook</h1>'
        f'<div data-still="{widget.ui["still"]}">{widget.still_html()}</div>'
        f'<div id="widget"></div></main><script>window.late = {str(late).lower()};</script>'
        f"{script_of(widget)}"
    )
    page.wait_for_selector("body[data-ready=yes]")


def answered(page: Any) -> None:
    """Python has heard all that the reader did, and the page has its answers."""
    page.evaluate("() => window.sent")
