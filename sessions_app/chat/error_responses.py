"""Responses to requests that a use case refuses: the sentence of the error as JSON."""

from __future__ import annotations

from django.http import JsonResponse

from runtime.errors import AdkError
from sessions_app.errors import http_status
from sessions_app.rendering.sentences import in_language


def error_response(error: AdkError) -> JsonResponse:
    """Return a JSON response with the error's message under `error`, in the active language."""
    return JsonResponse({"error": in_language(str(error))}, status=http_status(error))
