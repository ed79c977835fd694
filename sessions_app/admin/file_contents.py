"""Contents of a file on its page: the beginning of its text, and the changes since the version before."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from sessions_app.models import Artifact
from sessions_app.rendering.audit_values import TRUNCATE_AT
from sessions_app.rendering.compared_lines import changes_block
from sessions_app.rendering.previews import MAX_BYTES, preview_of
from sessions_app.secrets.masking import beginning_of, mask_text

_BLOCK = '<pre class="audit-block" dir="auto" tabindex="0">{}</pre>'


def file_text(artifact: Artifact) -> SafeString | str:
    """Return the beginning of a text file, masked; for any other file a sentence that says what to do."""
    try:
        text = _text_of(artifact)
    except FileNotFoundError:
        return _("The storage of the site does not have this file: somebody has deleted it there.")
    return _("No text: download the file.") if text is None else format_html(_BLOCK, text)


def file_changes(artifact: Artifact) -> SafeString | None:
    """Return the lines that differ from the version before; None unless both versions are texts."""
    of_file = Artifact.objects.filter(
        app_name=artifact.app_name,
        user=artifact.user_id,
        session=artifact.session_id,
        filename=artifact.filename,
        version__lt=artifact.version,
    )
    before = of_file.order_by("-version").first()
    try:
        old, new = _text_of(before) if before else None, _text_of(artifact)
    except FileNotFoundError:
        return None
    return None if old is None or new is None else changes_block(old, new)


def _text_of(artifact: Artifact) -> str | None:
    """Return the beginning of the file as text, masked; None when the file is no text.

    Raises:
        FileNotFoundError: the storage does not have the file.
    """
    with artifact.file.open("rb") as file:
        beginning = file.read(MAX_BYTES)
    is_text = preview_of(artifact.mime_type, artifact.size, beginning).kind not in ("image", "none")
    if not is_text:
        return None
    text = beginning.decode("utf-8-sig", errors="replace")
    shown = mask_text(beginning_of(text, TRUNCATE_AT))
    return shown if len(text) <= TRUNCATE_AT else f"{shown}\n…"
