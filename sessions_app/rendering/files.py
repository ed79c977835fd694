"""Links to artifacts of a session."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext

from runtime.sessions.state import State
from sessions_app.models import Artifact
from sessions_app.rendering.hidden_characters import escape_hidden
from sessions_app.store.file_types import INLINE_IMAGES, named_type


@dataclass(frozen=True)
class FileLink:
    """Links to an artifact version.

    Attributes:
        name: the filename to show, without the prefix of a user's files, hidden characters as escapes.
        kind: extension in capital letters, such as PDF; empty without a short extension.
        url: address of the download.
        is_image: True if the type is that of an image that browsers show.
        is_of_user: True for a file of the user, which all sessions of the user have.
    """

    filename: str
    version: int
    name: str
    kind: str
    url: str
    preview_url: str
    is_image: bool

    @property
    def is_of_user(self) -> bool:
        return self.filename.startswith(State.USER_PREFIX)


def file_link(
    session_id: UUID | str, filename: str, version: int, mime_type: str = "", *, share_token: str = ""
) -> FileLink:
    """Return the links to an artifact version of the session or its user.

    Args:
        mime_type: type of the file, if it is known; by default that of the extension.
        share_token: token of the session's share link, for links that its readers may follow.
    """
    prefix = "chat:shared_" if share_token else "chat:"
    key = share_token or session_id
    query = urlencode({"version": version})
    name = filename.removeprefix(State.USER_PREFIX)
    _, dot, suffix = name.rpartition(".")
    kind = ""
    if dot and len(suffix) <= 5 and suffix.isalnum():
        kind = suffix.upper()
    return FileLink(
        filename=filename,
        version=version,
        name=escape_hidden(name),  # U+202E in a name can show a program as a picture.
        kind=kind,
        url=f"{reverse(f'{prefix}artifact', args=[key, filename])}?{query}",
        preview_url=f"{reverse(f'{prefix}preview', args=[key, filename])}?{query}",
        is_image=(mime_type or named_type(filename)) in INLINE_IMAGES,
    )


def file_links(session_id: UUID | str, artifacts: Mapping[str, int]) -> list[FileLink]:
    """Return links to artifacts of the session, given as {filename: version}; images first, then by name."""
    links = [file_link(session_id, filename, version) for filename, version in artifacts.items()]
    return sorted(links, key=lambda link: (not link.is_image, link.name))


def file_facts(row: Artifact, link: FileLink) -> str:
    """Return kind, size and version of a file as text; the version is left out for the first."""
    version = gettext("version %(number)s") % {"number": row.version + 1} if row.version else ""
    return " · ".join(filter(None, (link.kind, filesizeformat(row.size), version)))
