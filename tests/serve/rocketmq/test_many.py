"""A request that names twice as many things takes twice as much work, not four times."""

from __future__ import annotations

import pytest

from mqlab.rocketmq.remoting import RequestCode
from mqlab.serve.rocketmq.wire.requests import READERS
from tests.serve.many import HASHED, WALK, check_growth
from tests.serve.rocketmq.many import CASES, prepare

#: requests that name at most one thing, or nothing that work is done for
SINGLE = {
    "SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_REPLY_MESSAGE", "SEND_REPLY_MESSAGE_V2",
    "CONSUMER_SEND_MSG_BACK", "END_TRANSACTION", "RESUME_CHECK_HALF_MESSAGE", "PULL_MESSAGE",
    "LITE_PULL_MESSAGE", "QUERY_CONSUMER_OFFSET", "UPDATE_CONSUMER_OFFSET", "UNREGISTER_CLIENT",
    "CHECK_CLIENT_CONFIG", "GET_ROUTEINFO_BY_TOPIC",
    "GET_BROKER_CLUSTER_INFO", "UPDATE_AND_CREATE_TOPIC", "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP",
    "GET_MAX_OFFSET", "GET_MIN_OFFSET", "GET_EARLIEST_MSG_STORETIME", "SEARCH_OFFSET_BY_TIMESTAMP",
    "QUERY_MESSAGE", "VIEW_MESSAGE_BY_ID", "GET_TOPICS_BY_CLUSTER", "GET_TOPIC_CONFIG",
    "VIEW_BROKER_STATS_DATA", "GET_BROKER_CONFIG", "GET_BROKER_RUNTIME_INFO",
    "DELETE_TOPIC_IN_NAMESRV", "DELETE_SUBSCRIPTIONGROUP",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_as_what_is_named(name: str) -> None:
    walks = name.startswith(("GET_", "QUERY_"))
    check_growth(prepare, name, WALK if walks else HASHED)


def test_every_request_that_names_many_is_measured() -> None:
    named = {name.split(",")[0] for name in CASES}
    names = [RequestCode(code).name for code in READERS]
    assert [name for name in names if name not in named | SINGLE] == []
