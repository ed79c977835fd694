"""Static files in production: hashed names, compressed copies, and scripts without comments."""

from __future__ import annotations

import re

from django.core.files.base import ContentFile, File
from whitenoise.storage import CompressedManifestStaticFilesStorage

_OWN_SCRIPT = re.compile(r"sessions_app/(?!vendor/)[\w/.]+\.js$")
_COMMENT = re.compile(rb"^[ \t]*(//|/\*\*|\*[ /]|\*$).*$", re.MULTILINE)
"""Line with only a comment or a part of one. Scripts of this repository have no other block comments."""


def strip_comments(name: str, content: bytes) -> bytes:
    """Return a script of this repository without comments; return other files unchanged.

    The code and its line numbers stay the same.
    """
    # Comments are a fifth of the bytes that a browser would load.
    return _COMMENT.sub(b"", content) if _OWN_SCRIPT.search(name) else content


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no type hints
    """Give each file a name with its hash, also in the imports of JavaScript modules.

    A browser may cache a file for a year, and loads a changed module under its new name. Source:
    https://docs.djangoproject.com/en/5.2/ref/contrib/staticfiles/#manifeststaticfilesstorage
    """

    support_js_module_import_aggregation = True
    max_post_process_passes = 20
    """Each pass renames the modules that import modules renamed in the pass before."""

    def _save(self, name: str, content: File[bytes]) -> str:
        whole = b"".join(content.chunks())
        saved: str = super()._save(name, ContentFile(strip_comments(name, whole)))
        return saved
