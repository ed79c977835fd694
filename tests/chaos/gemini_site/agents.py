"""The agent of the other half of the people: its model is behind the client that real models are asked with."""

from __future__ import annotations

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import Gemini
from tests.chaos.site.tools import TOOLS

RETRY = types.HttpRetryOptions(attempts=8, initial_delay=0.2, max_delay=1.0, jitter=0.2)

# Where it is asked stands in GOOGLE_GEMINI_BASE_URL.
app = App(
    name="chaos_gemini",
    root_agent=LlmAgent(
        name="obedient", model=Gemini(model="gemini-chaos", retry_options=RETRY), tools=TOOLS
    ),
)
