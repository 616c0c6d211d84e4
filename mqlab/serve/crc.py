"""CRC-32C, the checksum of record batches; the journal uses it too.

kio checks batches with the package `crc32c`, which it brings along: in C, and quick. Whatever
needs kio in the server comes after this module, because of how it is loaded here.
"""

from __future__ import annotations

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
        with suppress(ImportError):  # the one that needs kio will say so
            import kio.static.primitive  # noqa: F401
    finally:
        del sys.modules["hypothesis"]


_load_kio()

from kio.records.readers import crc32c  # type: ignore[attr-defined] # noqa: E402

__all__ = ["crc32c"]
