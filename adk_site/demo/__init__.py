"""What the demo help desk is made of: a model for want of a real one, orders, guides, a report."""

from __future__ import annotations

from collections.abc import Mapping

DEMO_MODEL = "demo"
API_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")


def model_name(wanted: str, environ: Mapping[str, str]) -> str:
    """The wanted model if there is a key to ask it with, else the demo model."""
    return wanted if _has_api_key(environ) else DEMO_MODEL


def banner(chosen: str, environ: Mapping[str, str]) -> str:
    """What the page says about the model; nothing when a real one answers."""
    if chosen != DEMO_MODEL:
        return ""
    if _has_api_key(environ):
        return f"ADK_MODEL is {DEMO_MODEL!r}: a built-in demo model answers."
    return "No API key is set: a built-in demo model answers."


def _has_api_key(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in API_KEYS)
