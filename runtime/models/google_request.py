"""Convert an `LlmRequest` to the arguments of google-genai.

google-genai validates and converts contents one by one, which blocks the event loop for 1.6 s with 5,000 contents.
Therefore the contents are sent in `extra_body`, as JSON that pydantic produces in 5 ms, and `PLACEHOLDER` is passed as
the `contents` argument.
"""

from typing import cast

from pydantic import TypeAdapter

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.models.request_contents import ending_with_user, without_foreign_signatures
from runtime.valid_text import valid_values

_CONTENTS = TypeAdapter(list[types.Content])


def as_google_config(llm_request: LlmRequest) -> types.GenerateContentConfigDict:
    """Return the config of the call, including the contents; the request is not changed."""
    config = llm_request.config
    # A dict, because google-genai would copy a pydantic model deeply.
    merged = {
        **dict(config),
        "http_options": with_contents(config.http_options, ending_with_user(llm_request.contents)),
        # The engine executes function calls.
        "automatic_function_calling": types.AutomaticFunctionCallingConfig(disable=True),
    }
    return cast("types.GenerateContentConfigDict", merged)


def with_contents(options: types.HttpOptions | None, contents: list[types.Content]) -> types.HttpOptions:
    """Return the options with the contents in their `extra_body`."""
    # `with_retries` repeats failed calls; google-genai's own retries would multiply the attempts.
    options = (options or types.HttpOptions()).model_copy(update={"retry_options": None})
    if not contents:
        return options
    # Gemini refuses requests with signatures of other models.
    own = without_foreign_signatures(contents)
    as_json = valid_values(_CONTENTS.dump_python(own, mode="json", by_alias=True, exclude_none=True))
    return options.model_copy(update={"extra_body": {**(options.extra_body or {}), "contents": as_json}})


PLACEHOLDER = types.Content(role="user", parts=[types.Part(text="…")])
