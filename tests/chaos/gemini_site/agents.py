"""The agent of one half of the people: it asks its model through the real Gemini client."""

from __future__ import annotations

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import Gemini
from tests.chaos.site.tools import TOOLS

RETRY = types.HttpRetryOptions(attempts=8, initial_delay=0.2, max_delay=1.0, jitter=0.2)

# The Gemini client reads the model server's URL from GOOGLE_GEMINI_BASE_URL.
app = App(
    name="chaos_gemini",
    root_agent=LlmAgent(
        name="obedient", model=Gemini(model="gemini-chaos", retry_options=RETRY), tools=TOOLS
    ),
)
