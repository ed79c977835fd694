"""Requests for parts of files (`Range`, RFC 9110, section 14)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.http import HttpRequest

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)


@dataclass(frozen=True)
class ByteRange:
    """Bytes of a file from `start` to before `end`. Empty if the file has none of the requested bytes."""

    start: int
    end: int


def requested_range(request: HttpRequest, size: int, etag: str) -> ByteRange | None:
    """Return the requested part of a file; None for the whole file.

    Requests for several parts, and requests whose `If-Range` names another version, get the whole file.

    Args:
        size: bytes of the file.
        etag: entity tag of the current version of the file.
    """
    found = _RANGE.fullmatch(request.headers.get("Range", ""))
    if not found or found[0] == "bytes=-" or request.headers.get("If-Range", etag) != etag:
        return None
    first, last = found.groups()
    if not first:
        return ByteRange(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    end = min(size, int(last) + 1) if last else size
    return ByteRange(int(first), max(int(first), end)) if int(first) < size else ByteRange(size, size)
