"""The list of brokers: every place in it is there, and a new broker is one module more."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mqlab.brokers
from mqlab import registry
from mqlab.brokers import find_broker, list_brokers, load
from mqlab.cli import main
from mqlab.kernel import System
from mqlab.recordings.evidence import Witness
from mqlab.registry.searches import Searches, searches_of
from mqlab.serve.adapter import Adapter

REAL = ("add_arguments", "start_broker")

PIGEONS = '''
"""A broker that the test adds: the toy system under another roof."""
import re
from dataclasses import dataclass
from typing import ClassVar
from mqlab.brokers import Broker
from mqlab.registry.searches import Searched, Searches
from mqlab.recordings.evidence import Contradiction, Witness
from mqlab.kernel import FactKind, Text
from mqlab.serve.options import option

BROKER = Broker(
    title="Pigeons",
    systems={"toy": "tests.kernel.toy:Toy"},
    searches="mqlab.brokers.pigeons:SEARCHES",
    witness="mqlab.brokers.pigeons:WITNESS",
    serve="mqlab.brokers.pigeons",
    real="mqlab.brokers.pigeons",
)
SEARCHES = Searches(Searched("pigeons", "toy 'app=keep a'"), (), {}, {})
WITNESS = Witness(
    "Pigeons", "1", lambda system: "", lambda node: False, lambda node: node,
    re.compile("x^"), (Contradiction(FactKind.SEND, lambda body: True, Text("it flies", "它会飞")),),
)
VERSION = "1"

@dataclass
class OPTIONS:
    port: ClassVar = 9
    feathers: str = option("", "--feathers")

def add_arguments(parser):
    parser.add_argument("--feathers")
'''


@pytest.fixture
def pigeons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One module more in the package, as a new broker adds it."""
    (tmp_path / "pigeons.py").write_text(PIGEONS, "utf-8")
    monkeypatch.setattr(mqlab.brokers, "__path__", [*mqlab.brokers.__path__, str(tmp_path)])
    list_brokers.cache_clear()
    yield
    list_brokers.cache_clear()
    sys.modules.pop("mqlab.brokers.pigeons", None)


@pytest.mark.parametrize("name", list_brokers())
def test_every_system_is_there(name: str) -> None:
    found = find_broker(name)
    assert all(issubclass(load(place), System) for place in found.systems.values())


@pytest.mark.parametrize("name", list_brokers())
def test_its_words_and_safeguards_have_a_sentence_in_both_languages(name: str) -> None:
    """A word has one sentence; a full stop within it belongs to a name (transaction.version)."""
    for place in find_broker(name).systems.values():
        system = load(place)
        for word, means in system.glossary.items():
            assert re.fullmatch(r"[A-Z]([^.]|\.(?=\w))*\.", means.en), word
            assert re.search("[一-鿿]", means.zh) and means.zh.endswith("。"), word
        for guard, text in system.guards.items():
            assert text.en and text.zh and text.en != text.zh, guard


@pytest.mark.parametrize("name", list_brokers("searches"))
def test_searches_are_there(name: str) -> None:
    assert isinstance(load(find_broker(name).searches), Searches)


@pytest.mark.parametrize("name", list_brokers("witness"))
def test_a_witness_is_there(name: str) -> None:
    assert isinstance(load(find_broker(name).witness), Witness)


@pytest.mark.parametrize("name", list_brokers("serve"))
def test_the_options_of_a_server_are_there(name: str) -> None:
    options = load(find_broker(name).serve).OPTIONS()
    assert isinstance(options.adapter(), Adapter) and options.port > 0


@pytest.mark.parametrize("name", list_brokers("real"))
def test_the_tasks_with_a_real_broker_are_there(name: str) -> None:
    assert all(callable(getattr(load(find_broker(name).real), said)) for said in REAL)


@pytest.mark.parametrize("part", ["searches", "witness", "serve", "real"])
def test_kafka_has_every_part(part: str) -> None:
    assert "kafka" in list_brokers(part)


def test_an_unknown_name_is_told_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    known = ", ".join(list_brokers())
    with pytest.raises(LookupError, match=f"no broker 'rabbit'; there are: {known}"):
        find_broker("rabbit")
    for command in ("serve", "real"):
        with pytest.raises(SystemExit):
            main([command, "rabbit"])
        said = capsys.readouterr().err
        assert "invalid choice: 'rabbit'" in said
        assert all(f"'{name}'" in said for name in list_brokers(command))


def test_the_list_imports_nothing_of_a_broker() -> None:
    code = "from mqlab.brokers import list_brokers; list_brokers(); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {name for name in done.stdout.split() if name.startswith("mqlab")}
    assert ours == {"mqlab", "mqlab.brokers", *(f"mqlab.brokers.{name}" for name in list_brokers())}


def test_a_new_broker_is_one_module_more(pigeons: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert "pigeons" in list_brokers()
    assert searches_of("pigeons").lesson.name == "pigeons"
    trace = registry.scenario("system toy 'app=keep a'\ndo call app")
    assert any("Pigeons does what this line shows" in fact.why.en for fact in trace)
    assert main(["explore", "pigeons"]) == 0
    assert "searching toy 'app=keep a'" in capsys.readouterr().out
    for command in ("serve", "real"):
        with pytest.raises(SystemExit) as stopped:
            main([command, "pigeons", "--help"])
        assert stopped.value.code == 0
        assert "--feathers" in capsys.readouterr().out
