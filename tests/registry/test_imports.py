"""What the lessons load at once, and what only when a system line names it."""

from __future__ import annotations

import subprocess
import sys

from mqlab.brokers import list_brokers
from mqlab.registry import SYSTEMS


def test_a_lab_loads_only_the_systems_that_it_names() -> None:
    code = "import mqlab.lessons, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    elsewhere = {
        place.partition(":")[0]
        for broker in list_brokers().values()
        for name, place in broker.systems.items()
        if name not in ("kafka", "shop")
    }
    assert len(elsewhere) > 4
    assert not elsewhere & {*done.stdout.split()}


def test_every_name_is_that_of_a_system() -> None:
    assert {*list_brokers("serve")} < {*SYSTEMS} and len({*SYSTEMS}) == len(SYSTEMS)
    for name, kind in SYSTEMS.items():
        assert kind.from_options({}).line().partition(" ")[0] == name
