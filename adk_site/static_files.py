"""Static files: middleware that serves them, and their storage in production, which prepares the collected files."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import brotli
from django.conf import settings
from django.core.files.base import ContentFile, File
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

from sessions_app.asgi.middleware import before_views

# Brotli is slow with its highest quality, but then the files have the size that they have in production.
_compress = lru_cache(maxsize=256)(brotli.compress)

_OWN_SCRIPT = re.compile(r"sessions_app/(?!vendor/)[\w/.]+\.js$")
_COMMENT = re.compile(rb"^[ \t]*(//|/\*\*|\*[ /]|\*$).*$", re.MULTILINE)
"""Line with only a comment or a part of one. Scripts of this repository have no other block comments."""


class CompressStaticFiles(GZipMiddleware):
    """Compress static files when they are sent: in development, `HashedStaticFiles` does not prepare them.

    Browsers accept Brotli from HTTPS and from this machine, and only gzip from other addresses.
    """

    max_random_bytes = 0  # nothing in them is secret

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_text = response.get("Content-Type", "").startswith("text/")
        if not is_text or response.status_code != 200 or not request.path.startswith(settings.STATIC_URL):
            return response
        if isinstance(response, StreamingHttpResponse):
            content = b"".join(response.streaming_content)  # type: ignore[arg-type]  # of a file, not asynchronous
            content = strip_comments(request.path, content)
            if "br" in request.headers.get("Accept-Encoding", ""):
                content = _compress(content)
                response["Content-Encoding"] = "br"
                response["Content-Length"] = len(content)
                patch_vary_headers(response, ["Accept-Encoding"])
            response.streaming_content = [content]
        return super().process_response(request, response)


def strip_comments(name: str, content: bytes) -> bytes:
    """Return a script of this repository without comments; return other files unchanged.

    The code and its line numbers stay the same.
    """
    # Comments are a fifth of the bytes that a browser would load.
    return _COMMENT.sub(b"", content) if _OWN_SCRIPT.search(name) else content


@sync_and_async_middleware
def serve_static_files(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Answer requests for static files by WhiteNoise, and pass on all others.

    WhiteNoise's middleware is synchronous. With many requests at once, Django would keep a thread for each, and threads
    that wait when the event loop ends would keep the process from ending.
    """
    find_file = WhiteNoiseMiddleware(lambda request: None)
    return before_views(find_file)(get_response)


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no type hints
    """Give each file a name with its hash, also in the imports of JavaScript modules.

    A browser may cache a file for a year, and loads a changed module under its new name. Source:
    https://docs.djangoproject.com/en/5.2/ref/contrib/staticfiles/#manifeststaticfilesstorage
    """

    support_js_module_import_aggregation = True
    max_post_process_passes = 20
    """Each pass renames the modules that import modules renamed in the pass before."""

    def _save(self, name: str, content: "File[bytes]") -> str:
        whole = b"".join(content.chunks())
        saved: str = super()._save(name, ContentFile(strip_comments(name, whole)))
        return saved
