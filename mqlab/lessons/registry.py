"""The registry: which system a system line may name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ..kernel import Play, Run, System, Text, Trace
from ..kernel.token import decode
from ..real.kafka.evidence import add_kafka_evidence
from ..scenario import parse_script, perform, system_of

#: name in a system line → where its class is
PLACES = {
    "kafka": "mqlab.kafka:KafkaSystem",
    "shop": "mqlab.lessons.kafka.systems.shop:ShopSystem",
    "payments": "mqlab.lessons.kafka.systems.payments:PaymentsSystem",
    "end_txn": "mqlab.lessons.kafka.systems.end_txn:EndTxnSystem",
    "asking": "mqlab.lessons.kafka.systems.asking:AskingSystem",
    "charges": "mqlab.lessons.kafka.systems.charges:ChargesSystem",
    "income": "mqlab.lessons.kafka.systems.income:IncomeSystem",
    "sink": "mqlab.lessons.spark.sink_runs:SinkSystem",
    "markers": "mqlab.lessons.kafka.systems.marker_pieces:MarkerSystem",
}


class Systems(Mapping[str, type[System]]):
    """The classes by their names. Each is loaded when a line names it: a lab needs one or two."""

    def __getitem__(self, name: str) -> type[System]:
        module, _, kind = PLACES[name].partition(":")
        found: Any = getattr(import_module(module), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


SYSTEMS = Systems()


def run_scenario(text: str) -> Run:
    """Run a scenario given as text (see `mqlab.scenario`); ScenarioError says what is wrong."""
    script = parse_script(text)
    return perform(script, system_of(script.system, SYSTEMS))


def scenario(text: str, recorded: str = "") -> Trace:
    """The trace of a scenario given as text, each fact with its evidence. `recorded`: the
    name of the recording of a real broker that tells the same story; without one a fact is
    the model's, or is told otherwise in many articles."""
    return add_kafka_evidence(run_scenario(text).trace, recorded)


def system(line: str) -> System:
    """The system of a line such as "kafka partitions=2 readers=reader"."""
    return system_of(line, SYSTEMS)


def reopen_run(token: str) -> tuple[Play, Text]:
    """The run of a token, and what is different here where another engine made it. Raises
    ValueError where the text is no token, and where the run is not possible here."""
    found = decode(token)
    play = Play(system(found.line))
    return play, play.replay(found)


def open_run(token: str) -> Play:
    """The run that somebody has sent as a token, to play on: `Playground(open_run("…"))`. A
    token of another version of the engine is replayed, and a warning says what has changed;
    ValueError says why where that is not possible."""
    play, note = reopen_run(token)
    if note.en:
        warnings.warn(note.en, stacklevel=2)
    return play


def playing(text: str) -> Play:
    """A play that begins where a scenario ends."""
    run = run_scenario(text)
    return Play(run.system, tuple(run.choices), run.trace.title)
