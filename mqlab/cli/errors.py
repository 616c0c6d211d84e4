"""The error a user can fix: its message says what to do, and no traceback is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..kernel.text import WordedError


class UserError(WordedError):
    """One line: what is wrong, then what to do next."""


@contextmanager
def as_user_error(*kinds: type[Exception]) -> Iterator[None]:
    """What is raised in here and of one of these kinds is the user's to fix, as its words say."""
    try:
        yield
    except kinds as error:
        raise UserError(str(error)) from error
