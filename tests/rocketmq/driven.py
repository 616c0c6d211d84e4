"""A system driven line by line, as a scenario is, and asked questions in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mqlab.kernel import Run
from mqlab.rocketmq import RocketMQSystem
from mqlab.scenario import parse_script, perform, system_of
from tests.rocketmq.queues import words_in

SYSTEMS = {"rocketmq": RocketMQSystem}


def drive(text: str, **rules: Any) -> Run:
    """Run a scenario. `rules`: a listener's `execute` and `check`."""
    script = parse_script(text)
    system = system_of(script.system, SYSTEMS)
    assert isinstance(system, RocketMQSystem)
    return perform(script, replace(system, rules=tuple(sorted(rules.items()))))


def results(run: Run, node: str = "app") -> list[str]:
    """What its calls returned."""
    app = run.world.nodes[node].app
    assert app is not None
    return [outcome.result for outcome in app.results]


def queue(run: Run, name: str) -> list[str]:
    return words_in(run.world.disk("broker"), name)


def rows(run: Run, node: str = "db", table: str = "orders") -> dict[str, Any]:
    return dict(run.world.disk(node).table(table).items())
