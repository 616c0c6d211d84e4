"""What an application may call on its producer, and what only a tester would."""

from __future__ import annotations

from ...kernel import frozen, worded


@frozen
class SendInTransaction:
    """sendMessageInTransaction: returns when the local transaction is over. `immunity`: the
    message's own CHECK_IMMUNITY_TIME_IN_SECONDS; `delay`: a delay level."""

    queue: str
    order: str
    immunity: str = ""
    delay: int = 0

    def __str__(self) -> str:
        more = f" immunity={self.immunity}" if self.immunity else ""
        more += f" delay={self.delay}" if self.delay else ""
        return f"send-in-transaction {self.queue} {self.order}{more}"


@frozen
class SendPlain:
    """send: an ordinary message, outside any transaction"""

    queue: str
    order: str
    delay: int = 0

    def __str__(self) -> str:
        more = f" delay={self.delay}" if self.delay else ""
        return f"send {self.queue} {self.order}{more}"


@frozen
class SetListener:
    """setTransactionListener, with a listener that only says what it is told"""

    execute: str
    checks: tuple[str, ...]

    def __str__(self) -> str:
        return f"listener {' '.join((self.execute, *self.checks))}"


@frozen
class End:
    """A raw EndTransaction, as no client library sends it: late, twice, or with something wrong
    in it. It waits for the answer that real clients do not ask for. `queue_offset` and
    `commit_log_offset` None: as the broker said when the half was stored."""

    end: str
    order: str
    group: str = ""
    queue_offset: int | None = None
    commit_log_offset: int | None = None
    from_check: bool = False

    def __str__(self) -> str:
        given = (
            ("group", self.group or None),
            ("queue_offset", self.queue_offset),
            ("commit_log_offset", self.commit_log_offset),
            ("from_check", 1 if self.from_check else None),
        )
        more = "".join(f" {name}={value}" for name, value in given if value is not None)
        return f"end {self.end} {self.order}{more}"


@worded("resume {commit_log_offset}")
class Resume:
    """resumeCheckHalfMessage: an operator takes a parked half back"""

    commit_log_offset: int
