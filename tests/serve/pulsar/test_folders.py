"""Data folders of versions that wrote a cursor in another form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqlab.kernel import Put, replace
from mqlab.pulsar.ledger import Cursor
from mqlab.serve.entries import Effect
from mqlab.serve.journal import Journal, read_effects
from mqlab.serve.pulsar import serve
from mqlab.serve.pulsar.home import ENTRIES, FORM, decode_effect, make_home
from tests.serve.pulsar.raw import INDIVIDUAL, Raw

TOPIC = "persistent://public/default/orders"


def write_single_positions(effect: Effect) -> bytes:
    """As before there were stretches: each acknowledged position by itself."""
    match effect:
        case Put(table=table, key=key, value=Cursor() as cursor):
            batches = [(at, cursor.acked_indexes(at)) for at, _ in cursor.batches]
            fields = [cursor.mark_delete, list(cursor.list_individual()), batches]
            return b"J" + json.dumps(["put", table, key, {"Cursor": fields}]).encode()
    return ENTRIES.encode(effect)


def test_a_folder_with_single_positions_opens_as_it_was_left(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.produce(TOPIC)
            sent = [client.send(t, sequence=n).body.message_id for n, t in enumerate("abcdef")]
            client.subscribe(TOPIC)
            client.receive(6)
            for at in (1, 2, 4):
                client.ask("ACK", consumer_id=0, ack_type=INDIVIDUAL, message_id=[sent[at]])
        broker.kill()
        effects = [effect for _, effect, _ in read_effects(tmp_path / "journal", ENTRIES)]
        old = replace(make_home(), entries=replace(ENTRIES, encode=write_single_positions))
        journal = Journal(tmp_path, old)
        journal.rewrite(effects)
        journal.close()
        assert b"[-1,[1,2,4]" in (tmp_path / "journal").read_bytes().replace(b" ", b"")
        broker.restart()
        with Raw(broker.address) as client:
            client.subscribe(TOPIC)
            assert client.receive(3) == ["a", "d", "f"]
            assert client.receive(1, 0.5) == []


@pytest.mark.parametrize(
    ("written", "stretches"),
    [([], ()), ([7], ((7, 7),)), ([4, 5, 7], ((4, 5), (7, 7))), ([[4, 5]], ((4, 5),))],
)
def test_a_cursor_of_either_form_is_read(
    written: list[object], stretches: tuple[tuple[int, int], ...]
) -> None:
    body = json.dumps(["put", "cursors", "billing", {"Cursor": [2, written, [[6, [0]]]]}])
    cursor = Cursor(2, stretches, ((6, ((0, 0),)),))
    read = decode_effect(b"J" + body.encode())
    assert read == Put("cursors", "billing", cursor)
    assert decode_effect(FORM.encode(read)) == read


@pytest.mark.parametrize("written", [[[4, "5"]], [4, [5, 6]], ["4"], [[4, 5, 6]], [[4]]])
def test_a_cursor_of_no_form_is_refused(written: list[object]) -> None:
    body = json.dumps(["put", "cursors", "billing", {"Cursor": [2, written, []]}])
    with pytest.raises((ValueError, TypeError)):
        decode_effect(b"J" + body.encode())
