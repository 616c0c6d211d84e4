"""A slave that serves while its master is down: what it answers, and from where consumers go on."""

from __future__ import annotations

import pytest

from mqlab.kernel import Caller, Map, Reply, Request
from mqlab.recordings.recording import load_recordings
from mqlab.rocketmq.evidence import VERSIONS
from mqlab.rocketmq.group import (
    ConsumerSendMsgBack,
    PullMessage,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqlab.rocketmq.messages import EndTransaction, Message, SendMessage
from tests.rocketmq.driven import drive, results, rows

BOTH = pytest.mark.parametrize("release", VERSIONS)
QUERY = "QueryConsumerOffset shop orders-0"
#: what the recorded client asked of the slave
ASKED = {
    "PullMessage orders-0@0": PullMessage("shop", "orders-0", 0),
    "PullMessage orders-0@9": PullMessage("shop", "orders-0", 9),
    "ConsumerSendMsgBack o2 level=0": ConsumerSendMsgBack("stock", 1),
    "SendMessage orders-0 o3": SendMessage(Message("orders", 0, "o3"), "app"),
    "EndTransaction COMMIT h1": EndTransaction("app", 8, 0, 0, False, False),
    "UpdateConsumerOffset shop orders-0@2": UpdateConsumerOffset("shop", "orders-0", 2),
    QUERY: QueryConsumerOffset("shop", "orders-0"),
}  # fmt: skip
SENT = ("run app: send orders-0 o1", "run shop: consume", "fire slave synchronize")
CRASHED = ("run app: send orders-0 o2", "fire broker persist offsets", "kill broker")
TURN, BACK = "run shop: consume", "restart broker"
DOWN = (*SENT, *CRASHED, TURN)


def on(release: str, *lines: str, more: str = ""):
    """A run with a slave from which consumers read."""
    options = f"release={release} slave=read consumers=shop:shop,twin:shop {more}"
    return drive("\n".join((f"system rocketmq {options}", *lines)))


def offset(run, node: str) -> int:
    """The group's, as this broker has it."""
    return run.world.role(node).offsets["orders-0@shop"]


def recorded(release: str, to: str) -> list[tuple[str, str]]:
    """What a real broker was asked in the recording, and answered."""
    told = load_recordings(f"rocketmq-{VERSIONS[release]}")[f"{release}/slave-reads"]
    return [(o.asked, o.answered) for o in told.observations if o.to == to]


@BOTH
def test_it_answers_as_the_real_one(release):
    run = on(release, *SENT, *CRASHED)
    slave, disk = run.world.role("slave"), run.world.disk("slave")
    (begin, *more, end) = recorded(release, "slave")
    assert (begin[0], end[0]) == (QUERY, QUERY)
    for asked, answered in [begin, *more]:
        slave, effects = slave.step(Request(Caller("client"), ASKED[asked]), disk)
        said = [str(effect.body) for effect in effects if isinstance(effect, Reply)]
        assert said == ([] if asked.startswith("Update") else [answered])


@BOTH
def test_the_next_copy_turns_it_back_to_what_the_master_knows(release):
    run = on(release, *DOWN, "kill shop", BACK)
    assert (offset(run, "broker"), offset(run, "slave")) == (1, 2)
    assert recorded(release, "broker")[-1] == (QUERY, "orders-0@1")
    assert offset(on(release, *DOWN, "kill shop", BACK, "fire slave synchronize"), "slave") == 1
    assert recorded(release, "slave")[-1] == (QUERY, "orders-0@1")


def test_who_runs_on_reports_to_the_master_and_who_restarts_gets_it_again():
    again = on("4.9", *DOWN, "kill shop", BACK, "run twin: consume")
    assert results(again, "twin") == ["ok o2"]
    once = on("4.9", *DOWN, BACK, TURN, "kill shop", "run twin: consume")
    assert results(once, "twin") == ["ok nothing"]


def test_a_pull_that_the_master_does_not_answer_goes_to_the_slave():
    held = "hold shop→broker PullMessage#3"
    run = on("5.5", *SENT, "run app: send orders-0 o2", held, TURN, "kill broker")
    assert results(run, "shop") == ["ok o1", "ok o2"]
    assert offset(run, "slave") == 2


def test_the_slave_keeps_its_offsets():
    run = on("5.5", *DOWN, "fire slave persist offsets", "kill slave", "restart slave")
    assert offset(run, "slave") == 2


def test_what_it_does_not_take_back_stays_with_the_consumer():
    down = (*SENT, *CRASHED, "run shop: consume later o2")
    run = on("5.5", *down)
    assert results(run, "shop") == ["ok o1", "ok o2 not taken back"]
    assert offset(run, "slave") == 1
    done = on("5.5", *down, "run shop: done o2")
    assert rows(done, "shop", "applied") == {"o1": 1, "o2": 1}
    assert offset(done, "slave") == 2
    # consumeTimeout: the slave refuses it once more, its master takes it
    clean = "fire shop clean expired"
    refused = on("5.5", *down, clean)
    assert offset(refused, "slave") == 1
    assert offset(on("5.5", *down, clean, BACK, TURN, clean), "broker") == 2


def test_in_broadcasting_mode_the_offsets_are_the_consumers_own():
    lines = (*SENT, "run app: send orders-0 o2", "kill broker", TURN, BACK, TURN)
    run = on("5.5", *lines, more="model=broadcasting")
    assert results(run, "shop") == ["ok o1", "ok o2", "ok nothing"]


def test_where_nobody_is_there_a_turn_waits():
    gone = (*SENT, *CRASHED, "kill slave", TURN)
    assert results(on("5.5", *gone), "shop") == ["ok o1"]
    assert results(on("5.5", *gone, BACK), "shop") == ["ok o1", "ok o2"]


def test_a_name_server_that_starts_again_hears_who_is_there():
    down = (*SENT, "kill names", TURN)
    assert results(on("5.5", *down), "shop") == ["ok o1"]
    run = on("5.5", *down, "restart names", *CRASHED, TURN)
    assert results(run, "shop") == ["ok o1", "ok nothing", "ok o2"]
    assert run.world.role("names").brokers == Map([("slave", 1)])


def test_a_slave_without_its_master_asks_nothing():
    run = on("5.5", *DOWN, "fire slave synchronize", "fire slave synchronize")
    asked = [fact for fact in run.trace.facts if "GetAllConsumerOffset" in fact.text.en]
    assert len(asked) == 1
