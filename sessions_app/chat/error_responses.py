"""Responses to requests that a use case refuses: the sentence of the error as JSON."""

from __future__ import annotations

from django.http import JsonResponse

from runtime.errors import AdkError
from sessions_app.chat.protocol import http_status


def error_response(error: AdkError) -> JsonResponse:
    """Return the response with the sentence of an error under `error`."""
    return JsonResponse({"error": str(error)}, status=http_status(error))
