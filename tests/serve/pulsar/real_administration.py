"""A real Pulsar's answers to an administrator and to odd commands, asked again; `make real` runs
this.

`python -m tests.serve.pulsar.real_administration` writes them down again.
"""

from __future__ import annotations

import pytest

from mqlab.real.pulsar.broker import RealPulsar
from tests.serve.pulsar import commands
from tests.serve.pulsar.administration import RECORDED, read_rows, tell, write_rows

pytestmark = pytest.mark.needs("java")


def test_a_real_broker_answers_as_it_was_recorded() -> None:
    with RealPulsar() as pulsar:
        told = tell(pulsar.address, pulsar.admin)
        odd = list(commands.tell(pulsar.address))
    recorded = [*read_rows(RECORDED), *read_rows(commands.RECORDED)]
    for now, then in zip([*told, *odd], recorded, strict=True):
        assert now == then


if __name__ == "__main__":
    with RealPulsar() as real:
        write_rows(RECORDED, tell(real.address, real.admin))
        write_rows(commands.RECORDED, commands.tell(real.address))
    print(f"written: {RECORDED}, {commands.RECORDED}")
