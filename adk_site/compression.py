"""Compression of pages, JSON and static files.

A compressed page can betray a secret to a site that sends the user's browser there again and again with other text: the
page is shorter when the text repeats a part of the secret (BREACH, https://breachattack.com). Another site can choose
only the query of an address, and needs the user's cookies to get a page with secrets. So the answer to such a request
is sent as it is, and Django adds random bytes to all others. A CSRF token is masked differently in each page.

Responses that stream are left alone: downloads, whose length browsers show, and exports. Event streams, streams of the
API and websockets do not pass Django's middleware.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from adk_site.static_files import strip_comments


class CompressPages(GZipMiddleware):
    """Compress complete responses, except those in which another site could choose text beside a secret."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        has_chosen_text = bool(request.META.get("QUERY_STRING")) and bool(request.COOKIES)
        if response.streaming or has_chosen_text:
            return response
        return super().process_response(request, response)


class CompressStaticFiles(GZipMiddleware):
    """Compress static files as they are sent: in development they are not prepared as `HashedStaticFiles` does."""

    max_random_bytes = 0  # nothing in them is secret

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_text = response.get("Content-Type", "").startswith("text/")
        if not is_text or response.status_code != 200 or not request.path.startswith(settings.STATIC_URL):
            return response
        if isinstance(response, StreamingHttpResponse):
            content = b"".join(response.streaming_content)  # type: ignore[arg-type]  # of a file, not asynchronous
            response.streaming_content = [strip_comments(request.path, content)]
        return super().process_response(request, response)
