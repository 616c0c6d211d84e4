"""The command line: found by looking, imported when asked, errors in one line."""

from __future__ import annotations

import re
import socket
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import pytest

from mqlab import __version__, cli
from mqlab.cli import doctor
from mqlab.cli.errors import UserError
from mqlab.kernel.text import Text, count_columns


def list_silent(parser: ArgumentParser) -> Iterator[str]:
    """Of a parser and those below: the options, arguments and commands without a line of help."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            yield from action.choices.keys() - {r.dest for r in action._choices_actions if r.help}
            for below in action.choices.values():
                yield from list_silent(below)
        elif not action.help:
            yield f"{parser.prog} {action.dest}"


@pytest.mark.parametrize("name", sorted(cli.commands()))
def test_every_command_and_option_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert not list(list_silent(cli.build_parser(name)[0]))
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    assert cli.commands()[name][:40] in capsys.readouterr().out.replace("\n", " ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"mqlab {__version__}\n"


@pytest.mark.parametrize("name", sorted(cli.commands()))
def test_every_help_is_chinese(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line of help has Chinese in it, argparse's own words too; so have the commands below."""
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("COLUMNS", "1000")
    below = {"serve": ("kafka", "pulsar", "rocketmq"), "build": ("new", "check", "play"),
             "check": ("kafka", "pulsar", "history"), "real": ("kafka", "pulsar", "rocketmq"),
             "inspect": ("kafka", "pulsar", "rocketmq"),
             "labs": ("open", "copy", "build", "renew", "check", "times")}  # fmt: skip
    for words in ([name], *([name, one] for one in below.get(name, ()))):
        with pytest.raises(SystemExit):
            cli.main([*words, "--help"])
        usage, *told = capsys.readouterr().out.split("\n\n")
        assert usage.startswith(f"用法：mqlab {' '.join(words)}")
        for line in "\n".join(told).splitlines():
            said = line.split("  ")[-1].strip(" :")
            named = said.startswith(("{", "-")) or said in ("Kafka", "Pulsar", "RocketMQ", "flink")
            assert named or said.isupper() or re.search("[\u4e00-\u9fff]", said), line
    monkeypatch.setenv("COLUMNS", "80")  # where a Chinese character takes two
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    assert max(map(count_columns, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize(
    "words, said",
    [
        (["run"], "mqlab run：错误：缺少参数：FILE"),
        (["run", "kafka/torn-red"], "没有文件 kafka/torn-red：请给 .scn 文件"),
        (["explore", "kafka 'ap=init'"], "系统 kafka：没有选项 'ap'；是不是 app？"),
        (["explore", "kafka", "--kills", "x"], "'x'：应为 0 到 255 之间的数"),
        (["income", "--orders", "nowhere.csv"], "没有文件 nowhere.csv：请给一个"),
        (["serve", "kafka", "--off", "x"], "没有保护措施 'x'；有："),
        (["real", "kafka", "start", "--version", "9"], "这里没有锁定 Kafka 9：请从"),
        (["real", "kafka", "compare", "x"], "没有程序 'x'；"),
        (["income", "--orders", "", "--year"], "--orders 是空的"),
        (["explore", "kafka", "--off="], "--off= 是空的"),
        (["run", "x" * 300], "文件名太长"),
        (["real", "kafka", "x"], "用法：mqlab real kafka"),
        (["income", "flink", "--soft"], "--soft 不能用于 Flink 作业"),
        (["lecture", "-o", "/dev/null/x", "--no-browser"], "写不了网页：不是文件夹"),
        (["serve", "kafka", "--host", "192.0.2.1"], "无法监听 192.0.2.1:9092（不能使用这个地址）"),
        (["inspect", "rocketmq", "127.0.0.1:1"], "127.0.0.1:1 上没有 broker 应答：连接被拒绝"),
        (["inspect", "pulsar", "127.0.0.1:1"], "127.0.0.1:1 上没有 broker 应答：连接被拒绝"),
    ],
)
def test_an_error_is_chinese(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    try:
        code = cli.main(words)
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert said in capsys.readouterr().err


def fake(run: object) -> ModuleType:
    module = ModuleType("mqlab.cli.fake")
    module.__dict__.update(HELP="fake", add_arguments=lambda parser: None, run=run)
    return module


def use(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    monkeypatch.setattr(cli, "commands", lambda: {"fake": "fake"})
    monkeypatch.setitem(sys.modules, "mqlab.cli.fake", fake(run))


def test_a_user_error_is_one_line_and_exit_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(args: object) -> int:
        raise UserError("port 9092 is in use: choose another with --port")

    use(monkeypatch, run)
    assert cli.main(["fake"]) == 2
    assert capsys.readouterr().err == "mqlab: port 9092 is in use: choose another with --port\n"


def test_a_missing_extra_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'kio'", name="kio")

    monkeypatch.setattr(cli, "commands", lambda: {"fake": "fake"})
    monkeypatch.setattr(cli.importlib, "import_module", load)
    assert cli.main(["fake"]) == 2
    assert "needs the package kio: run `make setup`" in capsys.readouterr().err


def test_address_of_is_the_given_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def run(args: object, address_of: cli.AddressOf) -> int:
        with address_of("elsewhere:9092") as address:
            seen.append(address)
        return 0

    use(monkeypatch, run)
    assert cli.main(["fake"]) == 0
    assert seen == ["elsewhere:9092"]


def test_address_of_starts_our_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def serve():
        yield SimpleNamespace(address="127.0.0.1:1234")

    server = ModuleType("mqlab.serve.kafka")
    server.serve = serve
    monkeypatch.setitem(sys.modules, "mqlab.serve.kafka", server)
    with cli.address_of_server(None)() as address:
        assert address == "127.0.0.1:1234"


def test_doctor_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    probes = (
        ("java", Text("Java 17 or 21"), lambda: "", Text("apt-get install openjdk"), True),
        ("maven", Text("Maven"), lambda: "", Text("only to record"), False),
        ("font", Text("a font"), lambda: "Noto", Text(""), True),
        ("chromium", Text("Chromium"), lambda: "", Text("apt-get install chromium"), True),
    )
    monkeypatch.setattr(doctor, "PROBES", probes)
    monkeypatch.setattr(doctor, "SYSTEM", ("java", "chromium", "font"))
    assert cli.main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "missing   Java 17 or 21: apt-get install openjdk",
        "optional  Maven: only to record",
        "ok        a font: Noto",
        "missing   Chromium: apt-get install chromium",
        "",
        "next: install what is missing, then run `mqlab doctor` again",
    ]
    assert cli.main(["doctor", "--missing"]) == 0
    assert capsys.readouterr().out == "java chromium\n"
    assert cli.main(["doctor", "--brief"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_doctor_sees_pins_that_do_not_hold() -> None:
    lock = "pytest==0.0.1 \\\n    --hash=sha256:00\nno-such-package==1.0 \\\n"
    assert list(doctor.wrong_pins(lock)) == ["pytest==0.0.1", "no-such-package==1.0"]


def test_doctor_sees_a_port_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(doctor, "PORT", taken.getsockname()[1])
        assert doctor._free_port() == ""
