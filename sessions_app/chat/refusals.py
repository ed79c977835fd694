"""Refusals over HTTP: the sentence of an error as JSON."""

from __future__ import annotations

from django.http import JsonResponse

from runtime.errors import AdkError
from sessions_app.chat.protocol import http_status


def refusal(error: AdkError) -> JsonResponse:
    """Return the response to a request that a use case refuses: the sentence under `error`."""
    return JsonResponse({"error": str(error)}, status=http_status(error))
