"""CRC-32C, the checksum of record batches; the journal uses it too.

kio checks batches with the package `crc32c`, which it brings along: in C, and quick.
"""

from __future__ import annotations

from kio.records.readers import crc32c  # type: ignore[attr-defined]

__all__ = ["crc32c"]
