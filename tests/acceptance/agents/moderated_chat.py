"""A chat that a plugin moderates: forbidden words reach no agent, and no answer has a telephone number."""

import re

from google.genai import types

from runtime.agents import InvocationContext, LlmAgent
from runtime.agents.callback_context import CallbackContext
from runtime.apps import App
from runtime.models import LlmResponse
from runtime.plugins import BasePlugin

MODEL = "gemini-2.5-flash"
NUMBER = re.compile(r"\+?\d[\d ]{6,}\d")


class Moderation(BasePlugin):
    """Refuses messages and hides telephone numbers, for every agent of the app."""

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        content = invocation_context.user_content
        said = " ".join(part.text or "" for part in content.parts or []) if content else ""
        if "spam" not in said.lower():
            return None
        return types.Content(role="model", parts=[types.Part(text="Please be kind.")])

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        parts = llm_response.content.parts if llm_response.content else None
        if not parts or not any(NUMBER.search(part.text or "") for part in parts):
            return None
        callback_context.state["hidden"] = callback_context.state.get("hidden", 0) + 1
        hidden = [types.Part(text=NUMBER.sub("…", part.text)) if part.text else part for part in parts]
        return LlmResponse(content=types.Content(role="model", parts=hidden))


helper = LlmAgent(name="helper", model=MODEL, description="Knows people.", instruction="Help.")
app = App(
    name="chat",
    root_agent=LlmAgent(name="host", model=MODEL, instruction="Chat.", sub_agents=[helper]),
    plugins=[Moderation(name="moderation")],
)
