"""IncrementalAlterConfigs: the one config that can be changed while the server runs.

`transaction.partition.verification.enable` of this broker: with it off, a legacy client's
transaction opens without a question to the coordinator, and may hang. Every other change is
refused (`kafka/unserved.py`).

**Durable** is its value, in the table `configs` by "1".

Source: ConfigurationControlManager#incrementalAlterConfigs, DynamicBrokerConfig (Kafka 4.3).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ....kafka.errors import Error
from ....kafka.unserved import ONLY_VERIFICATION, VERIFICATION
from ....kernel import Caller, Effects, Put, Reply, replace
from ..wire.answers import Altered, Table
from ..wire.api import Ask
from .configs import configs_of, value_problem
from .describing import BROKER

if TYPE_CHECKING:
    from . import Broker

log = logging.getLogger("mqlab.serve")
SET = 0  # AlterConfigOp.OpType


def alter_configs(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """Each resource is changed whole or not at all."""
    effects: list[Put] = []
    rows = []
    for resource in ask.body.resources:
        error, words = _find_refusal(broker, resource)
        if not error and not ask.body.validate_only:
            value = resource.configs[-1].value
            broker = replace(broker, verification=value)
            effects.append(Put("configs", resource.resource_name, ((VERIFICATION, value),)))
        rows.append(Altered(error, words or None, resource.resource_type, resource.resource_name))
    if any(row.error_message == ONLY_VERIFICATION.en for row in rows):
        log.warning("IncrementalAlterConfigs: %s", ONLY_VERIFICATION)
    return broker, (*effects, Reply(caller, Table(tuple(rows))))


def _find_refusal(broker: Broker, resource: Any) -> tuple[Error, str]:
    mine = (BROKER, str(broker.config.node_id))
    known = all((c.name, c.config_operation) == (VERIFICATION, SET) for c in resource.configs)
    if (resource.resource_type, resource.resource_name) != mine or not known:
        return Error.POLICY_VIOLATION, ONLY_VERIFICATION.en
    if len(resource.configs) != 1:
        return Error.INVALID_REQUEST, "Error due to duplicate config keys"
    value = resource.configs[0].value
    if value is None:
        return Error.INVALID_REQUEST, f"Null value not supported for : {VERIFICATION}"
    problem = value_problem(configs_of("broker")[VERIFICATION], value)
    return (Error.INVALID_REQUEST if problem else Error.NONE), problem
