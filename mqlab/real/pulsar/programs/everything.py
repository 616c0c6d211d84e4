"""All that a consumer can see of a message, for messages of every kind.

The driver tells each message in full: its body by size and digest, keys in bytes, properties, event
time, sequence id, redelivery count, schema and batch. Only times and ids are told by what they
relate to: a message is the n-th that was sent, a time lies after the send.
"""

from __future__ import annotations

from . import Admin, Lab, program

CODECS = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")
FATES = ("committed", "redelivered")


@program("every-field", "MessageImpl, TypedMessageBuilderImpl, CompressionCodecProvider")
def every_field(lab: Lab, admin: Admin) -> None:
    """Sizes around 0, 4,096 and 1 MB, a tombstone, keys in bytes: plain, in a batch, in chunks and
    in each codec; then as a transaction and a redelivery leave them."""
    for way in ("plain", "batched", "chunked"):
        for codec in CODECS:
            topic = f"{way}-{codec}-0"
            lab.see_everything("app", topic, way, codec, "ordinary")
    for way in ("plain", "batched", "chunked"):
        for fate in FATES:
            lab.see_everything("app", f"{way}-{fate}-0", way, "LZ4", fate)
