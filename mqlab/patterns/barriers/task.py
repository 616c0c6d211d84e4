"""What all tasks have in common: they register, and they report a channel that broke."""

from __future__ import annotations

from ...kernel import ConnectionLost, Effects, Event, Request, Send
from .config import JM, JobConfig
from .messages import Fail, Reconnect, Register


def report(attempt: int, event: Event) -> Effects:
    """To the job manager: that the task is there, or that its attempt cannot go on."""
    match event:
        case ConnectionLost(peer="jm") | Request(body=Reconnect()):
            return (Send(JM, Register()),)
        case ConnectionLost():
            return (Send(JM, Fail(attempt)),)
    return ()


def is_current(config: JobConfig, attempt: int, sent_in: int) -> bool:
    """Whether a task of this attempt listens to what was sent in that one."""
    return attempt == sent_in or "attempt_fencing" not in config.on
