"""Damage in a real RocketMQ, kept as data: what `mqlab inspect rocketmq` is tried on.

    python -m tests.inspect.damage_rocketmq 5.5.0      each version: about 70 s

The rounds of its check are ours: a half is parked, one has one check left, one's producer has
gone, a message is a dead letter, and a group has not read for a minute. Then it is killed; its
store folder is kept, without the zeros that files are filled with.
"""

from __future__ import annotations

import io
import sys
import tarfile
import time
from pathlib import Path

from mqlab.real.rocketmq.broker import RealRocketMQ
from mqlab.rocketmq.remoting import RequestCode, encode_json
from tests.oracle.rocketmq.client import COMMIT, PROFILES, ROLLBACK, SETTLE_S, Lab, Producer, Target

FOLDER = Path(__file__).parent / "data"
#: what a reader takes to be of the moment (judge.OLD_MS), and a little
A_MINUTE_S = 62
BILLING = "billing"


def open_lab(rocketmq: RealRocketMQ) -> Lab:
    profile = PROFILES["5.5" if rocketmq.version.startswith("5") else "4.9"]
    return Lab(Target("rocketmq", rocketmq.address, rocketmq, rocketmq.version), profile)


def round_of(rocketmq: RealRocketMQ) -> None:
    time.sleep(SETTLE_S)
    rocketmq.round(0)


def damage(lab: Lab, rocketmq: RealRocketMQ) -> Producer:
    """Five of the findings, in one broker. The producer that is there; its connection must live."""
    lab.topic("orders")
    there, ghost = Producer(lab), Producer(lab, "ghost", "ghost-service")
    there.start()
    ghost.start()
    there.end(there.send("orders-0", "paid"), COMMIT)
    there.end(there.send("orders-0", "cancelled"), ROLLBACK)
    rocketmq.write_ops()
    there.send("orders-0", "given-up")
    for _ in range(2):
        round_of(rocketmq)
    there.send("orders-0", "one-left")
    for _ in range(2):
        round_of(rocketmq)
    ghost.send("orders-0", "abandoned")
    ghost.leave()
    lab.ask(
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        encode_json({"groupName": BILLING, "consumeEnable": True, "retryQueueNums": 1,
                     "retryMaxTimes": 16, "consumeFromMinEnable": True}),
    )  # fmt: skip
    dead = there.send("orders-0", "poisoned", half=False)
    assert lab.wait_until(lambda: len(lab.pull("orders", 0, 1)) == 1)  # dispatched
    lab.ask(
        RequestCode.CONSUMER_SEND_MSG_BACK, offset=dead.physical_offset, group=BILLING,
        delayLevel=-1, originMsgId="", originTopic="orders", unitMode=False, maxReconsumeTimes=16,
    )  # fmt: skip
    lab.ask(
        RequestCode.UPDATE_CONSUMER_OFFSET, consumerGroup=BILLING, topic="orders", queueId=0,
        commitOffset=1,
    )  # fmt: skip
    return there


def keep(rocketmq: RealRocketMQ, path: Path) -> None:
    """Its store and broker.conf, as a tar of files without the zeros at their ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    home = rocketmq.folder
    files = [f for f in sorted(home.rglob("*")) if f.is_file() and f.parts[-2] != "rocksdbstore"]
    with tarfile.open(path, "w:xz") as tar:
        for file in files:
            name = file.relative_to(home).as_posix()
            parts = name.split("/")
            if parts[:2] not in (["store", "commitlog"], ["store", "consumequeue"],
                                 ["store", "config"], ["store", "checkpoint"],
                                 ["broker.conf"]):  # fmt: skip
                continue
            data = file.read_bytes()
            if {"commitlog", "consumequeue"} & {*parts}:
                data = data.rstrip(b"\0") + bytes(64)
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def main() -> None:
    for version in sys.argv[1:]:
        with RealRocketMQ(version) as rocketmq:
            lab = open_lab(rocketmq)
            damage(lab, rocketmq)
            time.sleep(A_MINUTE_S)
            Producer(lab, "clock").send("orders-0", "a minute later", half=False)
            time.sleep(1)
            rocketmq.persist()
            rocketmq.kill()
            keep(rocketmq, FOLDER / f"rocketmq-{version}" / "damaged.tar.xz")
            lab.close()


if __name__ == "__main__":
    main()
