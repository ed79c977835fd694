"""An `LlmRequest` as google-genai takes it."""

from __future__ import annotations

from typing import cast

from pydantic import TypeAdapter

from runtime import types
from runtime.models.llm_request import LlmRequest

_CONTENTS = TypeAdapter(list[types.Content])

_START = "Do what the system instruction says."
_GO_ON = "Go on as instructed. If nothing is left to do, sum up what was done."


def as_google_config(llm_request: LlmRequest) -> types.GenerateContentConfigDict:
    """The config of the call, with the contents inside it; the request stays as it is.

    google-genai validates and converts contents one by one, which blocks the event loop for 1.6 s at 5,000 of
    them. So they travel as `extra_body`, as JSON that pydantic makes in 5 ms, and `PLACEHOLDER` stands in
    their place. The config is a dict because google-genai copies a model deeply.
    """
    config = llm_request.config
    sent = {
        **dict(config),
        "http_options": with_contents(config.http_options, _ending_with_user(llm_request.contents)),
        # Function calls are the engine's business.
        "automatic_function_calling": types.AutomaticFunctionCallingConfig(disable=True),
    }
    return cast("types.GenerateContentConfigDict", sent)


def with_contents(options: types.HttpOptions | None, contents: list[types.Content]) -> types.HttpOptions:
    """The options with the contents in their body; an empty list adds none."""
    options = options or types.HttpOptions()
    if not contents:
        return options
    as_json = _CONTENTS.dump_python(contents, mode="json", by_alias=True, exclude_none=True)
    return options.model_copy(update={"extra_body": {**(options.extra_body or {}), "contents": as_json}})


PLACEHOLDER = types.Content(role="user", parts=[types.Part(text="…")])


def _ending_with_user(contents: list[types.Content]) -> list[types.Content]:
    """Gemini answers a user's content; a history that ends with the model's own gets a word to go on with."""
    if contents and contents[-1].role == "user":
        return contents
    text = _GO_ON if contents else _START
    return [*contents, types.Content(role="user", parts=[types.Part(text=text)])]
