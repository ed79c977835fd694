"""The content types of google-genai. Only this module imports them; use `from runtime import types`."""

from google.genai.types import *  # noqa: F403  (a re-export: the names are google-genai's)
