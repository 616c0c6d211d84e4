"""What a legacy client sends again does not land in its next transaction if it is a record."""

import pytest

from mqlab.explore import Budget, explore
from mqlab.registry import system
from mqlab.registry.cases.kafka import SAFEGUARD_CASES


@pytest.mark.parametrize("version", [0, 2])
def test_a_late_record_of_a_legacy_client_does_not_land_in_its_next_transaction(version):
    """Its client gave up on it, aborted, and raised its own epoch (KIP-360)."""
    line = SAFEGUARD_CASES["verification"].line.replace("orders-1 b", "orders-0 b")
    line = line.replace("transaction_version=2", f"transaction_version={version}")
    claims = "claims=as_asked,decided_as_asked"
    verdict = explore(system(line.replace("claims=ends", claims)), Budget(timers=2))
    assert verdict.complete
    assert verdict.ok, verdict
