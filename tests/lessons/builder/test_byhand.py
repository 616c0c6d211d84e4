"""A learner's own file by hand: in a playground, in a page without a notebook, and in a search of
the system that somebody names."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

pytest.importorskip("anywidget", reason="anywidget is missing: make setup")
from mqlab_widgets import Playground

from mqlab.cli import main
from mqlab.cli.alone import PageServer
from mqlab.kernel import Play
from mqlab.kernel.play import decode
from mqlab.lessons import lab13
from mqlab.lessons.builder.byhand import ByHand, begin
from mqlab.lessons.builder.host import BuildError
from mqlab.lessons.builder.right import read_right
from tests.lessons.builder.wrong import LABS

ONE = "partitions=1 off=epoch_bump 'app=init; begin; send orders-0 a; commit'"


def read(sitting: int, folder: str = "coordinator") -> str:
    return read_right(LABS / folder, sitting)


#: the right file of a part, what breaks in it, a system, and the node that dies of it
FAULTS = [
    (4, "coordinator", "    def finish(self, log", ONE, "coordinator"),
    (4, "coordinator", "    def recover(config", ONE, "coordinator"),
    (2, "check_round", "def check(", "timeout_ms=0 persist_ms=0 'app=listener UNKNOW UNKNOW;"
     " send-in-transaction orders-0 A'", "broker"),
    (2, "pending_acks", "def commit(", "'app=subscribe orders-0 s from=earliest "
     "type=Shared; send orders-0 a; receive s; new-transaction t1; ack s orders-0@0 txn=t1; "
     "commit t1'", "orders-0"),
]  # fmt: skip


def break_function(source: str, head: str) -> tuple[str, int]:
    """A file in which a function raises first of all, and the line where."""
    lines = source.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith(head))
    while not lines[at].rstrip().endswith(":"):
        at += 1
    indent = " " * (len(head) - len(head.lstrip()) + 4)
    return "\n".join([*lines[: at + 1], f"{indent}{{}}['mine']", *lines[at + 1 :]]), at + 2


def is_up(play: Play, node: str) -> bool:
    (lane,) = (one for one in play.trace.snapshot(-1).lanes if one.name == node)
    return lane.up


@pytest.mark.parametrize(("sitting", "folder", "head", "line", "node"), FAULTS)
def test_an_exception_shows_the_learners_line_and_the_playground_lives_on(
    sitting, folder, head, line, node
):
    source, number = break_function(read(sitting, folder), head)
    play, host = begin(source, line)
    with host:
        if "recover" in head:  # a coordinator that never began: what was said is in the light
            play.do(f"kill {node}")
            play.do(f"restart {node}")
        play.go_on()
        if node == "broker":
            play.do("fire broker check")
        dead = [fact for fact in play.trace if "your code breaks" in fact.text.en]
        assert [fact.node for fact in dead] == [node], play.trace
        assert f"raised KeyError (line {number}): 'mine'" in dead[0].text.en
        (light,) = (one for one in play.trace.snapshot(-1).lights if one.name == "runs")
        assert not light.ok and f"(line {number})" in light.sentence.en
        assert not dead[0].fold and "Undo goes back" in dead[0].why.en and not is_up(play, node)
        before = play.trace.choices[: dead[0].step - 1]
        while play.choices != before:
            play.undo()
        assert is_up(play, node) or "recover" in head
        assert f"kill {node}" in [option.choice for option in play.options()] or "recover" in head
        Playground(play).do(f"kill {node}" if is_up(play, node) else play.options()[0].choice)


def test_without_a_line_the_first_trial_of_the_sitting_is_played():
    for sitting, call in ((1, "send orders-1 b"), (4, "flush")):
        play, host = begin(read(4), sitting=sitting)
        with host:
            assert call in play.system.line() and play.system.line().startswith("kafka ")
            play.go_on()
            lights = play.trace.snapshot(-1).lights
            assert all(light.ok for light in lights), lights
            assert not {"delivered", "ends"} & {light.name for light in lights}


def test_a_line_may_begin_with_its_own_broker_only():
    source = read(0)
    for line in (ONE, f"kafka {ONE}"):
        play, host = begin(source, line)
        with host:
            assert play.system.line() == f"kafka {ONE}"
    for line, why in (
        ("pulsar partitions=1", "begin with `kafka`"),
        ("kafka nonsense", "key=value"),
        ("dropped=ends", "dropped"),
    ):
        with pytest.raises(ValueError, match=why):
            begin(source, line)
    with pytest.raises(ValueError, match="no part 7"):
        begin(source, sitting=7)
    with pytest.raises(BuildError, match="imports os"):
        begin("import os")


def test_what_a_searched_file_breaks_is_played_on_from_its_token(
    tmp_path: Path, rights: Path, capsys
):
    mine = tmp_path / "my coordinator.py"
    mine.write_text(read(1), "utf-8")
    bounds = ["--kills", "1", "--killable", "coordinator"]
    assert main(["build", "check", str(mine), "--system", f"kafka {ONE}", *bounds]) == 1
    out = capsys.readouterr().out
    assert "violated: delivered" in out and "`recover` finds the decision in the log" in out
    assert "not required up to part 1: ends" in out and "violated: ends" not in out
    found = out[out.index("counterexample to “delivered”") :]
    assert f"mqlab build play '{mine}' --run " in found
    token = found.partition("--run ")[2].split()[0]
    page = tmp_path / "run.html"
    again = [f"kafka {ONE}", "--coordinator", str(mine), *bounds, "--view", str(page)]
    assert main(["explore", *again]) == 1
    out = capsys.readouterr().out
    assert "violated: delivered" in out and "violated: ends" in out and page.is_file()

    run = decode(token)
    play, host = begin(mine.read_text("utf-8"), run.line, choices=run.choices)
    with host:
        assert play.choices == run.choices and not is_up(play, "coordinator")
    right = str(rights / "sitting-4.py")
    assert main(["explore", f"kafka {ONE}", "--coordinator", right, *bounds]) == 0
    assert "complete within" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["build", "check", "{}", "--kills", "1"], "name it with --system"),
        (["build", "check", "{}", "--system", "rocketmq x=1"], "begin with `kafka`"),
        (["build", "check", "{}", "--system", ONE, "--killable", "nobody"], "no node 'nobody'"),
        (["explore", ONE, "--coordinator", "{}", "--disk", "d"], "leave out --disk"),
        (["explore", ONE, "--coordinator", "{}", "--symmetry"], "leave out --symmetry"),
        (["explore", ONE, "--coordinator", "none.py"], "cannot read none.py"),
        (
            ["explore", "--resume", "d", "--coordinator", "{}"],
            "reads system and bounds from the folder",
        ),
        (["build", "play", "{}", "--system", "kafka x"], "expected key=value"),
        (["build", "play", "{}", "--run", "x"], "this is not a token"),
        (["build", "play", "none.py"], "cannot read none.py"),
    ],
)
def test_what_cannot_be_searched_or_played_is_said(words, why, rights: Path, capsys):
    right = str(rights / "sitting-4.py")
    assert main([word.format(right) if "{}" in word else word for word in words]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        ("partitions=1 groups=1 'app=init; begin; send-offsets g orders-0@1; commit'",
         "commit: ok"),
        ("partitions=1 admins=admin 'app=init; begin; send orders-0 a; commit' "
         "'admin=describe order-service'", "describe order-service: "),
    ],
)  # fmt: skip
def test_positions_and_administrators_are_the_hosts_to_understand(line: str, answered: str):
    play, host = begin(read(4), line)
    with host:
        play.go_on()
        assert answered in str(play.trace) and "your code breaks" not in str(play.trace)


def test_a_file_is_played_while_it_is_written(tmp_path: Path):
    mine = tmp_path / "coordinator.py"
    mine.write_text(read(1), "utf-8")
    hand = ByHand(mine, ONE, 1)
    ground, says = hand.begin()
    assert ground is not None and "reload this page" in says.en
    ground.go_on()
    choices = ground.play.choices
    mine.write_text(read(2), "utf-8")
    again, _ = hand.begin()
    assert again is not None and again.play.choices == choices
    mine.write_text("x = (", "utf-8")
    nothing, says = hand.begin()
    assert nothing is None and "'(' was never closed, line 1" in says.en
    mine.write_text(read(0), "utf-8")
    shorter, says = hand.begin()
    assert shorter is not None and f"Of the {len(choices)} choices" in says.en
    assert shorter.play.choices == choices[: len(shorter.play.choices)] != ()
    hand.close()


def test_a_cell_plays_the_file_beside_the_notebook(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ground = lab13.play_mine(1)  # no file yet: the one to begin with
    assert isinstance(ground, Playground)
    ground.go_on()
    first = lab13._played["coordinator.py"]
    Path("coordinator.py").write_text("import os", "utf-8")
    said = lab13.play_mine(1)
    assert not isinstance(said, Playground) and "imports os" in said.message.en
    Path("coordinator.py").write_text(read(1), "utf-8")
    assert lab13.play_mine(1, system=ONE).play.system.line() == f"kafka {ONE}"
    assert lab13._played.pop("coordinator.py") is not first
    assert first._process._process.poll() is not None


# --- the page

Ask = tuple[int, dict[str, str], str]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    mine = tmp_path / "<script>x.py"
    mine.write_text(read(1), "utf-8")
    hand = ByHand(mine, ONE, 1)
    with PageServer(hand.begin, "en") as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
    hand.close()


def ask(server: PageServer, verb: str, path: str, body: str = "", **headers: str) -> Ask:
    here = urlsplit(server.address)
    connection = http.client.HTTPConnection(here.hostname or "", here.port, timeout=60)
    connection.request(verb, path, body, headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


def test_a_page_plays_and_only_for_who_knows_its_key(server: PageServer):
    path = urlsplit(server.address).path
    assert server.address.startswith("http://127.0.0.1:")
    assert ask(server, "POST", path, "{}")[0] == 404  # nobody has loaded the page
    status, headers, page = ask(server, "GET", path)
    assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
    assert "&lt;script&gt;x.py plays its part" in page and "<script>x" not in page
    assert "class Coordinator" not in page
    assert "playground" in ask(server, "GET", f"{path}widget.js")[2]

    def post(message: object) -> dict:
        status, _, said = ask(server, "POST", path, json.dumps(message))
        assert status == 200
        return json.loads(json.loads(said)["ui"])

    assert not post({"type": "begin"})["moved"] and post({"type": "on"})["moved"]
    assert "it is running" in post({"type": "do", "choice": "restart app"})["error"]
    assert not post({"type": "undo"})["error"] and not post([1])["error"]
    for verb, where, more in (
        ("GET", "/", {}),
        ("GET", "/x/", {}),
        ("PUT", path, {}),
        ("GET", path, {"Host": "evil.example"}),
        ("POST", path, {"Origin": "https://evil.example"}),
    ):
        assert ask(server, verb, where, **more)[0] in (403, 404)
    assert ask(server, "POST", path, "{")[0] == 400
