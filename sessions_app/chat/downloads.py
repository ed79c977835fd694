"""Downloads of a session's artifacts, streamed from Django's storage."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from runtime.sessions.state import State
from sessions_app.codec import is_storable
from sessions_app.db.threads import in_thread
from sessions_app.models import Artifact, Session
from sessions_app.ownership import own_session_or_404
from sessions_app.services.file_types import BEGINNING, BINARY, INLINE_IMAGES, signed_type
from sessions_app.thread_pools import download_threads

CHUNK_BYTES = 256 * 1024
TEXT = "text/plain; charset=utf-8"
MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w-]+)?", re.ASCII)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")


@require_GET
@login_required
async def artifact(request: HttpRequest, session_id: UUID, filename: str) -> HttpResponseBase:
    """Return a version of an artifact, the newest without `?version=`. Browsers save all but plain pictures."""
    version = request.GET.get("version", "")
    session = await own_session_or_404(await request.auser(), session_id)
    row = await find_artifact(session, filename, version)
    etag = f'"{row.sha256}"'
    return get_conditional_response(request, etag=etag) or await _response(row, etag)


async def find_artifact(session: Session, filename: str, version: str) -> Artifact:
    """Return a version of a file of the session or its user, the newest for an empty text; else raise `Http404`."""
    if not is_storable(filename):  # such as a NUL, which PostgreSQL refuses
        raise Http404("There is no file of this name in this chat.")
    files = Artifact.objects.filter(
        Q(session=session) | Q(session=None),
        app_name=session.app_name,
        user_id=session.user_id,
        filename=filename,
    )
    if version:
        files = files.filter(version=int(version) if version.isdecimal() and len(version) < 10 else -1)
    row = await in_thread(files.order_by("-version").first)
    if row is None:
        raise Http404(f"There is no file {filename!r} in this chat.")
    return row


async def _response(row: Artifact, etag: str) -> StreamingHttpResponse:
    mime_type = row.mime_type or TEXT
    is_image = mime_type in INLINE_IMAGES
    if is_image:
        is_image = await download_threads.run(_has_signature, row)
    if not MIME_TYPE.fullmatch(mime_type) or (mime_type in INLINE_IMAGES and not is_image):
        mime_type = BINARY
    name = row.filename.removeprefix(State.USER_PREFIX).rsplit("/", 1)[-1]
    disposition = content_disposition_header(not is_image, CONTROL_CHARACTERS.sub("_", name) or "file")
    headers = {
        "Content-Disposition": disposition or "attachment",
        "Content-Length": str(row.size),
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
        "ETag": etag,
    }
    return StreamingHttpResponse(_chunks(row.file), content_type=mime_type, headers=headers)


def _has_signature(row: Artifact) -> bool:
    """True when the bytes are of the image type that the row says."""
    with row.file.open("rb") as stored:
        return signed_type(stored.read(BEGINNING)) == row.mime_type


async def _chunks(stored: FieldFile) -> AsyncIterator[bytes]:
    await download_threads.run(stored.open, "rb")
    try:
        while chunk := await download_threads.run(stored.read, CHUNK_BYTES):
            yield chunk
    finally:
        await download_threads.run(stored.close)
