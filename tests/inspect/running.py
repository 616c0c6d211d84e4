"""`mqlab inspect` on brokers that run: real ones, and this project's own Pulsar with the real
client. They need Maven; `make real` runs this."""

from __future__ import annotations

import base64
import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest

import mqlab.real.rocketmq.broker as real
from mqlab.inspect import Ask, Unreadable
from mqlab.inspect.rocketmq import remote
from mqlab.inspect.rocketmq.halves import ROCKSDB_HALF
from mqlab.inspect.show import write_page
from mqlab.real.rocketmq.broker import RealRocketMQ
from mqlab.rocketmq.config import HALF_TOPIC
from mqlab.rocketmq.remoting import RemotingCommand, RequestCode, encode_command
from mqlab.serve.process import start_broker
from tests.oracle.pulsar.driver import JavaDriver
from tests.oracle.rocketmq.client import COMMIT, Lab, Producer

from . import test_rocketmq
from .damage_pulsar import VERSIONS, Scene, hold_open, scene
from .damage_rocketmq import damage, open_lab, round_of
from .test_pulsar import BILLING, MINUTES_LATER, ORDERS, found, read
from .test_rocketmq import DEAD, NEARLY, NOBODY, PARKED, STALLED, UNDECIDED

pytestmark = pytest.mark.needs("java")


def list_state(lab: Lab) -> list[bytes]:
    """Topics, groups and positions of a broker; 5.x also notes, in memory only, how far anybody has
    pulled."""
    codes: tuple[Any, ...] = (RequestCode.GET_ALL_TOPIC_CONFIG, 201, 43)
    bodies = [lab.ask(code).body for code in codes]
    return [body.partition(b',"pullOffsetTable"')[0] for body in bodies]


@pytest.mark.parametrize("version", test_rocketmq.VERSIONS)
def test_a_running_broker_is_read_and_not_changed(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of 4.9 from whose own topics nobody may pull, as they come."""
    monkeypatch.setattr(real, "TOPICS", '{"topicConfigTable":{}}')
    with RealRocketMQ(version, {"transactionTimeOut": "100"}) as rocketmq:
        lab = open_lab(rocketmq)
        there = damage(lab, rocketmq)
        time.sleep(0.3)
        before = list_state(lab)
        report = test_rocketmq.read(rocketmq.address)
        assert list_state(lab) == before
        assert test_rocketmq.found(report) == {
            PARKED: "order-service", NEARLY: "order-service", NOBODY: "ghost-service",
            DEAD: "%DLQ%billing",
        }  # fmt: skip
        assert report.reading.gaps == ()
        there.leave()
        time.sleep(0.3)
        report = test_rocketmq.read(rocketmq.address)
        nobody = [f.where for f in report.findings if f.kind.name == NOBODY]
        assert nobody == ["ghost-service", "order-service"]
        lab.close()


@pytest.mark.parametrize("version", test_rocketmq.VERSIONS)
def test_a_slave_does_not_check(version: str) -> None:
    with RealRocketMQ(version, {"transactionCheckInterval": "1000"}) as rocketmq:
        lab = open_lab(rocketmq)
        lab.topic("orders")
        producer = Producer(lab)
        producer.end(producer.send("orders-0", "paid"), COMMIT)
        rocketmq.write_ops()
        round_of(rocketmq)
        assert test_rocketmq.found(test_rocketmq.read(rocketmq.address)) == {}
        producer.send("orders-0", "unpaid")
        rocketmq.persist()
        lab.close()
        rocketmq.kill()
        conf = rocketmq.folder / "broker.conf"
        conf.write_text(conf.read_text().replace("brokerId=0", "brokerId=1\nbrokerRole=SLAVE"))
        rocketmq.start()
        time.sleep(5)
        report = test_rocketmq.read(rocketmq.address)
        assert test_rocketmq.found(report) == {
            STALLED: HALF_TOPIC, NOBODY: "order-service", UNDECIDED: "order-service"
        }  # fmt: skip


#: of an access list of 4.9: who may read, and nothing else
READER = """\
accounts:
- {accessKey: reader01, secretKey: "12345678", whiteRemoteAddress: "", admin: false,
   defaultTopicPerm: SUB, defaultGroupPerm: SUB}
"""
USER = '"reader01", "%s": "12345678"}'
AUTH = "org.apache.rocketmq.auth.authentication.provider"
GUARDED = {
    "4.9.7": {"aclEnable": "true"},
    "5.5.0": {
        "authenticationEnabled": "true",
        "authenticationProvider": f"{AUTH}.DefaultAuthenticationProvider",
        "authenticationMetadataProvider": f"{AUTH}.LocalAuthenticationMetadataProvider",
        "initAuthenticationUser": '{"username": ' + USER % "password",
        "innerClientAuthenticationCredentials": '{"accessKey": ' + USER % "secretKey",
    },
}


def _refuse(address: str) -> str:
    """What is said of an address that cannot be read."""
    with pytest.raises(Unreadable) as refused:
        test_rocketmq.read(address)
    return str(refused.value)


@pytest.mark.parametrize("version", GUARDED)
def test_a_key_is_asked_for_and_that_of_a_reader_is_enough(version: str, tmp_path: Path) -> None:
    with RealRocketMQ(version, name_server=True) as rocketmq:
        said = f"is a name server; name one of its brokers: {rocketmq.address}"
        rocketmq.wait_until(lambda: said in _refuse(rocketmq.name_server), (), 30)
        lab = open_lab(rocketmq)
        lab.topic("orders")
        Producer(lab).send("orders-0", "unpaid")
        lab.close()
        rocketmq.kill()
        (rocketmq.folder / "conf" / "plain_acl.yml").write_text(READER)
        with open(rocketmq.folder / "broker.conf", "a") as conf:
            conf.writelines(f"{name}={value}\n" for name, value in GUARDED[version].items())
        rocketmq.start()
        with pytest.raises(Unreadable, match=r"refuses to be read.*(No accessKey|username)"):
            test_rocketmq.read(rocketmq.address)
        settings = tmp_path / "client.conf"
        settings.write_text("accessKey=reader01\nsecretKey=87654321\n")
        with pytest.raises(Unreadable, match="signature"):
            test_rocketmq.read(rocketmq.address, config=str(settings))
        settings.write_text("accessKey=reader01\nsecretKey=12345678\n")
        report = test_rocketmq.read(rocketmq.address, config=str(settings))
        assert [(t.name, t.state) for t in report.reading.txns] == [("app-unpaid", "half")]
        assert report.reading.gaps == ()


def test_a_user_who_may_only_receive_costs_panels_and_not_the_run(tmp_path: Path) -> None:
    """authorizationEnabled of 5.5.0: `viewer` has Sub alone, `looker` what the report names."""
    guard = {"authorizationEnabled": "true"}
    for name in ("Authorization", "AuthorizationMetadata"):
        provider = name[0].lower() + name[1:] + "Provider"
        where = AUTH.replace("authentication", "authorization")
        kind = name.replace("Authorization", "")
        guard[provider] = f"{where}.{'Local' if kind else 'Default'}Authorization{kind}Provider"
    with RealRocketMQ("5.5.0") as rocketmq:
        lab = open_lab(rocketmq)
        lab.topic("orders")
        Producer(lab).send("orders-0", "unpaid")
        lab.close()
        rocketmq.kill()
        with open(rocketmq.folder / "broker.conf", "a") as conf:
            settings = {**GUARDED["5.5.0"], **guard}
            conf.writelines(f"{name}={value}\n" for name, value in settings.items())
        rocketmq.start()
        client = tmp_path / "client.conf"
        client.write_text("accessKey=reader01\nsecretKey=12345678\n")  # who may do everything
        with remote.Broker(Ask(rocketmq.address, config=str(client))) as broker:
            for name, rights in (("viewer", ["Sub"]), ("looker", ["Sub", "Get", "List"])):
                tell_user(broker, name, rights)
        reports = {}
        for name in ("viewer", "looker"):
            client.write_text(f"accessKey={name}\nsecretKey=12345678\n")
            reports[name] = test_rocketmq.read(rocketmq.address, config=str(client))
        gaps = {str(gap.what): str(gap.why) for gap in reports["viewer"].reading.gaps}
        assert "needed are Sub, Get and List" in gaps["User:viewer"]
        assert gaps[HALF_TOPIC] == gaps["orders"] == "viewer may not read it"
        assert reports["looker"].reading.gaps == ()
        assert [t.name for t in reports["looker"].reading.txns] == ["app-unpaid"]


def tell_user(broker: remote.Broker, name: str, rights: list[str]) -> None:
    """AUTH_CREATE_USER and AUTH_CREATE_ACL, for which the reader has no words."""
    entries = [
        {"resource": on, "actions": rights, "decision": "Allow"}
        for on in ("Topic:*", "Group:*", "Cluster:*")
    ]
    user = {"username": name, "password": "12345678", "userType": "Normal", "userStatus": "enable"}
    acl = {"subject": f"User:{name}", "policies": [{"policyType": "CUSTOM", "entries": entries}]}
    rows = ((3001, user, {"username": name}), (3006, acl, {"subject": f"User:{name}"}))
    for code, body, told in rows:
        data, fields = json.dumps(body).encode(), {**told, "AccessKey": "reader01"}
        text = "".join(str(fields[key]) for key in sorted(fields)).encode() + data
        signed = base64.b64encode(hmac.digest(b"12345678", text, "sha1")).decode()
        command = RemotingCommand(code, {**fields, "Signature": signed}, data, 4711)
        broker._socket.sendall(encode_command(command))
        assert broker._hear().code == 0


QUEUES = {"storeType": "defaultRocksDB"}
HALVES_IN_ROCKSDB = {"transRocksDBEnable": "true", "transWriteOriginTransHalfEnable": "false"}


@pytest.mark.parametrize("settings", [QUEUES, HALVES_IN_ROCKSDB], ids=["queues", "halves"])
def test_what_is_in_rocksdb_is_told(settings: dict[str, str]) -> None:
    with RealRocketMQ("5.5.0", settings) as rocketmq:
        lab = open_lab(rocketmq)
        lab.topic("orders")
        Producer(lab).send("orders-0", "unpaid")
        running = [test_rocketmq.read(rocketmq.address)] * (settings is HALVES_IN_ROCKSDB)
        rocketmq.persist()
        lab.close()
        rocketmq.kill()
        for report in (*running, test_rocketmq.read(rocketmq.folder)):
            said = " ".join(test_rocketmq.failed(report))
            assert report.exit_code == 2 and "RocksDB" in said
            assert (ROCKSDB_HALF in said) == (settings is HALVES_IN_ROCKSDB)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_running_pulsar(version: str) -> None:
    with scene(version) as of:
        of("send p plain")
        of("begin done app 60000")
        of("send p paid txn=done")
        healthy = read(of.pulsar.admin)
        assert (found(healthy), healthy.reading.gaps) == ({}, ())
        of("commit done")
        hold_open(of)
        report = read(of.pulsar.admin, MINUTES_LATER)
        assert found(report) == {
            "held-back": ORDERS, "pending-ack": BILLING, "aborted-share": ORDERS
        }  # fmt: skip
        assert "unpaid" not in str(report) + write_page(report)
        shown = read(of.pulsar.admin, topic="orders", payloads=True)
        assert "unpaid" in {cell.label for log in shown.reading.logs for cell in log.cells}
        of("commit open")
        of("commit acks")
        of("reopen open")
        of.unload("orders")
        of("send p late txn=open")
        assert found(read(of.pulsar.admin))["hanging"] == ORDERS


def test_the_projects_own_pulsar() -> None:
    with (
        start_broker("pulsar", []) as server,
        JavaDriver(server.address, f"http://{server.address}", VERSIONS[0]) as driver,
    ):
        of = Scene(None, driver)  # type: ignore[arg-type]
        of("send p plain")
        assert found(read(server.address)) == {}
        hold_open(of)
        report = read(server.address, MINUTES_LATER)
        assert {"held-back", "pending-ack"} <= found(report).keys()
