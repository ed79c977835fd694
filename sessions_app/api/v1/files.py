"""Files of a session: uploads of its person, and artifacts of its agents. Each name has versions 0, 1, 2 …"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import File, Query, Router, Status
from ninja.files import UploadedFile
from pydantic import Field

from sessions_app import use_cases
from sessions_app.api.access.callers import caller_of
from sessions_app.api.idempotency import id_of_key
from sessions_app.api.pages import NEWEST_FIRST, Page, PageQuery, RowSchema, read_page
from sessions_app.api.reachable import reachable_session
from sessions_app.asgi.artifact_files import artifact_response, find_artifact
from sessions_app.base.codec import MAX_INTEGER, is_storable
from sessions_app.models import Artifact, Scope

router = Router(tags=["files"])
Version = Annotated[int | None, Query(ge=0, le=MAX_INTEGER)]


class StoredFile(RowSchema):
    """A version of a file.

    Attributes:
        is_upload: true for a file that the person has sent.
        sha256: hash of the bytes, in hexadecimal digits; the ETag of the download.
    """

    name: str
    version: int
    mime_type: str
    size: int
    sha256: str
    is_upload: bool
    created_at: datetime

    @classmethod
    def of(cls, row: Artifact) -> "StoredFile":
        return cls.from_row(row, name=row.filename)


class FileQuery(PageQuery):
    """Filter of the list of files."""

    name: str = Field("", max_length=1024, description="Lists only the versions of this file.")


@router.get("/sessions/{session_id}/files", response=Page[StoredFile])
async def list_files(request: HttpRequest, session_id: UUID, query: Query[FileQuery]) -> Page[StoredFile]:
    """List the files of a session, and the files that its person shares with all sessions, newest version first."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    rows = Artifact.objects.filter(
        Q(session=session) | Q(session=None), app_name=session.app_name, user_id=session.user_id
    )
    if query.name:
        rows = rows.filter(filename=query.name) if is_storable(query.name) else rows.none()
    return await read_page(Page[StoredFile], rows, NEWEST_FIRST, query, StoredFile.of)


@router.post("/sessions/{session_id}/files", response={201: StoredFile})
async def upload(request: HttpRequest, session_id: UUID, file: File[UploadedFile]) -> Status[StoredFile]:
    """Store a file, for the next message to refer to. A name that exists gets a new version."""
    session = await reachable_session(caller_of(request), session_id, Scope.RUN)
    network = caller_of(request).network
    upload_id = id_of_key(request)
    stored = await use_cases.upload_file(session.user, session.pk, file, network, upload_id=upload_id)
    return Status(201, StoredFile.of(stored))


@router.get("/sessions/{session_id}/files/{path:name}")
async def download(
    request: HttpRequest, session_id: UUID, name: str, version: Version = None
) -> HttpResponseBase:
    """Return the bytes of a file, of its newest version without `version`."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    row = await find_artifact(session, name, "" if version is None else str(version))
    return await artifact_response(request, row)


@router.delete("/sessions/{session_id}/files/{path:name}", response={204: None})
async def remove(
    request: HttpRequest,
    session_id: UUID,
    name: str,
    version: Annotated[int, Query(ge=0, le=MAX_INTEGER)],
) -> Status[None]:
    """Delete an upload that no message refers to yet; nothing when it is gone already."""
    session = await reachable_session(caller_of(request), session_id, Scope.RUN)
    await use_cases.remove_upload(session.user, session.pk, (name, version))
    return Status(204, None)
