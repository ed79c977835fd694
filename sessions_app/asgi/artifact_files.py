"""Files of a session as responses, streamed from Django's storage."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus

from django.db.models import Q
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from runtime.sessions.state import State
from sessions_app.asgi.problem_details import problem
from sessions_app.base.codec import is_storable
from sessions_app.models import Artifact, Session
from sessions_app.process.thread_pools import download_threads
from sessions_app.process.threads import in_thread
from sessions_app.store.file_types import BEGINNING, BINARY, INLINE_IMAGES, signed_type

CHUNK_BYTES = 256 * 1024
TEXT = "text/plain; charset=utf-8"
MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w-]+)?", re.ASCII)
# Line ends would end the header; marks of direction would make a program's name look like a picture's.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters to replace in a file name for a header."""
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)


@dataclass(frozen=True)
class _ByteRange:
    """Bytes of a file from `start` to before `end`. Empty if the file has none of the requested bytes."""

    start: int
    end: int


async def find_artifact(session: Session, filename: str, version: str) -> Artifact:
    """Return a version of a file of the session or its user.

    Args:
        version: number of the version, as it stands in the URL; empty for the newest.

    Raises:
        Http404: there is no such file or version.
    """
    if not is_storable(filename):  # such as a NUL, which PostgreSQL refuses
        raise Http404("There is no file of this name in this chat.")
    files = Artifact.objects.filter(
        Q(session=session) | Q(session=None),
        app_name=session.app_name,
        user_id=session.user_id,
        filename=filename,
    )
    if version:
        # Ten digits may exceed the column; no row has version -1.
        files = files.filter(version=int(version) if version.isdecimal() and len(version) < 10 else -1)
    row = await in_thread(files.order_by("-version").first)
    if row is None:
        raise Http404(f"There is no file {filename!r} in this chat.")
    return row


async def artifact_response(request: HttpRequest, row: Artifact) -> HttpResponseBase:
    """Return the bytes of an artifact, or 304 if the client has them.

    A request with `Range` gets 206 with the requested part, or 416. Browsers show images of `INLINE_IMAGES` and save
    all other files.
    """
    etag = f'"{row.sha256}"'
    if unchanged := get_conditional_response(request, etag=etag):
        return unchanged
    part = _requested_range(request, row.size, etag)
    if part is None:
        return await _response(row, etag, _ByteRange(0, row.size))
    if part.start == part.end:
        refusal = problem(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"The file has {row.size} bytes.", "range"
        )
        refusal["Content-Range"] = f"bytes */{row.size}"
        return refusal
    response = await _response(row, etag, part)
    response.status_code = HTTPStatus.PARTIAL_CONTENT
    response["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{row.size}"
    return response


async def _response(row: Artifact, etag: str, part: _ByteRange) -> StreamingHttpResponse:
    mime_type = row.mime_type or TEXT
    # The type of a file is its sender's claim. Only what really begins like an image is shown in the site's origin.
    is_image = mime_type in INLINE_IMAGES
    if is_image:
        is_image = await download_threads.run(_has_signature, row)
    if not MIME_TYPE.fullmatch(mime_type) or (mime_type in INLINE_IMAGES and not is_image):
        mime_type = BINARY
    name = row.filename.removeprefix(State.USER_PREFIX).rsplit("/", 1)[-1]
    disposition = content_disposition_header(not is_image, CONTROL_CHARACTERS.sub("_", name) or "file")
    headers = {
        "Content-Disposition": disposition or "attachment",
        "Content-Length": str(part.end - part.start),
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",  # Kept, and shown only after the site has allowed it again.
        "ETag": etag,
    }
    return StreamingHttpResponse(_chunks(row.file, part), content_type=mime_type, headers=headers)


def _has_signature(row: Artifact) -> bool:
    """True if the file begins like an image of the row's type."""
    with row.file.open("rb") as stored:
        return signed_type(stored.read(BEGINNING)) == row.mime_type


async def _chunks(stored: FieldFile, part: _ByteRange) -> AsyncIterator[bytes]:
    # In threads of their own: slow downloads must not take the threads of the database.
    await download_threads.run(stored.open, "rb")
    try:
        if part.start:
            await download_threads.run(stored.seek, part.start)
        left = part.end - part.start
        while chunk := await download_threads.run(stored.read, min(CHUNK_BYTES, left)):
            left -= len(chunk)
            yield chunk
    finally:
        await download_threads.run(stored.close)


def _requested_range(request: HttpRequest, size: int, etag: str) -> _ByteRange | None:
    """Return the part of a file in the header `Range` (RFC 9110, section 14); None for the whole file.

    Requests for several parts, and requests whose `If-Range` names another version, get the whole file.

    Args:
        size: bytes of the file.
        etag: entity tag of the current version of the file.
    """
    found = RANGE.fullmatch(request.headers.get("Range", ""))
    if not found or found[0] == "bytes=-" or request.headers.get("If-Range", etag) != etag:
        return None
    first, last = found.groups()
    if not first:
        return _ByteRange(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    start = int(first)
    if start >= size:
        return _ByteRange(size, size)
    end = int(last) + 1 if last else size
    return _ByteRange(start, min(end, size))
