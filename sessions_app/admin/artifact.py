"""Admin of artifacts: all versions of all files, as text, as a picture or as a download.

The browser renders pictures of pixels alone: an HTML or SVG file of a user or a model could run scripts with the rights
of staff.
"""

import hashlib
from contextlib import suppress
from io import BytesIO
from typing import IO

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from runtime.artifacts.named_files import is_text
from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.filters import SessionAppFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import event_link, row_url
from sessions_app.admin.framework.permissions import REMIT_OF_ROW
from sessions_app.asgi.artifact_files import header_name
from sessions_app.errors import AlteredFileError, FilesUnavailableError
from sessions_app.models import AccessKind, Artifact
from sessions_app.models.stored_files import available_files
from sessions_app.rendering.audit_values import NOTHING, TRUNCATE_AT
from sessions_app.rendering.compared_lines import changes_block
from sessions_app.rendering.files import MAX_BYTES, text_of
from sessions_app.secrets.masking import beginning_of, is_unmasked, mask_text
from sessions_app.store.file_types import BEGINNING, INLINE_IMAGES, signed_type

MAX_MASKED_BYTES = 10 * 1024**2
"""Largest size of a text that is masked for its download. Masking takes about 0.1 s for 1 MB."""
_BLOCK = '<pre class="audit-block" dir="auto" tabindex="0">{}</pre>'


@admin.register(Artifact)
class ArtifactAdmin(KeysetAdmin, SessionRowAdmin):
    """Artifacts, newest first. Staff who may open an artifact may download its file."""

    shows_text = True
    remit_paths = (REMIT_OF_ROW,)
    list_display = (
        "filename", "version", "of_session", "user", "mime_type", "readable_size", "short_sha256",
        "created_at", "download",
    )  # fmt: skip
    list_filter = (SessionAppFilter, "part_kind", "created_at")
    list_select_related = ("session", "user")
    ordering = ("-id",)
    search_fields = ("filename", "=sha256")
    fields = (
        "filename", "version", "app_name", "user", "of_session", "mime_type", "part_kind", "readable_size",
        "checked_sha256", "created_at", "saved_by", "download", "changes", "preview",
    )  # fmt: skip

    def get_urls(self) -> list[URLPattern]:
        download = self.view_path("<int:artifact_id>/download/", self.download_view, "download")
        picture = self.view_path("<int:artifact_id>/picture/", self.picture_view, "picture")
        return [download, picture, *super().get_urls()]

    def download_view(self, request: HttpRequest, artifact_id: int) -> HttpResponseBase:
        """Return the file as a download, with a content type browsers do not render.

        The name of a file that is not the stored one begins with "altered-", and that of a text with masked secrets
        with "masked-".
        """
        self.require_reading(request)
        artifact = self.get_row(request, str(artifact_id))
        try:
            with available_files():
                stored = artifact.file.open("rb")
                is_altered = hashlib.file_digest(stored, "sha256").hexdigest() != artifact.sha256
                stored.seek(0)
        except FileNotFoundError as error:
            raise Http404(f"The file of artifact {artifact_id} does not exist.") from error
        self.note_access(request, AccessKind.DOWNLOAD, artifact.pk)
        filename = header_name(artifact.filename)
        if is_altered:
            filename = f"altered-{filename}"
        content: IO[bytes] = stored
        masked = _masked_content(artifact, stored)
        if masked is not None:
            filename = f"masked-{filename}"
            stored.close()
            content = BytesIO(masked)
        return FileResponse(
            content,
            as_attachment=True,
            filename=filename,
            content_type="application/octet-stream",
            headers={"X-Content-Type-Options": "nosniff"},
        )

    def picture_view(self, request: HttpRequest, artifact_id: int) -> HttpResponse:
        """Return the picture for the page of the artifact; 404 for other files, and for one that was altered."""
        self.require_reading(request)
        artifact = self.get_row(request, str(artifact_id))
        if artifact.mime_type not in INLINE_IMAGES:
            raise Http404(f"The file of artifact {artifact_id} is no picture.")
        try:
            content = artifact.read()
        except FileNotFoundError as error:
            raise Http404(f"The file of artifact {artifact_id} does not exist.") from error
        except AlteredFileError as error:
            raise Http404(f"The file of artifact {artifact_id} is not the one that was stored.") from error
        # The type of a file is its sender's claim.
        if signed_type(content[:BEGINNING]) != artifact.mime_type:
            raise Http404(f"The file of artifact {artifact_id} is no picture of its type.")
        # The detail tells this record from that of the page, which asks for the picture.
        self.note_access(request, AccessKind.OPEN, artifact.pk, "picture")
        return HttpResponse(
            content, content_type=artifact.mime_type, headers={"X-Content-Type-Options": "nosniff"}
        )

    @admin.display(description=_("Size"), ordering="size")
    def readable_size(self, artifact: Artifact) -> str:
        return filesizeformat(artifact.size)

    @admin.display(description="SHA-256", ordering="sha256")
    def short_sha256(self, artifact: Artifact) -> SafeString:
        return format_html('<code title="{}">{}…</code>', artifact.sha256, artifact.sha256[:12])

    @admin.display(description="SHA-256")
    def checked_sha256(self, artifact: Artifact) -> SafeString | str:
        try:
            found = artifact.hash_of_bytes()
        except OSError:  # the preview says so
            return artifact.sha256
        if found == artifact.sha256:
            return artifact.sha256
        words = gettext("This file is not the one that was stored: its SHA-256 is now {0}.").format(found)
        return format_html('{} <strong class="audit-bad">{}</strong>', artifact.sha256, words)

    @admin.display(description=_("Saved by"))
    def saved_by(self, artifact: Artifact) -> str:
        """Link to the event of the call that saved the file, or to the job."""
        if artifact.session is None:
            return NOTHING
        saved = {artifact.filename: artifact.version}
        events = artifact.session.events.filter(body__actions__artifactDelta__contains=saved).order_by("seq")
        seq = events.values_list("seq", flat=True).first()
        if seq is not None:
            return event_link(artifact.session.pk, seq)
        # No event has the files of a job in its artifact delta.
        job = artifact.session.jobs.filter(artifacts__contains=saved).first()
        if not job:
            return NOTHING
        return format_html('<a href="{}">{}</a>', row_url(job), job.tool_name)

    @admin.display(description=_("Content"))
    def download(self, artifact: Artifact) -> SafeString:
        return format_html('<a href="{}">{}</a>', row_url(artifact, "download"), _("Download"))

    @admin.display(description=_("Beginning of the text, or picture"))
    def preview(self, artifact: Artifact) -> SafeString | str:
        # `file_text` says that the file is missing, or the storage down, and `checked_sha256` that it was altered.
        with suppress(OSError, AlteredFileError):
            if _is_picture(artifact):
                picture = '<img class="audit-picture" src="{}" alt="{}">'
                return format_html(picture, row_url(artifact, "picture"), artifact.filename)
        return file_text(artifact)

    @admin.display(description=_("Changes since the version before"))
    def changes(self, artifact: Artifact) -> str:
        return file_changes(artifact) or NOTHING


def _is_picture(artifact: Artifact) -> bool:
    """True if the file has pixels and begins as one of its type.

    Raises:
        AlteredFileError: somebody has changed the file in the storage.
        FileNotFoundError: the storage does not have the file.
    """
    if artifact.mime_type not in INLINE_IMAGES:
        return False
    return signed_type(artifact.read(BEGINNING)) == artifact.mime_type


def _masked_content(artifact: Artifact, content: IO[bytes]) -> bytes | None:
    """Return a text file with its secrets masked; None for any other file, and for a text without secrets.

    Args:
        content: the open file, which is at its beginning afterwards.

    Raises:
        PermissionDenied: the text is too large to be masked.
    """
    if is_unmasked() or not is_text(artifact.mime_type):
        return None
    if artifact.size > MAX_MASKED_BYTES:
        content.close()
        raise PermissionDenied(
            "This file is too large to be masked. Show the masked values of its session first."
        )
    text = text_of(artifact.mime_type, content.read())
    content.seek(0)
    masked = text and mask_text(text)
    return None if masked is None or masked == text else masked.encode()


def file_text(artifact: Artifact) -> SafeString | str:
    """Return the beginning of a text file, masked; for other files a sentence with the way to read them."""
    try:
        text = _text_of(artifact)
    except FileNotFoundError:
        return gettext("The storage of the site does not have this file: somebody has deleted it there.")
    except FilesUnavailableError as error:
        return str(error)
    if text is not None:
        return format_html(_BLOCK, text)
    return gettext("No text: download the file.")


def file_changes(artifact: Artifact) -> SafeString | None:
    """Return the changed lines since the version before; None unless both versions are texts."""
    before = artifact.versions.filter(version__lt=artifact.version).last()
    if before is None:
        return None
    try:
        old = _text_of(before)
        new = _text_of(artifact)
    except OSError:
        return None
    return None if old is None or new is None else changes_block(old, new)


def _text_of(artifact: Artifact) -> str | None:
    """Return the beginning of the file as text, masked; None when the file is no text.

    Raises:
        FileNotFoundError: the storage does not have the file.
    """
    with available_files(), artifact.file.open("rb") as file:
        text = text_of(artifact.mime_type, file.read(MAX_BYTES))
    if text is None:
        return None
    # `beginning_of` cuts no secret in two: a half of it would not be recognized and masked.
    shown = mask_text(beginning_of(text, TRUNCATE_AT))
    return shown if len(text) <= TRUNCATE_AT else f"{shown}\n…"
