"""Layer 6: the registry. Which system a system line may name; scenarios and tokens as runs.

    searches     what is searched of a broker, and how; each safeguard's case
    cases/       those searches, as data: a module each broker
    tables       what is found, as text

It knows brokers by the names in their lines; `mqlab.brokers` says where the classes are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping

from ..brokers import Broker, list_brokers, load
from ..kernel import Play, Run, System, Text, Trace
from ..kernel.play import ELSEWHERE, decode
from ..kernel.text import BadValue
from ..recordings.evidence import add_evidence
from ..scenario import make_system, parse_script, perform, perform_all, system_of


class Systems(Mapping[str, type[System]]):
    """The classes by their names. Each is loaded when a line names it: a lab needs one or two."""

    def __getitem__(self, name: str) -> type[System]:
        kind: type[System] = load(find_owner(name).systems[name])
        return kind

    def __iter__(self) -> Iterator[str]:
        return (name for broker in list_brokers().values() for name in broker.systems)

    def __len__(self) -> int:
        return sum(len(broker.systems) for broker in list_brokers().values())


SYSTEMS = Systems()


def find_owner(name: str) -> Broker:
    """The broker to which the system of this name belongs; KeyError where there is none."""
    for broker in list_brokers().values():
        if name in broker.systems:
            return broker
    raise KeyError(name)


def run_scenario(text: str) -> Run:
    """Run a scenario given as text (see `mqlab.scenario`); ScenarioError says what is wrong."""
    script = parse_script(text)
    return perform(script, make_system(script, SYSTEMS))


def scenario(text: str, recorded: str = "") -> Trace:
    """The trace of a scenario given as text, each fact with its evidence. `recorded`: the
    name of the recording of a real broker that shows the same story; without one a fact is
    the model's, or is described otherwise in many articles. ScenarioError says what is wrong, also
    of a line that waits for what never comes."""
    return with_evidence(_run_all(text).trace, recorded)


def _run_all(text: str) -> Run:
    script = parse_script(text)
    return perform_all(script, make_system(script, SYSTEMS))


def with_evidence(trace: Trace, recorded: str) -> Trace:
    """The trace with the evidence that its broker's recordings give each fact; of what was never
    built there are none."""
    witness = find_owner(trace.system.split()[0]).witness
    return add_evidence(trace, recorded, load(witness)) if witness else trace


def system(line: str) -> System:
    """The system of a line such as "kafka partitions=2 readers=reader"."""
    return system_of(line, SYSTEMS)


def reopen_run(token: str) -> tuple[Play, Text]:
    """The execution of a token, and what is different here where another engine made it. Raises
    ValueError where the text is no token, and where the execution is not possible here."""
    recorded = decode(token)
    if recorded.disks:
        raise BadValue(ELSEWHERE)
    play = Play(system(recorded.line))
    return play, play.replay(recorded)


def open_run(token: str) -> Play:
    """The execution that was sent as a token, to play on: `Playground(open_run("…"))`. A
    token of another version of the engine is replayed, and a warning says what has changed;
    ValueError says why where that is not possible."""
    play, note = reopen_run(token)
    if note.en:
        warnings.warn(note.en, stacklevel=2)
    return play


def continue_scenario(text: str) -> Play:
    """A play that begins where a scenario ends."""
    run = _run_all(text)
    return Play(run.system, tuple(run.choices), run.trace.title)
