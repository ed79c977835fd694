"""LlmEventSummarizer: summarizes events with a model (contract R4)."""

from collections.abc import Iterable

from runtime import types
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.engine.contents import without_framework_parts
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions, EventCompaction
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import parts_in, text_in
from runtime.models.rate_limit import ask_for_whole
from runtime.valid_text import json_text, shortened

PLACEHOLDER = "{conversation_history}"
MAX_VALUE_LENGTH = 2_000
"""Characters of a call's arguments or response to show to the model."""

DEFAULT_PROMPT = f"""\
Below is the earlier part of a conversation between a user and one or more AI agents. It will be replaced by what you \
write, and the agents go on from your text alone. Sum it up so that nothing they need is lost: what the user wants and \
has decided, names, numbers and dates as they were given, what tools were called for and what came of it, what was \
promised, and what is still open. An earlier summary may come first: keep what still matters of it. Leave out \
greetings and what was settled. Write plainly, as short as that allows, in the language of the conversation, and do \
not answer the user.

{PLACEHOLDER}
"""


class LlmEventSummarizer(BaseEventsSummarizer):
    """Summarizer with a model.

    Args:
        llm: model to call.
        prompt_template: prompt with the placeholder `{conversation_history}`.

    Raises:
        ConfigurationError: the template lacks the placeholder.
    """

    def __init__(self, llm: BaseLlm, prompt_template: str | None = None) -> None:
        self._llm = llm
        self._template = prompt_template or DEFAULT_PROMPT
        if PLACEHOLDER not in self._template:
            raise ConfigurationError(
                f"The prompt_template of LlmEventSummarizer needs the placeholder {PLACEHOLDER}."
            )

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return the model's summary, or None if there is no text to summarize or the model returns no text.

        Raises:
            ModelError: the model call failed.
        """
        lines: list[str] = []
        for event in events:
            lines += _lines(event)
        if not lines:
            return None
        conversation = "\n".join(lines)
        # Not `str.format`: template and conversation may contain braces.
        prompt = self._template.replace(PLACEHOLDER, conversation)
        content = types.Content(role="user", parts=[types.Part(text=prompt)])
        response = await ask_for_whole(self._llm, LlmRequest(model=self._llm.model, contents=[content]))
        text = text_in(response.content)
        if not text.strip():
            return None
        compaction = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=types.Content(role="model", parts=[types.Part(text=text)]),
        )
        return Event(
            author="user",
            usage_metadata=response.usage_metadata,
            actions=EventActions(compaction=compaction),
        )


def _lines(event: Event) -> Iterable[str]:
    """Yield a line for each part of the event; skip thoughts and the framework's requests."""
    for part in parts_in(without_framework_parts(event).content):
        if part.text and part.text.strip() and not part.thought:
            yield f"{event.author}: {part.text.strip()}"
        elif part.function_call:
            yield f"{event.author} called {part.function_call.name}: {_shortened_json(part.function_call.args)}"
        elif part.function_response:
            yield f"{part.function_response.name} returned: {_shortened_json(part.function_response.response)}"
        elif part.inline_data or part.file_data:
            yield f"{event.author} attached a file."


def _shortened_json(value: object) -> str:
    return shortened(json_text(value or {}), MAX_VALUE_LENGTH)
