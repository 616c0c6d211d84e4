"""Damaged data folders of Kafka: batches as they came are entries of their own form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.kafka.log import Batch
from mqlab.kernel import Append, Put
from mqlab.serve import BrokerError
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.home import make_home
from mqlab.serve.kafka.wire.records import parse_batch
from tests.serve.kafka.clients import create, producer, read, transaction
from tests.serve.kafka.raw import batch
from tests.serve.test_damage import check_every_flip, starts_of


def test_a_flipped_bit_anywhere_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    records = parse_batch(batch([b"a", b"bc" * 40])).records  # type: ignore[union-attr]
    effects = [
        Put("leadership", "epoch", 1),
        *(Append("t-0", Batch(records, count=2, base=2 * i)) for i in range(5)),
        Put("leadership", "epoch", 2),
        Append("t-0", Batch(records, count=2, base=10)),
    ]
    check_every_flip(tmp_path, make_home(), effects)


def test_a_server_refuses_it_and_what_is_before_the_damage_can_be_salvaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with serve(data_dir=old) as broker:
        create(broker.address, "t")
        who = producer(broker.address, "id")
        for i in range(20):
            transaction(who, "t", f"value {i}.")
        broker.stop()
        data = bytearray((old / "journal").read_bytes())
        data[data.index(b"value 10.")] ^= 4
        (old / "journal").write_bytes(data)
        with pytest.raises(BrokerError, match=r"journal: the entry at byte \d+ is damaged"):
            broker.restart()
    assert (old / "journal").read_bytes() == data
    asked = ["serve", "kafka", "--data-dir", str(old), "--salvage-to", str(new)]
    assert main(asked) == 0
    told = capsys.readouterr().out
    found = re.search(r"holds (\d+) entries, all before byte (\d+)", told)
    assert found is not None
    count, byte = map(int, found.groups())
    assert count == len(starts_of(data[:byte])) and (old / "journal").read_bytes() == data
    with serve(data_dir=new) as broker:
        producer(broker.address, "id")
        assert read(broker.address, "t") == [f"value {i}." for i in range(10)]
    assert main(asked) == 2, "a folder in use is not written to"
    assert "has a journal already" in capsys.readouterr().err
