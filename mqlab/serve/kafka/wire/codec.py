"""Frames: four bytes of length, then a header and a body whose shape its version decides.

A frame that cannot be decoded never reaches a role, and its connection is closed; so is
one that asks for something that is not offered (seen on a real 4.3.1). Only an unsupported
version of ApiVersions is answered, with version 0 and the error, so that the client can ask
again.

Source: RequestHeader, ApiVersionsRequest, SocketServer (Kafka 4.3).
"""

from __future__ import annotations

import io
import struct
from functools import cache
from typing import Any

from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from ....kafka.errors import Error
from ....kafka.unserved import UNSERVED, WHY
from ....kernel import tr
from ...adapter import BadFrame, Refused
from .answers import ApiVersion, Versions
from .api import ANNOUNCED_PRODUCE, OFFERED, Api, Ask
from .shape import walker

START = struct.Struct(">hhi")  # api, version, correlation id: the same in every version
PRODUCE_LIMIT = 100 << 20  # socket.request.max.bytes
GROUP_LIMIT = 2 << 20  # more than fits into the batch that a commit or a group is written as
OTHER_LIMIT = 1 << 20  # no other request comes near this
LIMITS = {
    Api.PRODUCE: PRODUCE_LIMIT,
    Api.OFFSET_COMMIT: GROUP_LIMIT,
    Api.TXN_OFFSET_COMMIT: GROUP_LIMIT,
    Api.JOIN_GROUP: GROUP_LIMIT,
    Api.SYNC_GROUP: GROUP_LIMIT,
}


def frame_limit(api: int) -> int:
    return LIMITS.get(api, OTHER_LIMIT)  # type: ignore[call-overload, no-any-return]


@cache
def _request(api: int, version: int) -> tuple[Any, Any, Any, Any]:
    """How to walk over and how to read the header and the body; raises BadFrame for an unknown API
    or version."""
    try:
        schema = load_request_schema(api, version)
    except (UnknownAPIKey, UnknownEntity) as error:
        raise BadFrame("no request {} version {} is known", api, version) from error
    header = schema.__header_schema__
    return walker(header), walker(schema), entity_reader(header), entity_reader(schema)


@cache
def _response(api: int, version: int) -> tuple[Any, bytes]:
    """How to write a body, and what is between correlation id and body."""
    schema = load_response_schema(api, version)
    tags = b"\0" if schema.__header_schema__.__flexible__ else b""
    return entity_writer(schema), tags


def decode(frame: bytes, here: tuple[str, int], host: str = "") -> tuple[int, Ask]:
    """Decode a request's frame: return its correlation id and the request. `here` is the listener
    (host, port) to which it came, `host` where its client is. A first pass checks every length
    before the second builds anything. Raises BadFrame, or Refused for an API or a version that is
    not offered."""
    if len(frame) < START.size:
        raise BadFrame("a frame without a header")
    api, version, corr = START.unpack_from(frame)
    lowest, highest = OFFERED.get(api, (0, -1))  # an API not offered has no versions
    if not lowest <= version <= highest:
        raise _refused(api, version, corr)
    try:
        walk_header, walk_body, read_header, read_body = _request(api, version)
        walk_body(frame, walk_header(frame, 0))
        header, body_start = read_header(frame, 0)
        body, _ = read_body(frame, body_start)
    except BadFrame:
        raise
    except Exception as error:  # whatever a decoder may trip over, it is the frame's fault
        raise BadFrame("request {} version {}: {}", api, version, error) from error
    return corr, Ask(Api(api), version, body, header.client_id or "", here, host)


def encode(api: int, version: int, corr: int, answer: Any) -> bytes:
    """An answer as a frame, length included."""
    write, tags = _response(api, version)
    buffer = io.BytesIO()
    write(buffer, answer)
    body = buffer.getbuffer()
    size = 4 + len(tags) + len(body)
    return b"".join((struct.pack(">ii", size, corr), tags, body))


def versions() -> Versions:
    """What ApiVersions announces."""
    rows = {**OFFERED, Api.PRODUCE: ANNOUNCED_PRODUCE}
    keys = tuple(ApiVersion(int(api), low, high) for api, (low, high) in rows.items())
    return Versions(keys)


def _refused(api: int, version: int, corr: int) -> Exception:
    if api == Api.API_VERSIONS:
        # One row, of this request itself (KIP-511): a client takes more for the whole answer.
        own = ApiVersion(api, *OFFERED[Api.API_VERSIONS])
        answer = Versions((own,), Error.UNSUPPORTED_VERSION)
        return Refused(encode(api, 0, corr, answer), tr("unsupported version of ApiVersions"))
    if api in UNSERVED:
        name, why = UNSERVED[api]
        return BadFrame(WHY(key=api, name=name, why=why))
    return BadFrame("request {} version {} is not offered", api, version)
