"""Re-export of google-genai's content types. All other modules use `from runtime import types`."""

from google.genai.types import *  # noqa: F403  # google-genai's own list of names
