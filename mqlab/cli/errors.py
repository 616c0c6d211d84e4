"""The error a user can fix: its message says what to do, and no traceback is shown."""

from __future__ import annotations

from ..kernel.text import WordedError


class UserError(WordedError):
    """One line: what is wrong, then what to do next."""
