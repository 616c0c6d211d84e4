"""The admin interface beside what a real Pulsar 4.2.4 has answered to the same requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqlab.pulsar.unserved import NOT_FOR_CLIENTS, OTHERWISE, UNSERVED, UNTOLD, WHY
from mqlab.serve import BrokerError, RunningBroker
from mqlab.serve.pulsar import serve
from tests.oracle.pulsar.differences import PAGE
from tests.serve.pulsar.administration import RECORDED, Told, read_rows, tell
from tests.serve.pulsar.raw import Raw, ask_admin
from tests.serve.started import Started

OTHERWISE_SAID = [(field, why) for _, field, why in OTHERWISE]


@pytest.fixture(scope="module")
def told() -> Iterator[list[list[Any]]]:
    with serve() as fresh:
        yield tell(fresh.address, fresh.address)


def find_differences(path: str, real: Any, ours: Any) -> Iterator[str]:
    """Where `ours` says something else, or less."""
    if isinstance(real, dict) and isinstance(ours, dict):
        yield from (f"{path}.{name}: only ours" for name in ours.keys() - real.keys())
        for name in real:
            if name in ours:
                yield from find_differences(f"{path}.{name}", real[name], ours[name])
            else:
                yield f"{path}.{name}: not told"
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for number, (one, other) in enumerate(zip(real, ours, strict=True)):
            yield from find_differences(f"{path}[{number}]", one, other)
    elif real != ours:
        yield f"{path}: {real!r}, ours {ours!r}"


def expected(asked: str, difference: str) -> bool:
    """What stands in a table; of transactions, but for their ledgers, everything is told."""
    name, _, what = difference.rpartition(": ")
    if what == "not told" and ("/v3/" not in asked or "InternalStats" in asked):
        if name.rpartition(".")[2] in UNTOLD:
            return True
    return any(part in asked and field in difference for part, field, _ in OTHERWISE)


def test_every_answer_is_that_of_a_real_broker(told: list[list[Any]]) -> None:
    wrong = []
    for (asked, status, answer), (again, now, ours) in zip(read_rows(RECORDED), told, strict=True):
        assert asked.split()[0] == again.split()[0]
        if status != now:
            wrong.append(f"{asked}: {status} {answer}, ours {now} {ours}")
            continue
        wrong += [
            f"{asked}{difference}"
            for difference in find_differences("", answer, ours)
            if not expected(asked, difference)
        ]
    assert not wrong, "\n".join(wrong)


TOPIC, TXN = "/admin/v2/persistent/public/default/t", "/admin/v3/transactions"
NOT_SERVED = (
    ("GET", "/admin/v2/non-persistent/public/default/t/stats"),
    ("GET", "/admin/v2/clusters"),
    ("GET", "/admin/v2/tenants/public"),
    ("PUT", "/admin/v2/tenants/mine"),
    ("GET", "/admin/v2/namespaces/public"),
    ("DELETE", "/admin/v2/namespaces/public/mine"),
    ("GET", f"{TOPIC}/subscription/s/position/1"),
    ("POST", f"{TOPIC}/subscription/s/analyzeBacklog"),
    ("POST", f"{TOPIC}/subscription/s/skip/1"),
    ("POST", f"{TOPIC}/subscription/s/skip_all"),
    ("GET", f"{TOPIC}/lastMessageId"),
    ("POST", f"{TOPIC}/partitions"),
    ("GET", f"{TXN}/transactionBufferInternalStats/public/default/t"),
    ("GET", f"{TXN}/pendingAckInternalStats/public/default/t/s"),
    ("POST", f"{TXN}/transactionCoordinator/replicas"),
    ("POST", f"{TOPIC}/terminate"),
    ("PUT", f"{TOPIC}/compaction"),
    ("POST", f"{TOPIC}/all_subscription/expireMessages/5"),
    ("GET", f"{TOPIC}/partitioned-stats"),
    ("POST", "/admin/v2/namespaces/public/default/deduplication"),
    ("POST", f"{TOPIC}/deduplicationEnabled"),
    ("POST", "/admin/v2/namespaces/public/default/retention"),
    ("GET", f"{TOPIC}/retention"),
    ("GET", "/admin/v2/schemas/public/default/t/schema"),
    ("GET", "/admin/v2/brokers/health"),
    ("GET", "/admin/v3/functions/public/default"),
    ("GET", "/lookup/v2/topic/persistent/public/default/t"),
)


def find_sentence(method: str, path: str) -> str:
    return next(s for m, p, s in UNSERVED if m in (method, "") and p.fullmatch(path))


def test_what_is_not_served_says_so_and_the_log_too(tmp_path: Path) -> None:
    with Started(tmp_path, broker="pulsar") as running:
        it = Told(running.address, running.address)
        for method, path in NOT_SERVED:
            sentence = WHY.format(what=find_sentence(method, path))
            status, told, _ = it.http(method, path)
            assert (status, told) == (501, {"reason": sentence}), path
        method, path = NOT_SERVED[0]
        running.said(f"{method} {path}", WHY.format(what=find_sentence(method, path)))


def test_each_row_of_what_is_not_served_is_asked_for() -> None:
    found = {find_sentence(method, path) for method, path in NOT_SERVED}
    assert found == {sentence for _, _, sentence in UNSERVED}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/admin/v2/nonsense"), ("PATCH", f"{TXN}/coordinators")]
)
def test_a_path_that_nobody_knows_is_not_found(
    broker: RunningBroker, method: str, path: str
) -> None:
    status, told, _ = Told(broker.address, broker.address).http(method, path)
    assert status == 404 and "serve" in told["reason"]


def test_each_refusal_stands_on_the_page_of_differences() -> None:
    text = PAGE.read_text("utf-8")
    for what, words in (*NOT_FOR_CLIENTS, *OTHERWISE_SAID):
        assert what in text and words in text, what
    assert all(f"| administration: {what} | 501 |" in text for _, _, what in UNSERVED)
    assert all(name in text for name in UNTOLD)


def test_a_client_is_refused_in_the_words_of_the_page(client: Raw, topic: str) -> None:
    short_lived = client.produce(topic.replace("persistent", "non-persistent"), 1).body
    assert [short_lived.message] == [words for _, words in NOT_FOR_CLIENTS]


def test_several_coordinators_are_told_as_a_map() -> None:
    with serve(coordinators=3) as several:
        path = "/admin/v3/transactions/coordinatorStats"
        assert [row["id"] for row in ask_admin(several.address, "GET", path[:-5] + "s")[1]] == [
            0, 1, 2,
        ]  # fmt: skip
        with Raw(several.address) as client:
            assert ask_admin(several.address, "GET", path)[0] == 500, "none is loaded"
            for tc_id in range(3):
                client.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=tc_id)
            body = client.ask("NEW_TXN", txn_ttl_millis=60_000, tc_id=2).body
            assert (body.txnid_most_bits, body.txnid_least_bits) == (2, 0)
        told = ask_admin(several.address, "GET", path)[1]
        assert {tc_id: facts["ongoingTxnSize"] for tc_id, facts in told.items()} == {
            "0": 0, "1": 0, "2": 1,
        }  # fmt: skip
        slow = ask_admin(several.address, "GET", "/admin/v3/transactions/slowTransactions/1")[1]
        assert list(slow) == ["(2,0)"]


def test_a_folder_keeps_the_number_of_its_coordinators(tmp_path: Path) -> None:
    with serve(coordinators=2, data_dir=tmp_path) as several, Raw(several.address) as client:
        client.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=1)
        assert client.ask("NEW_TXN", txn_ttl_millis=60_000, tc_id=1).body.txnid_most_bits == 1
    with pytest.raises(BrokerError, match="--coordinators 2"):
        serve(data_dir=tmp_path)
    with serve(coordinators=3, data_dir=tmp_path) as more, Raw(more.address) as client:
        client.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=1)
        path = "/admin/v3/transactions/transactionMetadata/1/0"
        assert ask_admin(more.address, "GET", path)[1]["status"] == "OPEN"
