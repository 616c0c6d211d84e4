"""The registry: which system a system line may name."""

from __future__ import annotations

from ..kafka import KafkaSystem
from ..kernel import Play, Run, System, Trace
from ..kernel.token import check, open_token
from ..real.evidence import evident
from ..scenario import parse_script, perform, system_of
from .kafka.systems.asking import AskingSystem
from .kafka.systems.charges import ChargesSystem
from .kafka.systems.end_txn import EndTxnSystem
from .kafka.systems.income import IncomeSystem
from .kafka.systems.marker_pieces import MarkerSystem
from .kafka.systems.payments import PaymentsSystem
from .kafka.systems.shop import ShopSystem

SYSTEMS: dict[str, type[System]] = {
    "kafka": KafkaSystem,
    "shop": ShopSystem,
    "payments": PaymentsSystem,
    "end_txn": EndTxnSystem,
    "asking": AskingSystem,
    "charges": ChargesSystem,
    "income": IncomeSystem,
    "markers": MarkerSystem,
}


def played(text: str) -> Run:
    """Run a scenario given as text (see `mqlab.scenario`); ScenarioError says what is wrong."""
    script = parse_script(text)
    return perform(script, system_of(script.system, SYSTEMS))


def scenario(text: str, recorded: str = "") -> Trace:
    """The trace of a scenario given as text, each fact with its evidence. `recorded`: the
    name of the recording of a real broker that tells the same story; without one a fact is
    the model's, or is told otherwise in many articles."""
    return evident(played(text).trace, recorded)


def system(line: str) -> System:
    """The system of a line such as "kafka partitions=2 readers=reader"."""
    return system_of(line, SYSTEMS)


def open_run(token: str) -> Play:
    """Reopen a token; ValueError where it is none or another engine made it."""
    line, choices, made = open_token(token)
    found = system(line)
    check(found, made)
    return Play(found, choices)


def playing(text: str) -> Play:
    """A play that begins where a scenario ends."""
    run = played(text)
    return Play(run.system, tuple(run.choices), run.trace.title)
