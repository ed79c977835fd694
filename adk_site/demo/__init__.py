"""Parts of the demo help desk: a model that needs no API key, orders, guides and a report."""

from __future__ import annotations

from collections.abc import Mapping

DEMO_MODEL = "demo"
API_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")


def model_name(configured: str, environ: Mapping[str, str]) -> str:
    """Return the configured model if an API key is set, else the demo model."""
    return configured if _has_api_key(environ) else DEMO_MODEL


def banner(model: str, environ: Mapping[str, str]) -> str:
    """Return the page's notice that the demo model answers; empty for any other model."""
    if model != DEMO_MODEL:
        return ""
    if _has_api_key(environ):
        return f"ADK_MODEL is {DEMO_MODEL!r}: a built-in demo model answers."
    return "No API key is set: a built-in demo model answers."


def _has_api_key(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in API_KEYS)
