"""Damaged data folders: what a stop leaves is put aside, everything else is refused untouched."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel import Append, Put
from mqlab.serve.adapter import Adapter
from mqlab.serve.disk import Effect
from mqlab.serve.driver import Driver
from mqlab.serve.journal import FRAME, SECTOR, Journal, JournalError, pack_frame, write_head
from mqlab.serve.salvage import salvage
from tests.serve.toy import TOY, Note

HEAD = write_head("toy")
EFFECTS: list[Effect] = [
    Put("lamps", "hall", 1),
    *(Append("notes", Note(i, f"note {i} " * 20)) for i in range(5)),
    Put("lamps", "hall", None),
    Append("notes", Note(5, "the last")),
]


def write(folder: Path, adapter: Adapter = TOY, effects: list[Any] = EFFECTS) -> bytes:
    """A journal of these effects; its bytes."""
    journal = Journal(folder, adapter)
    list(journal.replay())
    for effect in effects:
        journal.note(effect)
    journal.write()
    journal.close()
    return (folder / "journal").read_bytes()


def replay(folder: Path, adapter: Adapter = TOY) -> list[str]:
    """Its effects in words. Raises JournalError."""
    journal = Journal(folder, adapter)
    try:
        return [str(effect) for effect in journal.replay()]
    finally:
        journal.close()


def starts_of(data: bytes) -> list[int]:
    """Where its frames begin."""
    starts, at = [], data.index(b"\n") + 1
    while at < len(data):
        starts.append(at)
        at += FRAME.size + FRAME.unpack_from(data, at)[0]
    return starts


def check_every_flip(folder: Path, adapter: Adapter, effects: list[Any]) -> None:
    """A flipped bit anywhere is refused, and nothing is touched."""
    whole = write(folder, adapter, effects)
    path = folder / "journal"
    starts = starts_of(whole)
    assert len(starts) == len(effects) and len(whole) > 2 * SECTOR
    for at in range(starts[0], len(whole)):
        # every bit of every head; of bodies, whose checksum sees any, one bit a byte
        frame = max(start for start in starts if start <= at)
        for bit in range(8) if at - frame < FRAME.size else (at % 8,):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(JournalError, match=rf"entry at byte {frame} is damaged"):
                replay(folder, adapter)
            assert path.read_bytes() == damaged, (at, bit)
    assert [p.name for p in folder.iterdir()] == ["journal"]


def test_a_flipped_bit_anywhere_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    check_every_flip(tmp_path, TOY, EFFECTS)


def test_an_unfinished_turn_is_kept_beside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = write(tmp_path)
    path, starts = tmp_path / "journal", starts_of(whole)
    everything = replay(tmp_path)
    for cut in range(starts[-2] + 1, len(whole)):
        last = max(start for start in starts if start <= cut)
        path.write_bytes(whole[:cut])
        caplog.clear()
        assert replay(tmp_path) == everything[: starts.index(last)]
        assert path.read_bytes() == whole[:last]
        kept = [p for p in tmp_path.iterdir() if p != path]
        torn = whole[last:cut]
        assert [p.read_bytes() for p in kept] == ([torn] if torn.strip(b"\0") else [])
        for one in kept:
            assert f"cut off {cut - last} bytes" in caplog.text and one.name in caplog.text
            assert "If only the server was killed, nobody was told about them" in caplog.text
            one.unlink()


def test_what_was_put_aside_is_never_overwritten(tmp_path: Path) -> None:
    whole = write(tmp_path)
    last = starts_of(whole)[-1]
    for length in (9, 10):
        (tmp_path / "journal").write_bytes(whole[: last + length])
        replay(tmp_path)
    aside = sorted(p for p in tmp_path.iterdir() if "torn" in p.name)
    assert [p.name for p in aside] == [f"journal.torn-{last}", f"journal.torn-{last}.2"]
    assert [len(p.read_bytes()) for p in aside] == [9, 10]


@pytest.mark.parametrize("zeros", [1, 7, 8, 9, 511, 4096, 70_000])
def test_zeros_behind_the_last_entry_are_cut_off_and_said_to_be_no_kills(
    tmp_path: Path, zeros: int, caplog: pytest.LogCaptureFixture
) -> None:
    whole = write(tmp_path)
    everything = replay(tmp_path)
    (tmp_path / "journal").write_bytes(whole + bytes(zeros))
    assert replay(tmp_path) == everything
    assert (tmp_path / "journal").read_bytes() == whole
    assert [p.name for p in tmp_path.iterdir()] == ["journal"], "zeros need no keeping"
    assert f"cut off {zeros} zeros" in caplog.text and "nobody was told" not in caplog.text
    assert "answered requests may be lost, unless the server ran with --fsync" in caplog.text


def test_zeros_from_a_sector_on_are_a_power_cut(tmp_path: Path) -> None:
    """The file was made longer, and of its last turn only the first sectors reached the disk."""
    whole = write(tmp_path)
    everything, starts = replay(tmp_path), starts_of(whole)
    sector = len(whole) // SECTOR * SECTOR
    last = max(start for start in starts if start <= sector)
    (tmp_path / "journal").write_bytes(whole[:sector] + bytes(len(whole) - sector))
    assert replay(tmp_path) == everything[: starts.index(last)]


@pytest.mark.parametrize("size", [0, 1, 15])
def test_a_file_too_short_to_be_a_journal_is_left_alone(tmp_path: Path, size: int) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"x" * size)
    with pytest.raises(JournalError, match=f"holds {size} bytes, too few"):
        replay(tmp_path)
    assert path.read_bytes() == b"x" * size


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("dear diary")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "journal").symlink_to(tmp_path / "diary")
    with pytest.raises(JournalError, match="is a link"):
        replay(tmp_path / "data")
    assert (tmp_path / "diary").read_text() == "dear diary"


def test_an_entry_of_another_version_is_refused_in_words(tmp_path: Path) -> None:
    journal = Journal(tmp_path, TOY)
    list(journal.replay())
    journal.note(Put("lamps", "hall", 1))
    journal.write()
    journal._unwritten += pack_frame(b'J["fold","spindle"]')
    journal.write()
    journal.close()
    with pytest.raises(JournalError, match="another version of mqlab"):
        replay(tmp_path)


def test_what_can_be_done_names_the_broker_whose_journal_it_is(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    whole = write(old)
    damaged = bytearray(whole)
    damaged[starts_of(whole)[3] + FRAME.size + 5] ^= 1
    (old / "journal").write_bytes(damaged)
    with pytest.raises(JournalError, match=f"mqlab serve toy --data-dir {old} --salvage-to NEW"):
        replay(old)
    said = salvage(old, new, TOY)
    assert "holds 3 entries" in said and said.endswith(f"mqlab serve toy --data-dir {new}")
    assert replay(new) == [str(effect) for effect in EFFECTS[:3]]


@pytest.mark.parametrize("odd", ["doubled", "taken out", "moved"])
def test_entries_that_do_not_follow_one_another_are_refused_in_words(
    tmp_path: Path, odd: str
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    whole = write(old)
    starts = [*starts_of(whole), len(whole)]
    frames = [whole[a:b] for a, b in pairwise(starts)]
    order, misfit = {
        "doubled": ([0, 1, 2, 3, 3, 4, 5, 6, 7], 4),
        "taken out": ([0, 1, 2, 4, 5, 6, 7], 3),
        "moved": ([0, 1, 2, 4, 3, 5, 6, 7], 3),
    }[odd]
    damaged = HEAD + b"".join(frames[i] for i in order)
    (old / "journal").write_bytes(damaged)
    at = len(HEAD) + sum(len(frames[i]) for i in order[:misfit])
    journal = Journal(old, TOY)
    words = rf"the entry at byte {at} does not follow .* --salvage-to NEW"
    with pytest.raises(JournalError, match=words):
        Driver(TOY, lambda conn, number, body: None, journal).start()
    journal.close()
    assert (old / "journal").read_bytes() == damaged
    assert f"before byte {at}" in salvage(old, new, TOY)
    assert replay(new) == [str(EFFECTS[i]) for i in order[:misfit]]
