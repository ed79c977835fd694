"""Parts of the demo help desk: a model that needs no API key, orders, guides and a report."""

import re
from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

DEMO_MODEL = "demo"
API_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")

_GEMINI = re.compile("gemini-|models/|projects/")


def model_name(configured: str, environ: Mapping[str, str]) -> str:
    """Return the configured model, or the demo model instead of a Gemini model without an API key.

    For other models, `manage.py adk_check` reports a missing key.
    """
    if _GEMINI.match(configured) and not _has_api_key(environ):
        return DEMO_MODEL
    return configured


def banner(model: str, environ: Mapping[str, str]) -> str | Promise:
    """Return the notice about the demo model for pages of agents that ask it; empty for any other model."""
    if model != DEMO_MODEL:
        return ""
    if _has_api_key(environ):
        return gettext_lazy("A demo model answers.")
    return gettext_lazy("No API key is set: a demo model answers.")


def _has_api_key(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in API_KEYS)
