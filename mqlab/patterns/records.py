"""What the logs of all models hold, and how a role writes it so that it survives anything."""

from __future__ import annotations

from collections.abc import Iterator

from ..kernel import Append, Disk, Effects, Flush, Single, frozen, phrase_word


@frozen
class Record(Single):
    """One entry of a log: what has become of which transaction."""

    what: str
    txn: str
    base: int
    more: str = ""

    @property
    def key(self) -> str:
        return self.what

    def __str__(self) -> str:
        return f"{phrase_word(self.what)} {self.txn} {phrase_word(self.more)}".rstrip()


def write(disk: Disk, log: str, what: str, txn: str, more: str = "", behind: int = 0) -> Append:
    """An entry at the end of a log, after so many others (`behind`) that this step has written. It
    survives the end of the process, not a power cut."""
    return Append(log, Record(what, txn, disk.log(log).end + behind, more), notify=False)


def force(disk: Disk, log: str, what: str, txn: str, more: str = "", behind: int = 0) -> Effects:
    """The same, and the step goes on only when the entry survives a power cut too: literature
    calls that a forced write."""
    return write(disk, log, what, txn, more, behind), Flush()


def read_records(disk: Disk, log: str) -> Iterator[Record]:
    """Every entry of a log, oldest first."""
    yield from disk.log(log).read(0)


def read_latest(disk: Disk, log: str) -> dict[str, Record]:
    """The last entry of each transaction."""
    return {record.txn: record for record in read_records(disk, log)}
