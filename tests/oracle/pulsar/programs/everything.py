"""All that a consumer can see of a message, for messages of every kind.

The driver tells each message in full: its body by size and digest, keys in bytes, properties, event
time, sequence id, redelivery count, schema and batch. Only times and ids are told by what they
relate to: a message is the n-th that was sent, a time lies after the send.
"""

from __future__ import annotations

from functools import partial

from . import Admin, Lab, program

WAYS = ("plain", "batched", "chunked")
CODECS = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")
REFERENCE = "MessageImpl, TypedMessageBuilderImpl, CompressionCodecProvider"


def see_in_each_codec(lab: Lab, admin: Admin, way: str) -> None:
    """Sizes around 0, 4,096 and 1 MB, a tombstone, keys in bytes, in each codec. Each message is an
    entry of its own, all are one entry, or a large one is several entries."""
    for codec in CODECS:
        lab.see_everything("app", f"{way}-{codec}-0", way, codec, "ordinary")


def see_in_each_way(lab: Lab, admin: Admin, fate: str) -> None:
    """The same messages, compressed in one codec, as what befell them leaves them: a transaction
    commits; they are received again; the client sends them to the retry topic (reconsumeLater) or,
    when they came too often, to the dead letter topic."""
    for way in WAYS:
        lab.see_everything("app", f"{way}-{fate}-0", way, "LZ4", fate)


for _way in WAYS:
    program(REFERENCE, name=f"every-field-{_way}")(partial(see_in_each_codec, way=_way))
for _fate in ("committed", "redelivered", "retried", "dead"):
    program(REFERENCE, name=f"every-field-{_fate}")(partial(see_in_each_way, fate=_fate))
