"""Floor 1: what a log holds. Types only; no I/O."""

from .batch import ABORT, COMMIT, MAX_SEQUENCE, Batch, next_sequence
from .index import AbortedTxn

__all__ = ["ABORT", "COMMIT", "MAX_SEQUENCE", "AbortedTxn", "Batch", "next_sequence"]
