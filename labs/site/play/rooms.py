"""What the page asks of the browser's Python: to tell a story, to play on from it, to search."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import bridge  # first: it stands for the packages on which the widgets are built
from mqlab_widgets import Player
from mqlab_widgets.encoding import pack
from mqlab_widgets.explorer import Explorer
from mqlab_widgets.playground import Playground
from pyodide.ffi import to_js

from mqlab.explore import Budget
from mqlab.kernel import System, speak
from mqlab.kernel.choice import parse
from mqlab.kernel.play import decode, encode
from mqlab.registry import continue_scenario, reopen_run, run_scenario, system
from mqlab.scenario import parse_script

#: the widget on the page
shown: list[Any] = []


def answer(message: str, post: Callable[[str, Any], None]) -> None:
    """Do what a JSON message says: {"do": "tell" | "play" | "search" | "open", "text": …, "lang": …}, or hand
    {"do": "hear", "message": …} to the widget on the page. `post` is the page's: it gets the name
    of a value and the value, bytes as they are and all else as JSON; "failed" with a sentence."""
    asked = json.loads(message)

    def send(name: str, value: Any) -> None:
        post(name, to_js(value) if isinstance(value, bytes) else json.dumps(value))

    try:
        if asked["do"] == "hear":
            for widget in shown:
                widget.hear(asked["message"])
        else:
            leave()
            speak(asked["lang"])
            show(asked, send)
    except (ValueError, RecursionError) as error:
        post("failed", str(error))


def leave() -> None:
    """The widget on the page says nothing more, and its search ends."""
    bridge.out.clear()
    while shown:
        widget = shown.pop()
        if isinstance(widget, Explorer):
            widget.stop()


def show(asked: dict[str, Any], send: bridge.Send) -> None:
    """Send the page what it asks for. Raises ValueError, with a sentence for the reader, for a
    story or a token that cannot be read."""
    text, widget = asked["text"], None
    match asked["do"]:
        case "tell":
            run = run_scenario(text)
            player = Player(run.trace, step=0, level="story")
            send("words", player.narration())
            send("told", pack(player.payload))
            send("token", encode(run.system, run.trace))
        case "play":
            widget = Playground(continue_scenario(text))
        case "open":
            play, note = reopen_run(text)
            send("story", write_story(text))
            send("note", note.of())
            widget = Playground(play)
        case "search":
            faults = Budget(kills=asked["kills"], breaks=asked["breaks"], timers=asked["timers"])
            widget = Explorer(find_searched(text), faults)
        case other:
            raise ValueError(f"the page asks for {other!r}")
    if widget is None:
        return
    shown.append(widget)
    for name in ("payload", "other", "ui"):
        send(name, getattr(widget, name, b""))
    bridge.out.append(send)
    if isinstance(widget, Explorer):
        widget.start()


def write_story(token: str) -> str:
    """A token's run as a story: its system, and its choices one by one."""
    found = decode(token)
    return "\n".join(
        ["# A run.", f"system {found.line}", *(f"do {choice}" for choice in found.choices)]
    )


def find_searched(text: str) -> System:
    """The story's system, in which each client may do at any time the next of the calls that the
    story lets it make: what the search puts in every order."""
    script = parse_script(text)
    programs: dict[str, list[str]] = {}
    for line in script.lines:
        words = line.words
        if line.command == "do" and words[0].startswith("run "):
            choice = parse(words[0])
            words = (choice.a, choice.b)
        elif line.command != "run":
            continue
        programs.setdefault(words[0], []).append(words[1])
    options = [f"{node}={'; '.join(calls)}" for node, calls in programs.items()]
    return system(f"{script.system} {shlex.join(options)}".strip())
