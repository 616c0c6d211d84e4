"""Playground, Predict and Follow without a browser: what Python sends and understands."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from mqlab_widgets import Follow, Playground, Predict
from mqlab_widgets.follow import Tail
from traitlets import TraitError

from mqlab.kernel.text import Text
from mqlab.kernel.trace import Trace
from mqlab.lab import scenario

from .decode import unpack
from .fake import FakePlay
from .sample import long_trace, sample


def shown(widget: Any) -> dict[str, Any]:
    return unpack(widget.payload)


def outputs(widget: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The outputs a cell would get."""
    got: list[dict[str, str]] = []
    monkeypatch.setattr("mqlab_widgets.widget.display", lambda data, **_: got.append(data))
    widget._ipython_display_()
    return got


def test_a_playground_moves_undoes_and_starts_again() -> None:
    ground = Playground(FakePlay())
    assert len(shown(ground)["meta"]["facts"]) == 0
    ground.do("next")
    ground.do("next")
    assert shown(ground)["meta"]["step"] == 2
    assert ground.token == ground.ui["token"] == "token-next-next"
    ground.undo()
    assert len(shown(ground)["meta"]["facts"]) == 1
    ground.reset()
    assert shown(ground)["steps"] == 1


def test_options_come_by_node_with_a_kill_after_each_effect() -> None:
    ground = Playground(FakePlay())
    app, tc = ground.ui["nodes"]
    assert (app["title"], tc["title"]) == ("order service", "coordinator")
    assert [stop["choice"] for stop in app["steps"][0]["stops"]] == [
        "next kill=0", "next kill=1", "next kill=2",
    ]  # fmt: skip
    assert [fault["kind"] for fault in app["faults"] + tc["faults"]] == ["break", "kill"]


def test_a_click_that_is_not_possible_is_said_and_changes_nothing() -> None:
    ground = Playground(FakePlay())
    before = ground.payload
    ground._asked(None, {"type": "do", "choice": "kill tc"}, None)
    assert "choose 'next'" in ground.ui["error"]
    assert ground.payload == before
    ground._asked(None, {"type": "do", "choice": "next"}, None)
    assert ground.ui["error"] == ""
    with pytest.raises(ValueError, match="choose 'next'"):
        ground.do("kill tc")


def test_a_token_opens_in_a_playground_and_what_changed_is_said() -> None:
    ground = Playground(FakePlay(), lang="zh")
    ground._asked(None, {"type": "open", "token": "token-next-next"}, None)
    assert ground.token == "token-next-next" and shown(ground)["meta"]["step"] == 2
    assert (ground.ui["said"], ground.ui["error"]) == ("", "")
    ground._asked(None, {"type": "open", "token": "token-next-old"}, None)
    assert (ground.token, ground.ui["said"]) == ("token-next", "与当时相同")
    ground._asked(None, {"type": "open", "token": "nonsense"}, None)
    assert "paste the whole text" in ground.ui["error"] and ground.token == "token-next"
    with pytest.raises(ValueError, match="not a token"):
        ground.open_token("nonsense")


def test_a_widget_is_preceded_by_a_still(monkeypatch: pytest.MonkeyPatch) -> None:
    for widget in (Playground(FakePlay()), Predict("Why?", ["a", "b"], 0)):
        still, live = outputs(widget, monkeypatch)
        assert f'data-still="{widget.ui["still"]}"' in still["text/html"]
        assert still["text/plain"] == widget.narration()
        assert live["text/plain"] == f"{type(widget).__name__}()", "told once, not twice"
        assert "application/vnd.jupyter.widget-view+json" in live
        assert "<script" not in still["text/html"]


def asked(**more: Any) -> Predict:
    return Predict(
        "Is the reader given half of T1?", ["no", Text("yes", "是")], "yes",
        ["It waits.", "Torn."], trace=sample(), **{"step": 14, **more},
    )  # fmt: skip


def sent(widget: Any) -> str:
    """Everything that the browser has of a widget."""
    return json.dumps([widget.ui, shown(widget) if widget.payload else ""])


def test_a_question_keeps_what_comes_and_the_answer_to_itself() -> None:
    ask = asked(panels=["space-time"])
    assert ask.right is None and ask.answer == 1
    assert "process killed" not in ask.narration()
    assert "EndTxn commit" in ask.narration() and "2. yes" in ask.narration()
    ask.chosen, ask.locked = 1, True
    assert ask.right is True
    for held in (sent(ask), ask.still_html(), ask.summary()):
        assert "Torn." not in held and "process killed" not in held
    assert sample().title.en not in sent(ask), "a story's title may say how it ends"
    ask._asked(ask, {"type": "run"}, None)
    assert ask.revealed and "Torn." in sent(ask) and "process killed" in sent(ask)
    assert "readers" in shown(ask)["meta"]["panels"], "afterwards every panel is there"


def test_an_open_question_quotes_no_article_and_its_answer_does() -> None:
    """Lab 07's hook asks what a reader gets; an article's sentence about epochs stood below it."""
    calls = "run app: init, begin, send orders-0 a, commit"
    trace = scenario(f"system kafka partitions=1\n{calls}", recorded="basic-commit")
    step = next(fact.index for fact in trace if fact.text.en == "ok epoch=1")
    ask = Predict("Read?", ["no", "yes"], 0, ["a", "b"], trace=trace, step=step, chosen=0)
    open_ = sent(ask)
    assert "Many articles" not in open_ and "contradicts many articles" not in open_
    assert "recorded on Kafka" in open_
    plain = trace.facts[step - 1].plain
    why = plain.why.en if plain else ""
    assert why and why not in open_, "the reason of the step that is asked about tells the answer"
    ask.locked = True
    ask._asked(ask, {"type": "run"}, None)
    assert "Many articles say" in sent(ask) and "contradicts many articles" in sent(ask)
    assert why in sent(ask)


def test_what_the_reader_sets_counts_at_once_and_does_not_come_back() -> None:
    """ipywidgets holds a change back while an earlier one is under way, but no message: the lab
    stood still for a reader who clicked faster than the kernel answered. And an echo of an
    earlier change would undo a later one."""
    ask = asked()
    back: list[dict[str, Any]] = []
    ask.comm.send = lambda data, **_: back.append(data.get("state", {}))
    for traits in ({"chosen": 0}, {"chosen": 1}, {"locked": True, "kept": False}):
        ask._asked(ask, {"type": "set", "traits": traits}, None)
    ask._asked(ask, {"type": "run"}, None)
    assert (ask.chosen, ask.locked, ask.kept, ask.right) == (1, True, False, True)
    assert ask.revealed and any("ui" in state for state in back), "what Python changed is sent"
    assert not {"chosen", "locked", "kept"} & {name for state in back for name in state}


def test_no_more_than_an_answer_can_be_set_from_the_browser() -> None:
    ask = asked()
    told = dict(ask.ui)
    ask._asked(ask, {"type": "set", "traits": {"revealed": True, "ui": {}, "question": ""}}, None)
    assert ask.ui == told and not ask.revealed and ask.question
    for nonsense in (-2, 2, "1", None, [1]):
        with pytest.raises(TraitError):
            ask._asked(ask, {"type": "set", "traits": {"chosen": nonsense}}, None)
        assert ask.chosen == -1


def test_a_question_is_told_only_when_an_answer_is_locked() -> None:
    ask = asked()
    ask._asked(ask, {"type": "run"}, None)
    assert not ask.revealed
    ask.revealed = True
    assert not ask.is_told and "Torn." not in sent(ask)


def test_a_verdict_says_the_learners_option_and_the_right_one() -> None:
    ask = asked(chosen=0, revealed=True)
    assert ask.locked and ask.verdict() == [
        (False, "Not so.", "no", "It waits."),
        (True, "Instead:", "yes", "Torn."),
    ]
    assert asked(chosen=1, revealed=True, lang="zh").verdict() == [(True, "正确。", "是", "Torn.")]


def test_the_asked_moment_is_found_by_words_or_is_now_or_the_end() -> None:
    def until(asked_for: object) -> int:
        return asked(until=asked_for, chosen=0, revealed=True).ui["until"]

    assert until("process killed") == 18
    assert until("tc → o-0 WriteTxnMarkers") == 17, "one blank between the words of a line"
    assert (until("now"), until(16), until(None)) == (14, 16, len(sample()))
    told = asked(until="process killed", chosen=0, revealed=True)
    assert shown(told)["meta"]["step"] == 18 and "step 18 of 23" in told.summary()
    with pytest.raises(ValueError, match="no step after 14 says that"):
        until("Produce a")
    with pytest.raises(ValueError, match="comes before the step of the question"):
        until(3)


def test_what_answers_is_a_panel_or_a_line_of_it() -> None:
    ask = asked(shows=["lights", "readers: read_uncommitted"], chosen=0, revealed=True)
    assert ask.ui["shows"] == [
        {"panel": "lights", "key": ""},
        {"panel": "readers", "key": "reader:read_uncommitted"},
    ]
    with pytest.raises(ValueError, match="nothing in the panel 'readers' says 'pulsar'"):
        asked(shows=["readers: pulsar"])
    with pytest.raises(ValueError, match="no panel 'reader'"):
        asked(shows=["reader"])


def test_the_still_of_a_question_says_what_was_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = asked()
    kept: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "mqlab_widgets.widget.update_display",
        lambda data, raw, display_id: kept.append((data["text/html"], display_id)),
    )
    ask.chosen, ask.locked = 0, True
    assert not kept, "nothing to renew before it was shown"
    outputs(ask, monkeypatch)
    ask.revealed = True
    ((html, name),) = kept
    assert name == ask.ui["still"] and "Your answer:</b> no" in html
    assert "Not so." in html and "Torn." in html and "<details>" in html


def test_a_question_refuses_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="none of the options"):
        Predict("?", ["a"], "b")
    with pytest.raises(ValueError, match="as many explanations"):
        Predict("?", ["a", "b"], 0, ["only one"])
    with pytest.raises(TypeError, match="did you mean 'trace'"):
        Predict("?", ["a"], 0, trac=sample())
    with pytest.raises(TraitError, match="the options are 0 to 1"):
        Predict("?", ["a", "b"], 0, chosen=2)


def lines(trace: Trace, after: int = 0) -> list[str]:
    """What a server says of everything after a fact."""
    data = trace.to_json()
    first = {
        "snapshot": trace_plain(trace, after),
        "system": trace.system, "title": data["title"], "after": after,
    }  # fmt: skip
    rest = zip(data["facts"][after:], data["changes"][after:], strict=True)
    return [json.dumps(first), *(json.dumps({"fact": f, "change": c}) for f, c in rest)]


def trace_plain(trace: Trace, position: int) -> Any:
    only = Trace(trace.system, (), (), (trace.snapshots[position],))
    return only.to_json()["start"]


def test_a_tail_puts_answers_together_and_keeps_the_last() -> None:
    whole = long_trace(120)
    tail = Tail(most=50)
    assert tail.feed(lines(Trace("s", (), (), whole.snapshots[:1])))
    for upto in (30, 31, 120):
        part = Trace(whole.system, (), whole.facts[:upto], whole.snapshots[: upto + 1])
        assert tail.feed(lines(part, tail.index))
        assert not tail.feed(lines(part, tail.index))
    assert tail.trace.facts == whole.facts[-50:]
    assert tail.trace.snapshots == whole.snapshots[-51:]


def test_a_tail_begins_again_when_the_server_did() -> None:
    tail = Tail()
    tail.everything = True
    tail.feed(lines(long_trace(40)))
    again = sample()
    assert tail.feed(lines(again))
    assert [f.text for f in tail.trace] == [f.text for f in again]
    assert tail.trace.snapshots == again.snapshots
    with pytest.raises(ValueError, match="does not begin with a snapshot"):
        tail.feed(["{}"])


class Server(ThreadingHTTPServer):
    trace = sample()
    upto = 5


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        whole = server.trace
        part = Trace(
            whole.system, (), whole.facts[: server.upto], whole.snapshots[: server.upto + 1],
            whole.title,
        )  # fmt: skip
        after = int(self.path.partition("after=")[2])
        self.send_response(200)
        self.end_headers()
        self.wfile.write("\n".join(lines(part, after)).encode())

    def log_message(self, *_: object) -> None:
        """Silence: the test's own output is enough."""


@contextmanager
def serving() -> Iterator[tuple[Server, str]]:
    server = Server(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_follow_shows_what_a_server_tells() -> None:
    with serving() as (server, url):
        follow = Follow(url, every_s=60)
        assert follow.trace.facts == tuple(f for f in server.trace.facts[:5] if not f.fold)
        assert shown(follow)["meta"]["step"] == 4
        assert "5 facts so far; 4 of the last 5 are shown" in follow.ui["status"]
        server.upto = 9
        assert follow.poll()
        assert len(follow.trace) == 7
        assert not follow.poll()
        follow.stop()
        assert "no longer" in follow.ui["status"]


@pytest.mark.parametrize(
    "answer",
    [b"\0\0\0\x05no", b"HTTP/1.0 200 OK\r\n\r\n5\n", b"HTTP/1.0 200 OK\r\n\r\n[1, 2]\n",
     b'HTTP/1.0 200 OK\r\n\r\n{"snapshot": 5, "after": {}, "system": 1, "title": 2}\n'],
    ids=["no HTTP", "a number", "a list", "odd fields"],
)  # fmt: skip
def test_follow_goes_on_asking_whoever_answers_something_else(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def tell() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        teller = threading.Thread(target=tell)
        teller.start()
        follow = Follow(f"http://127.0.0.1:{server.getsockname()[1]}", every_s=60)
        teller.join()
        assert follow.ui["failed"] and "--trace-port" in follow.ui["status"]
        assert follow._thread.is_alive()
        follow.close()


def test_follow_asks_this_machine_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy)
        with serving() as (_, url):
            for address in (url, url.replace("127.0.0.1", "localhost")):
                follow = Follow(address, every_s=60)
                assert "5 facts so far" in follow.ui["status"], address
                follow.close()
        elsewhere = Follow("http://broker.invalid:9094", every_s=60)
        assert "refused" in elsewhere.ui["status"], "others are asked by way of the proxy"
        elsewhere.close()


def test_follow_says_that_nobody_answers_and_what_to_look_at() -> None:
    with serving() as (_, url):
        pass
    follow = Follow(url, every_s=60)
    assert follow.ui["failed"] and "--trace-port" in follow.ui["status"]
    assert follow.narration() == ""
    follow.close()
    with pytest.raises(ValueError, match="is no address"):
        Follow("localhost:9094")
