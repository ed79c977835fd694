"""Compression of pages and JSON. `adk_site/static_files.py` compresses static files.

A compressed page can betray a secret to a site that makes the user's browser request it many times with different text:
the response is shorter if the text repeats a part of the secret (BREACH, https://breachattack.com). Another site can
only choose the query of an address, and a page has secrets only if the request has the user's cookies. So responses to
requests with both are not compressed, and Django adds random bytes to all others. A CSRF token is masked differently in
each page.

Streaming responses are not compressed: downloads, because browsers show their length, and exports. Nor are responses
with an ETag, by which a program changes a session only if it is as the program has read it. Event streams,
streams of the API and websockets do not pass Django's middleware.
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressPages(GZipMiddleware):
    """Compress complete responses, except those that may contain a secret next to text chosen by another site."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        has_chosen_text = bool(request.META.get("QUERY_STRING")) and bool(request.COOKIES)
        # Compression makes an ETag weak, and a weak one never satisfies `If-Match` (RFC 9110, section 13.1.1).
        if response.streaming or has_chosen_text or response.has_header("ETag"):
            return response
        return super().process_response(request, response)
