"""Use cases about uploads: files of the user, sent before their message."""

from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile

from sessions_app.errors import LimitExceededError
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.models import Artifact
from sessions_app.process.threads import in_thread
from sessions_app.sessions.agent_access import own_usable_session
from sessions_app.sessions.ownership import User, own_session
from sessions_app.store import uploads
from sessions_app.store.uploads import FileName
from sessions_app.use_cases.sessions import create_session


async def upload_file(
    user: User,
    session_id: UUID,
    upload: "UploadedFile[Any]",
    network: str = "",
    *,
    new_app: str = "",
    upload_id: UUID | None = None,
) -> Artifact:
    """Store a file of the user in the session, for the next message to refer to.

    Args:
        network: network of the client, for its quota; empty without a client.
        new_app: app with which to create the session if it does not exist yet.
        upload_id: id of the request; a repeated request stores no second file. None without an id.

    Raises:
        NotFoundError: the user has no such session, or see `create_session`.
        AgentClosedError: the user may not use the app.
        InvalidInputError: the file is empty or its type is not allowed.
        TooLargeError: the file is too large.
        LimitExceededError: the user's files together are too large, or arrive too fast; or see `create_session`.
    """
    session = None if new_app else await own_usable_session(user, session_id)
    if exceeded := rates().count(quotas.frames(user.pk, network)):
        raise LimitExceededError(
            f"Messages and files are limited to {exceeded.quota.most} a minute. Wait a minute.",
            retry_seconds=exceeded.seconds,
        )
    mime_type = await in_thread(uploads.check_upload, upload)  # before a session is created
    if session is None:
        session = await create_session(user, new_app, network, session_id=session_id)
    return await in_thread(uploads.store_upload, session, upload, mime_type, upload_id)


async def upload_bytes(
    user: User,
    session_id: UUID,
    name: str,
    data: bytes,
    network: str,
    *,
    new_app: str = "",
    upload_id: UUID | None = None,
) -> FileName:
    """Store a file that arrived inside a message, like `upload_file`. Return its name and version."""
    upload = SimpleUploadedFile(name, data)
    stored = await upload_file(user, session_id, upload, network, new_app=new_app, upload_id=upload_id)
    return stored.filename, stored.version


async def remove_upload(user: User, session_id: UUID, file: FileName) -> None:
    """Delete an uploaded file before its message is sent. Do nothing if the file is gone already.

    Raises:
        NotFoundError: the user has no such session.
        ConflictError: a message refers to the file, or a legal hold covers it.
    """
    session = await own_session(user, session_id)
    await in_thread(uploads.delete_upload, session, file)
