"""`mqlab serve NAME`: which brokers there are, and what cannot be asked of any."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.serve.home import Home


def test_an_unknown_broker_is_told_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "pigeons"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "invalid choice: 'pigeons'" in said and all(
        f"'{name}'" in said for name in list_brokers("serve")
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--fsync"], "--fsync needs a folder"),
        (["--port", "70000"], "70000 is no port"),
        (["--trace-port", "-1"], "-1 is no port"),
        (["--pace", "-5"], "name a number of milliseconds"),
        (["--salvage-to", "new"], "needs the damaged folder too"),
        (["--off", "gravity"], "no safeguard 'gravity'; there are: epoch_fencing"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "kafka", *words]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(list_brokers("serve")))
def test_a_brokers_room_makes_the_home_of_its_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served: list[Home] = []
    monkeypatch.setattr("mqlab.serve.server.main", lambda home, options: served.append(home))
    assert main(["serve", name, "--port", "0"]) == 0
    (home,) = served
    assert home.name == name
    assert home.system.split()[0] == name, "the system line begins with it"
