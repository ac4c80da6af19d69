"""Bodies and what they are in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_JSON = re.compile(r"application/([^;]+\+)?json\s*(;|$)", re.IGNORECASE)
BYTES = "application/octet-stream"


@dataclass(frozen=True)
class Response:
    """A body with its media type: a result that is neither JSON nor plain bytes, such as a redirect. A handler may return one,
    without headers; those of a result have their names in lower case."""

    body: bytes
    type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)


def encode(value: object, type: str | None = None) -> tuple[bytes, str]:
    """An input as a body, with its media type: bytes as they are, a string as text if its type says so, else JSON."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value), type or BYTES
    if isinstance(value, str) and type is not None and not _JSON.match(type):
        return value.encode(), type
    return to_json(value), type or "application/json"


def decode(body: bytes, status: int, headers: Mapping[str, str]) -> Any:
    """A result: JSON as its value, bytes as bytes, nothing as None, and anything else, such as a redirect, as a Response."""
    type = headers.get("content-type", "")
    if not type and 200 <= status < 300:
        return None
    if type.startswith(BYTES):
        return body
    if _JSON.match(type):
        try:
            return json.loads(body)
        except ValueError:
            pass  # The body of a handler's response need not match its media type.
    return Response(body, type, status, headers)


def to_json(value: object) -> bytes:
    """JSON that any reader understands: no NaN, and lone surrogates escaped. Raises TypeError, ValueError or RecursionError."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Only surrogates cannot be encoded, and this writes them as JSON does.
    return text.encode("utf-8", "backslashreplace")


def shortened(text: str, most: int) -> str:
    """The beginning of a text, of at most so many UTF-16 code units: so the server counts."""
    units = text[:most].encode("utf-16-le", "surrogatepass")
    return units[: 2 * most].decode("utf-16-le", "replace")
