"""Compression of pages, JSON and static files. In production, static files are prepared when they are collected.

A compressed page can betray a secret to a site that makes the user's browser request it many times with different text:
the response is shorter if the text repeats a part of the secret (BREACH, https://breachattack.com). Another site can
only choose the query of an address, and a page has secrets only if the request has the user's cookies. So responses to
requests with both are not compressed, and Django adds random bytes to all others. A CSRF token is masked differently in
each page.

Streaming responses are not compressed: downloads, because browsers show their length, and exports. Nor are responses
with an ETag, by which a program changes a session only if it is as the program has read it. Event streams,
streams of the API and websockets do not pass Django's middleware.
"""

import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

import brotli
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.core.files.base import ContentFile, File
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Brotli is slow with its highest quality, but then the files have the size that they have in production.
_compress = lru_cache(maxsize=256)(brotli.compress)

_OWN_SCRIPT = re.compile(r"sessions_app/(?!vendor/)[\w/.]+\.js$")
_COMMENT = re.compile(rb"^[ \t]*(//|/\*\*|\*[ /]|\*$).*$", re.MULTILINE)
"""Line with only a comment or a part of one. Scripts of this repository have no other block comments."""


class CompressPages(GZipMiddleware):
    """Compress complete responses, except those that may contain a secret next to text chosen by another site."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        has_chosen_text = bool(request.META.get("QUERY_STRING")) and bool(request.COOKIES)
        # Compression makes an ETag weak, and a weak one never satisfies `If-Match` (RFC 9110, section 13.1.1).
        if response.streaming or has_chosen_text or response.has_header("ETag"):
            return response
        return super().process_response(request, response)


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


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no type hints
    """Answer requests for static files, and pass on all others without a thread that waits for their answers.

    WhiteNoise is synchronous. With many requests at once, Django would keep a thread for each, and threads that wait
    when the event loop ends would keep the process from ending.
    """

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        """Take the next middleware, which is synchronous or asynchronous."""
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Return the response; an awaitable of it if the next middleware is asynchronous."""
        response: HttpResponseBase | Awaitable[HttpResponseBase] = super().__call__(request)
        if iscoroutinefunction(self) and isinstance(response, HttpResponseBase):
            return _as_awaitable(response)
        return response


async def _as_awaitable(response: HttpResponseBase) -> HttpResponseBase:
    return response


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
