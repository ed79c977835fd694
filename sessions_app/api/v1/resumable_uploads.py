"""Resumable uploads by tus 1.0 (https://tus.io): large files in chunks, which go on after a broken connection."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from typing import IO, Annotated, Any, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.http import http_date
from ninja import Header, Router, Schema, Status
from ninja.errors import HttpError

from sessions_app.api.access.callers import caller_of
from sessions_app.api.idempotency import id_of_key
from sessions_app.api.reachable import reachable_session, reachable_upload
from sessions_app.api.v1.files import StoredFile
from sessions_app.asgi.problem_details import problem
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.models import ResumableUpload, Scope
from sessions_app.process.threads import in_thread
from sessions_app.store import resumable_uploads

CHUNK_TYPE = "application/offset+octet-stream"
CHUNK = {"requestBody": {"content": {CHUNK_TYPE: {"schema": {"type": "string", "format": "binary"}}}}}
TUS, VERSION = "Tus-Resumable", "1.0.0"
View = Callable[..., Awaitable[HttpResponseBase]]
router = Router(tags=["resumable uploads"])


class UploadState(Schema):
    """An upload.

    Attributes:
        offset: number of bytes that are stored; the next chunk begins there.
        file: the stored file, once all chunks have come.
    """

    upload_id: UUID
    session_id: UUID
    name: str
    length: int
    offset: int
    expires_at: datetime
    file: StoredFile | None

    @classmethod
    def of(cls, row: ResumableUpload) -> UploadState:
        """Return the state of an upload."""
        file = StoredFile.of(row.artifact) if row.artifact else None
        same = {name: getattr(row, name) for name in ("session_id", "length", "offset", "expires_at")}
        return cls(upload_id=row.pk, name=row.filename, file=file, **same)


def _speaking_tus(run: View) -> View:
    """Wrap an operation so that it refuses other versions of tus, and names its version in the response."""

    @wraps(run)
    async def respond(request: HttpRequest, **values: Any) -> HttpResponseBase:
        if request.headers.get(TUS, VERSION) == VERSION:
            response = await run(request, **values)
        else:
            response = problem(
                HTTPStatus.PRECONDITION_FAILED, f"Send {TUS}: {VERSION}.", "unsupported_version"
            )
            response["Tus-Version"] = VERSION
        response[TUS] = VERSION
        return response

    return respond


router.add_decorator(_speaking_tus, mode="view")


@router.api_operation(["OPTIONS"], "/sessions/{session_id}/resumable-uploads", response={204: None})
async def describe_resumable_uploads(
    request: HttpRequest, response: HttpResponse, session_id: UUID
) -> Status[None]:
    """Tell in headers what the site takes: the version of tus, its extensions and the largest file."""
    response["Tus-Version"] = VERSION
    response["Tus-Extension"] = "creation,termination,expiration"
    response["Tus-Max-Size"] = str(conf().upload_bytes)
    return Status(204, None)


@router.post("/sessions/{session_id}/resumable-uploads", response={201: UploadState})
async def create_resumable_upload(
    request: HttpRequest,
    response: HttpResponse,
    session_id: UUID,
    upload_length: Annotated[int, Header(alias="Upload-Length", ge=1)],
    upload_metadata: Annotated[str, Header(alias="Upload-Metadata")],
) -> Status[UploadState]:
    """Begin to send a large file in chunks. `Upload-Metadata` has its `filename`, in base64."""
    session = await reachable_session(caller_of(request), session_id, Scope.RUN)
    name, upload_id = _filename(upload_metadata), id_of_key(request)
    row = await in_thread(resumable_uploads.create, session, name, upload_length, upload_id)
    response["Location"] = reverse("api-v1:read_resumable_upload", args=[row.pk])
    _add_headers(response, row)
    return Status(201, UploadState.of(row))


@router.get("/resumable-uploads/{upload_id}", response=UploadState)
async def read_resumable_upload(request: HttpRequest, upload_id: UUID) -> UploadState:
    """Return an upload, with its file once the file is whole."""
    return UploadState.of(await reachable_upload(caller_of(request), upload_id, Scope.RUN))


@router.api_operation(["HEAD"], "/resumable-uploads/{upload_id}", response={200: None})
async def read_offset(request: HttpRequest, response: HttpResponse, upload_id: UUID) -> Status[None]:
    """Tell the offset of an upload in `Upload-Offset`."""
    _add_headers(response, await reachable_upload(caller_of(request), upload_id, Scope.RUN))
    response["Cache-Control"] = "no-store"
    return Status(200, None)


@router.patch("/resumable-uploads/{upload_id}", response={204: None}, openapi_extra=CHUNK)
async def send_chunk(
    request: HttpRequest,
    response: HttpResponse,
    upload_id: UUID,
    upload_offset: Annotated[int, Header(alias="Upload-Offset", ge=0)],
) -> Status[None]:
    """Store a chunk. After the last one, `Content-Location` is the address of the file with its version."""
    row = await reachable_upload(caller_of(request), upload_id, Scope.RUN)
    if request.content_type != CHUNK_TYPE:
        raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send the chunk as {CHUNK_TYPE}.")
    body = cast(IO[bytes], request)  # read in pieces: a large body is on the disk
    _add_headers(response, await in_thread(resumable_uploads.store_chunk, row, upload_offset, body))
    return Status(204, None)


@router.delete("/resumable-uploads/{upload_id}", response={204: None})
async def delete_resumable_upload(request: HttpRequest, upload_id: UUID) -> Status[None]:
    """Delete an upload. A file that is whole stays."""
    row = await reachable_upload(caller_of(request), upload_id, Scope.RUN)
    await in_thread(row.delete)
    return Status(204, None)


def _add_headers(response: HttpResponse, row: ResumableUpload) -> None:
    response["Upload-Offset"] = str(row.offset)
    response["Upload-Length"] = str(row.length)
    response["Upload-Expires"] = http_date(row.expires_at.timestamp())
    if file := row.artifact:
        address = reverse("api-v1:download", args=[row.session_id, file.filename])
        response["Content-Location"] = f"{address}?version={file.version}"


def _filename(metadata: str) -> str:
    """Return the file's name in a header of tus: pairs of a name and a value in base64, with commas between them."""
    pairs = dict(pair.strip().partition(" ")[::2] for pair in metadata.split(","))
    try:
        return b64decode(pairs["filename"], validate=True).decode()
    except (KeyError, ValueError):
        raise InvalidInputError(
            "Upload-Metadata has no “filename” in base64. Send one.", field="header.Upload-Metadata"
        ) from None
