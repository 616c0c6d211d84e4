"""What the server's log calls a refusal, and what is not served at all."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace as Row

import pytest

from mqlab.kafka.errors import Error
from mqlab.kafka.unserved import NO_SUCH_CONFIGS, ONLY_VERIFICATION, UNSERVED, VERIFICATION
from mqlab.serve import RunningBroker
from mqlab.serve.adapter import BadFrame
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.frames import find_refusals
from mqlab.serve.kafka.front.configs import ACTING, configs_of
from mqlab.serve.kafka.wire.answers import OwnProducerId, ProducedPartition
from mqlab.serve.kafka.wire.api import OFFERED
from mqlab.serve.kafka.wire.codec import decode
from tests.serve.kafka.raw import Raw
from tests.serve.started import Started

TOPIC, BROKER, GROUP = 2, 4, 32  # ConfigResource.Type


def test_refusals_are_found_wherever_they_stand() -> None:
    assert list(find_refusals(OwnProducerId(Error.PRODUCER_FENCED))) == [Error.PRODUCER_FENCED]
    assert list(find_refusals(OwnProducerId(Error.CONCURRENT_TRANSACTIONS))) == []
    deep = ProducedPartition(
        0, record_errors=(OwnProducerId(), OwnProducerId(Error.INVALID_RECORD))
    )
    assert list(find_refusals(deep)) == [Error.INVALID_RECORD]


# ---- what is not served ----------------------------------------------------------------------


def test_what_is_not_served_is_not_announced(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        offered = set(client.ask_versions())
    assert offered == set(OFFERED) and not offered & set(UNSERVED)


def ask_in_header(key: int) -> bytes:
    return struct.pack(">ihhih", 10, key, 1, 1, -1)


def test_one_who_asks_all_the_same_is_let_go_and_told_why_in_the_log(
    broker: RunningBroker, tmp_path: Path
) -> None:
    for key, (name, why) in UNSERVED.items():
        with Raw(broker.address) as client:
            client.send(ask_in_header(key))
            assert client.closed, name
        with pytest.raises(BadFrame) as refused:
            decode(ask_in_header(key)[4:], ("127.0.0.1", 1))
        assert str(refused.value) == f"request {key} {name} is not served by mqlab: {why}"
    with Started(tmp_path) as running, Raw(running.address) as client:
        client.send(ask_in_header(35))
        running.said(f"request 35 DescribeLogDirs is not served by mqlab: {UNSERVED[35][1]}")


def alter(client: Raw, kind: int, name: str, *changes: tuple[str, str | None]) -> tuple[str, str]:
    rows = tuple(Row(name=n, config_operation=0, value=v) for n, v in changes)
    resource = Row(resource_type=kind, resource_name=name, configs=rows)
    told = client.ask(44, 1, resources=(resource,), validate_only=False).responses[0]
    return told.error_code.name, told.error_message or ""


def describe(client: Raw, kind: int, name: str) -> tuple[str, dict[str, str]]:
    resource = Row(resource_type=kind, resource_name=name, configuration_keys=None)
    fields = {"include_synonyms": False, "include_documentation": False}
    told = client.ask(32, 4, resources=(resource,), **fields).results[0]
    return told.error_message or "", {row.name: row.value for row in told.configs}


@pytest.mark.parametrize(
    ("kind", "name", "config", "value"),
    [
        (TOPIC, "orders", "retention.ms", "1"),
        (BROKER, "1", "message.max.bytes", "500"),
        (BROKER, "", VERIFICATION, "false"),
        (GROUP, "readers", "consumer.session.timeout.ms", "9000"),
    ],
)
def test_no_other_config_is_changed(
    kind: int, name: str, config: str, value: str, tmp_path: Path
) -> None:
    with Started(tmp_path) as running, Raw(running.address) as client:
        client.create("orders")
        before = describe(client, kind, name)
        told = alter(client, kind, name, (VERIFICATION, "true"), (config, value))
        assert told == ("policy_violation", ONLY_VERIFICATION.en)
        assert describe(client, kind, name) == before
        running.said(f"IncrementalAlterConfigs: {ONLY_VERIFICATION}")


def test_a_group_has_no_configs(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        assert describe(client, GROUP, "readers") == (NO_SUCH_CONFIGS, {})


def test_a_broker_shows_what_acts_and_verification_stays_as_it_was_set(tmp_path: Path) -> None:
    """Spark's job asks a broker for the stamps that it takes."""
    acting = {configs_of("topic")[name].broker_name for name in ACTING}
    with serve(data_dir=tmp_path) as running:
        with Raw(running.address) as client:
            _, found = describe(client, BROKER, "1")
            assert set(found) == acting | {VERIFICATION, "min.insync.replicas"}
            assert found["log.message.timestamp.after.max.ms"] == "3600000"
            assert alter(client, BROKER, "1", (VERIFICATION, "maybe"))[0] == "invalid_request"
            assert alter(client, BROKER, "1", (VERIFICATION, None))[0] == "invalid_request"
            assert alter(client, BROKER, "1", (VERIFICATION, "false")) == ("none", "")
        running.restart()
        with Raw(running.address) as client:
            assert describe(client, BROKER, "1")[1][VERIFICATION] == "false"
