"""A program that asks a broker, and what stops it.

A program knows neither whether a real broker or this project's server answers, nor what the
answer should be: that is what the recordings are for. What it asks through (its `Lab`) is the
broker's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..kernel.text import WordedError


@dataclass(frozen=True, slots=True)
class Program:
    """`name`: of the scenario and its recording; `reference`: the broker's own test, or where
    the behaviour is described; `run` is given the broker's lab; `profiles`: where it makes
    sense; `needs`: what it may need besides a broker it shares with others; `version`: the only
    one it is recorded on, "" for any; `settings`: of brokers of its own."""

    name: str
    reference: str
    run: Callable[[Any], None]
    profiles: tuple[str, ...]
    needs: tuple[str, ...] = ()
    version: str = ""
    settings: tuple[tuple[str, str], ...] = ()


class NotOffered(Exception):
    """The broker does not know a request without which the program makes no sense."""


class RealBrokerError(WordedError):
    """A real broker cannot be had or did not start; the message says what to do."""
