"""Files of a session: the preview in the pane beside the chat, the document in its iframe, and the download.

Each has an address for the session's owner, and one with the token of a share link for readers of the shared page. They
get the versions that this page names, without the list of files and other versions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from runtime.artifacts.named_files import is_text
from sessions_app.asgi.artifact_files import artifact_response, find_artifact
from sessions_app.chat.share_views import shared_view_or_404
from sessions_app.data_protection.transcripts.stream import names_file
from sessions_app.errors import AlteredFileError, FilesUnavailableError
from sessions_app.models import Artifact
from sessions_app.process.threads import download_threads, in_thread
from sessions_app.rendering.compared_lines import MAX_LINES, changes_block
from sessions_app.rendering.files import (
    KINDS,
    MAX_BYTES,
    MAX_CHARACTERS,
    Preview,
    file_facts,
    file_link,
    preview_of,
    text_of,
)
from sessions_app.rendering.sentences import in_language
from sessions_app.sessions.ownership import own_session_or_404
from sessions_app.store.file_types import PDF

SANDBOX = "; ".join(
    (
        "sandbox allow-popups allow-popups-to-escape-sandbox",
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    )
)
"""Policy for HTML of others: its styles apply and its links open, and nothing else in it has an effect."""
VIEWER = "frame-ancestors 'self'"
"""Policy for a PDF. The browser's viewer, which gives a PDF no access to the site, does not work in a sandbox."""
DOCUMENTS = {"text/html": ("text/html; charset=utf-8", SANDBOX), PDF: (PDF, VIEWER)}
"""Types of documents that are shown in an iframe, each with its content type and policy."""
PREVIEW = "preview"
SOURCE = "source"
CHANGES = "changes"
NOT_CODE = ("", "txt", "log")
"""Extensions of text files without a language."""


@dataclass(frozen=True)
class FileVersion:
    """Version of a file among the others.

    Attributes:
        before: the version before; None for the first.
        after: the version after; None for the newest.
    """

    row: Artifact
    before: Artifact | None
    after: Artifact | None
    newest: int

    @classmethod
    def of(cls, row: Artifact) -> "FileVersion":
        """Return the version of a row, with its neighbours."""
        before = row.versions.filter(version__lt=row.version).last()
        after = row.versions.filter(version__gt=row.version).first()
        newest = row.versions.last() if after else row
        return cls(row, before, after, newest.version if newest else row.version)

    @property
    def views(self) -> list[str]:
        """Views to choose from: the preview, the source, the changes since the version before."""
        views = [PREVIEW]
        if self.row.mime_type in KINDS:
            views.append(SOURCE)
        if self.before and is_text(self.row.mime_type) and is_text(self.before.mime_type):
            views.append(CHANGES)
        return views


@require_GET
@login_required
async def preview(
    request: HttpRequest, filename: str, session_id: UUID | None = None, token: str = ""
) -> HttpResponse:
    """Return a file as an HTML fragment: the version `?version=`, by default the newest, in the view `?view=`."""
    row = await _find_file(request, filename, session_id, token)
    if token:
        version = FileVersion(row, None, None, row.version)
    else:
        version = await in_thread(FileVersion.of, row)
    view = request.GET.get("view", "")
    if view not in version.views:
        view = PREVIEW
    return HttpResponse(await download_threads.run(_render, session_id, token, version, view))


@require_GET
@login_required
async def document(
    request: HttpRequest, filename: str, session_id: UUID | None = None, token: str = ""
) -> HttpResponseBase:
    """Return the version `?version=` of an HTML file or PDF for an iframe of the pane."""
    row = await _find_file(request, filename, session_id, token)
    if row.mime_type not in DOCUMENTS:
        raise Http404(f"The file {filename!r} is no page and no PDF.")
    content_type, policy = DOCUMENTS[row.mime_type]
    response = await artifact_response(request, row)
    shown_inline = {"Content-Disposition": "inline", "Content-Type": content_type, **iframe_headers(policy)}
    for name, value in shown_inline.items():
        response[name] = value
    return response


@require_GET
@login_required
async def artifact(
    request: HttpRequest, filename: str, session_id: UUID | None = None, token: str = ""
) -> HttpResponseBase:
    """Return the version `?version=` of an artifact, by default the newest."""
    row = await _find_file(request, filename, session_id, token)
    return await artifact_response(request, row, may_redirect=True)


async def _find_file(request: HttpRequest, filename: str, session_id: UUID | None, token: str) -> Artifact:
    """Return the file in a session of the user or, with a token, in a session that is shared with the user.

    Raises:
        Http404: the user may read no such session, or it has no such file or version for this user.
    """
    user = await request.auser()
    number = request.GET.get("version", "")
    if session_id:
        return await find_artifact(await own_session_or_404(user, session_id), filename, number)
    session, view = await shared_view_or_404(user, token)
    row = await find_artifact(session, filename, number)
    if not await in_thread(names_file, session, view, row):
        raise Http404("There is no such file in the shared conversation.")
    return row


def _render(session_id: UUID | None, token: str, version: FileVersion, view: str) -> str:
    row = version.row
    link = partial(file_link, session_id or "", share_token=token)
    file = link(row.filename, row.version)
    language = file.kind.lower()
    context: dict[str, Any] = {
        "session_id": session_id,
        "token": token,
        "file": file,
        "facts": file_facts(row, file),
        "number": row.version + 1,
        "total": version.newest + 1,
        "before": version.before and link(row.filename, version.before.version),
        "after": version.after and link(row.filename, version.after.version),
        "views": version.views,
        "view": view,
        "language": "" if language in NOT_CODE else language,
    }
    try:
        if view == CHANGES and version.before:
            context["preview"] = _changes(version.before, row)
        else:
            mime_type = row.mime_type or "text/plain"
            context["preview"] = preview_of(mime_type, row.size, _read(row), is_source=view == SOURCE)
    except FileNotFoundError:
        context["is_lost"] = True
    except (AlteredFileError, FilesUnavailableError) as error:
        context["error"] = in_language(str(error))
    return render_to_string("chat/preview.html", context)


def _changes(before: Artifact, after: Artifact) -> Preview:
    """Return the changed lines as HTML, of the kind `changes`; `none` if one of the files is no text."""
    old = text_of(before.mime_type, _read(before))
    new = text_of(after.mime_type, _read(after))
    if old is None or new is None:
        return Preview("none")
    is_cut = any(len(text) > MAX_CHARACTERS or text.count("\n") > MAX_LINES for text in (old, new))
    return Preview(CHANGES, changes_block(old[:MAX_CHARACTERS], new[:MAX_CHARACTERS]), is_cut=is_cut)


def _read(row: Artifact) -> bytes:
    """Return the beginning of the file.

    Raises:
        AlteredFileError: somebody has changed the file in the storage.
        FileNotFoundError: the storage does not have the file.
        FilesUnavailableError: the storage does not answer.
    """
    return row.read(MAX_BYTES)


def iframe_headers(policy: str) -> Mapping[str, str]:
    """Return headers with which pages of this site may show a response in an iframe."""
    # Both headers: Django's middleware would add `DENY`.
    return {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}
