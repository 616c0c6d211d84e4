"""Whose data folder it is: each broker opens its own, and says whose another one is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel import Put
from mqlab.serve.adapter import Adapter
from mqlab.serve.journal import OLDER, Journal, JournalError, write_head
from mqlab.serve.kafka import adapter as kafka
from mqlab.serve.kafka.front.topic import Topic as KafkaTopic
from mqlab.serve.pulsar import adapter as pulsar
from mqlab.serve.pulsar.front.topics import TopicRow
from mqlab.serve.rocketmq import adapter as rocketmq
from mqlab.serve.rocketmq.front.topics import Topic as RocketMQTopic
from mqlab.serve.salvage import salvage

ADAPTERS: dict[str, Callable[[], Adapter]] = {
    "kafka": kafka.make_adapter,
    "rocketmq": rocketmq.make_adapter,
    "pulsar": pulsar.make_adapter,
}
#: a folder that holds topics and nothing else
TOPICS: dict[str, Any] = {
    "kafka": KafkaTopic("orders", 2, "6e1ab1d4-1b5a-4a6e-9f5b-0d6b6f0f3c57"),
    "rocketmq": RocketMQTopic("orders", 2, 2),
    "pulsar": TopicRow("persistent://public/default/orders", 3),
}


def write(folder: Path, name: str, older: bool = False) -> bytes:
    """A data folder of this broker, with one topic; its journal."""
    journal = Journal(folder, ADAPTERS[name]())
    list(journal.replay())
    journal.note(Put("topics", "orders", TOPICS[name]))
    journal.write()
    journal.close()
    data = (folder / "journal").read_bytes()
    if older:
        data = OLDER + data.removeprefix(write_head(name))
        (folder / "journal").write_bytes(data)
    return data


def read(folder: Path, name: str) -> list[Any]:
    journal = Journal(folder, ADAPTERS[name]())
    try:
        return list(journal.replay())
    finally:
        journal.close()


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("name", ADAPTERS)
def test_each_broker_opens_its_own_folder(tmp_path: Path, name: str, older: bool) -> None:
    write(tmp_path, name, older)
    assert read(tmp_path, name) == [Put("topics", "orders", TOPICS[name])]


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_empty_folder_is_begun(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name) == []
    assert (tmp_path / "journal").read_bytes() == write_head(name)
    assert read(tmp_path, name) == []


@pytest.mark.parametrize(("owner", "other"), [*permutations(ADAPTERS, 2)])
def test_another_brokers_folder_is_named_and_left_as_it_is(
    tmp_path: Path, owner: str, other: str
) -> None:
    whole = write(tmp_path, owner)
    said = f"data folder of another broker, {owner}, .*another folder for {other}"
    with pytest.raises(JournalError, match=said):
        read(tmp_path, other)
    with pytest.raises(JournalError, match=said):
        salvage(tmp_path, tmp_path / "new", ADAPTERS[other]())
    assert (tmp_path / "journal").read_bytes() == whole


@pytest.mark.parametrize(("owner", "other"), [*permutations(ADAPTERS, 2)])
def test_an_older_folder_of_another_broker_is_refused_too(
    tmp_path: Path, owner: str, other: str
) -> None:
    """Its head names nobody: the topics do not fit."""
    whole = write(tmp_path, owner, older=True)
    with pytest.raises(JournalError, match="another version of mqlab, or for another broker"):
        read(tmp_path, other)
    assert (tmp_path / "journal").read_bytes() == whole
