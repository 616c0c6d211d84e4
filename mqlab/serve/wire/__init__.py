"""Kafka's bytes: frames, requests, answers, record batches. No role sees a byte of it.

`codec.py` turns a frame into an `Ask` and an answer into a frame (schemas: the package
`kio`); `answers.py` has one class an answer, for all versions; `records.py` knows the
61 bytes at the head of a record batch, `bodies.py` the records behind them.
"""

import sys
from contextlib import suppress


def _load_kio() -> None:
    """kio tells hypothesis, where that is installed, how to invent a value of each of its
    types. A server invents none, and loading hypothesis takes longer than all else that it
    loads: so kio is loaded as if there were none."""
    if "hypothesis" in sys.modules:
        return
    sys.modules["hypothesis"] = None  # type: ignore[assignment]  # importing it fails
    try:
        with suppress(ImportError):  # whoever needs kio will say so
            import kio.static.primitive  # noqa: F401
    finally:
        del sys.modules["hypothesis"]


_load_kio()
