"""A model request as the test's model received it, to compare with the one that its record gives back."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import types
from runtime.engine.request_record import RebuiltRequest, as_json
from runtime.models.json_schema import json_schema_of


def request_as_json(
    model: str | None, config: types.GenerateContentConfig, contents: Sequence[types.Content]
) -> RebuiltRequest:
    """Return a request as `rebuild` returns it, from the request itself."""
    apart = {"system_instruction", "tools", "response_schema", "http_options"}
    rest = as_json(config, exclude=apart)
    if config.response_schema is not None:
        rest["responseSchema"] = json_schema_of(config.response_schema)
    return RebuiltRequest(
        model=model,
        system_instruction=as_json(config.system_instruction) or None,
        tools=as_json(config.tools) or None,
        config=rest or None,
        contents=[as_json(content) for content in contents],
    )
