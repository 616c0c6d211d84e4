"""What a scenario may ask of a consumer."""

from __future__ import annotations

from enum import StrEnum

from ...kernel import frozen


class Outcome(StrEnum):
    """What a message listener comes to. Null and an exception count as `later`; `suspend` is an
    orderly listener's SUSPEND_CURRENT_QUEUE_A_MOMENT."""

    SUCCESS = "success"
    LATER = "later"
    SUSPEND = "suspend"


@frozen
class Consume:
    """One turn of a push consumer: pull every queue it reads, and hand what came to the listener.
    `outcome` is what the listener comes to; `only`: for these orders, for the others `success`."""

    outcome: Outcome = Outcome.SUCCESS
    only: tuple[str, ...] = ()

    def of(self, order: str) -> Outcome:
        return self.outcome if not self.only or order in self.only else Outcome.SUCCESS

    def __str__(self) -> str:
        what = "" if self.outcome is Outcome.SUCCESS else f" {self.outcome}"
        return " ".join((f"consume{what}", *self.only))
