"""Bodies that are JSON: heartbeats, routes, lists of clients.

The real ones are written by fastjson. It leaves the quotes off keys that are numbers
(`{"brokerAddrs":{0:"127.0.0.1:10911"}}`), which no JSON reader of Python takes; it reads them with
quotes as well. Source: RemotingSerializable#encode, #decode, 4.9.7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from .command import RemotingError

#: a text as a whole, so that nothing inside one is taken for a key; or a key that is a number
KEY = re.compile(r'"(?:[^"\\]|\\.)*"|([{,]\s*)(-?\d+)(?=\s*:)')


def encode_json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def decode_json(body: bytes) -> Any:
    """Raises RemotingError."""
    try:
        text = body.decode()
        return json.loads(KEY.sub(lambda m: f'{m[1]}"{m[2]}"' if m[2] else m[0], text))
    except (ValueError, RecursionError) as error:
        raise RemotingError("a body that is no JSON: {}", error) from error


def encode_by_queue(rows: Iterable[tuple[str, int, Any]], broker: str) -> str:
    """A table by MessageQueue (topic, number): fastjson writes the key as the object it is, which
    is no JSON, and its readers expect that."""
    texts = (
        f"{encode_json({'brokerName': broker, 'queueId': number, 'topic': topic}).decode()}:"
        f"{encode_json(value).decode()}"
        for topic, number, value in rows
    )
    return "{" + ",".join(texts) + "}"
