"""All that a consumer can see of a message, for messages of every kind.

The driver tells each message in full: its body by size and digest, keys in bytes, properties, event
time, sequence id, redelivery count, schema and batch. Only times and ids are told by what they
relate to: a message is the n-th that was sent, a time lies after the send.
"""

from __future__ import annotations

from . import Admin, Lab, program

WAYS = ("plain", "batched", "chunked")
CODECS = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")
REFERENCE = "MessageImpl, TypedMessageBuilderImpl, CompressionCodecProvider"


def see_in_each_codec(lab: Lab, way: str) -> None:
    """Sizes around 0, 4,096 and 1 MB, a tombstone, keys in bytes, in each codec."""
    for codec in CODECS:
        lab.see_everything("app", f"{way}-{codec}-0", way, codec, "ordinary")


def see_in_each_way(lab: Lab, fate: str) -> None:
    """The same messages, compressed in one codec, as something that befell them leaves them."""
    for way in WAYS:
        lab.see_everything("app", f"{way}-{fate}-0", way, "LZ4", fate)


@program("every-field-plain", REFERENCE)
def every_field_plain(lab: Lab, admin: Admin) -> None:
    """Each message is an entry of its own."""
    see_in_each_codec(lab, "plain")


@program("every-field-batched", REFERENCE)
def every_field_batched(lab: Lab, admin: Admin) -> None:
    """All messages are one entry."""
    see_in_each_codec(lab, "batched")


@program("every-field-chunked", REFERENCE)
def every_field_chunked(lab: Lab, admin: Admin) -> None:
    """A large message is several entries."""
    see_in_each_codec(lab, "chunked")


@program("every-field-committed", REFERENCE)
def every_field_committed(lab: Lab, admin: Admin) -> None:
    """The messages are sent in a transaction that commits."""
    see_in_each_way(lab, "committed")


@program("every-field-redelivered", REFERENCE)
def every_field_redelivered(lab: Lab, admin: Admin) -> None:
    """The messages are received, not acknowledged and received again."""
    see_in_each_way(lab, "redelivered")


@program("every-field-retried", REFERENCE)
def every_field_retried(lab: Lab, admin: Admin) -> None:
    """The messages are received, and sent to the retry topic by the client (reconsumeLater)."""
    see_in_each_way(lab, "retried")


@program("every-field-dead", REFERENCE)
def every_field_dead(lab: Lab, admin: Admin) -> None:
    """The messages come too often, and the client sends them to the dead letter topic."""
    see_in_each_way(lab, "dead")
