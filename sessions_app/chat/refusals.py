"""Refusals over HTTP: the sentence of an error as JSON."""

from __future__ import annotations

from django.http import JsonResponse

from runtime.errors import AdkError
from sessions_app.chat.protocol import http_status
from sessions_app.sentences import in_language


def refusal(error: AdkError) -> JsonResponse:
    """Return the response to a request that a use case refuses: the sentence in the person's language under `error`."""
    return JsonResponse({"error": in_language(str(error))}, status=http_status(error))
