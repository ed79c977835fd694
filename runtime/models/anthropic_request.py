"""Convert an `LlmRequest` to the arguments of Anthropic's messages API."""

import base64

from runtime import types
from runtime.models.declared_functions import (
    CallIds,
    choice_of,
    functions_of,
    given_options,
    response_text,
    system_text,
)
from runtime.models.json_schema import Json, closed, output_schema
from runtime.models.llm_request import LlmRequest
from runtime.models.request_contents import (
    REDACTED_BY_CLAUDE,
    SIGNED_BY_CLAUDE,
    ending_with_user,
    part_text,
    unreadable_file,
    with_files_from_user,
)

# The API refuses smaller budgets.
_MIN_BUDGET = 1024


def as_message(llm_request: LlmRequest, model: str, max_tokens: int) -> Json:
    """Return the arguments except the model; the request is not changed.

    Temperature, `top_p` and `top_k` are left out: the client has no such arguments.

    Args:
        model: the model's name, for errors.
        max_tokens: limit of an answer without its thoughts, for requests without a limit.
    """
    config = llm_request.config
    thinking = _thinking(config)
    is_thinking = thinking is not None and thinking["type"] != "disabled"
    options = {
        # The API's limit includes thoughts.
        "max_tokens": config.max_output_tokens or max_tokens + (thinking or {}).get("budget_tokens", 0),
        "messages": _messages(llm_request.contents),
        "system": system_text(config) or None,
        "stop_sequences": config.stop_sequences,
        "thinking": thinking,
        "output_config": _output_config(config),
        **_tools(config, model, is_thinking),
    }
    return given_options(config, options)


def _tools(config: types.GenerateContentConfig, model: str, is_thinking: bool) -> Json:
    functions = functions_of(config, model)
    if not functions:
        return {}
    tools: list[Json] = []
    for function in functions:
        declaration = {"name": function.name, "description": function.description}
        tools.append({**declaration, "input_schema": function.parameters})
    choice = choice_of(config)
    # While it thinks, Claude cannot be forced to call a function.
    forced = choice == "none" or (choice == "any" and not is_thinking)
    return {"tools": tools, "tool_choice": {"type": choice} if forced else None}


def _thinking(config: types.GenerateContentConfig) -> Json | None:
    given = config.thinking_config
    if given is None:
        return None
    if given.thinking_budget == 0:
        return {"type": "disabled"}
    if given.thinking_budget is not None and given.thinking_budget > 0:
        return {"type": "enabled", "budget_tokens": max(given.thinking_budget, _MIN_BUDGET)}
    if given.include_thoughts:
        return {"type": "adaptive", "display": "summarized"}
    return {"type": "adaptive"}


def _output_config(config: types.GenerateContentConfig) -> Json | None:
    schema = output_schema(config)
    if schema is None:
        return None
    return {"format": {"type": "json_schema", "schema": closed(schema)}}


def _messages(contents: list[types.Content]) -> list[Json]:
    """Return a message for each run of contents with the same role."""
    ids = CallIds()
    messages: list[Json] = []
    for content in with_files_from_user(ending_with_user(contents)):
        role = "assistant" if content.role == "model" else "user"
        blocks = _blocks(content.parts or [], ids)
        # Results must follow their calls immediately, in one message.
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    return messages


def _blocks(parts: list[types.Part], ids: CallIds) -> list[Json]:
    blocks: list[Json] = []
    thought = ""
    for part in parts:
        if not part.thought:
            blocks += _block(part, ids)
            continue
        # A streamed thought is a part with the text and a part with the signature.
        thought += part.text or ""
        if part.thought_signature:
            blocks += _signed_thought(thought, part.thought_signature)
            thought = ""
    return sorted(blocks, key=lambda block: block["type"] != "tool_result")  # Results come first.


def _signed_thought(thought: str, signature: bytes) -> list[Json]:
    """Return the thought as Claude sent it; nothing for a thought of another model."""
    if signature.startswith(REDACTED_BY_CLAUDE):
        return [{"type": "redacted_thinking", "data": signature.removeprefix(REDACTED_BY_CLAUDE).decode()}]
    if signature.startswith(SIGNED_BY_CLAUDE):
        signed = signature.removeprefix(SIGNED_BY_CLAUDE).decode()
        return [{"type": "thinking", "thinking": thought, "signature": signed}]
    return []


def _block(part: types.Part, ids: CallIds) -> list[Json]:
    if part.function_call is not None:
        call = part.function_call
        return [{"type": "tool_use", "id": ids.of_call(call), "name": call.name, "input": call.args or {}}]
    if part.function_response is not None:
        return [_result_block(part.function_response, ids)]
    if part.inline_data is not None:
        return [_file_block(part.inline_data)]
    if part.file_data is not None:
        return [_linked_file_block(part.file_data)]
    text = part_text(part)
    # The API refuses blank texts.
    return [{"type": "text", "text": text}] if text.strip() else []


def _result_block(response: types.FunctionResponse, ids: CallIds) -> Json:
    text = response_text(response)
    call_id = ids.of_response(response)
    # The API refuses a result whose call is not in the contents.
    if call_id is None:
        return {"type": "text", "text": f"Result of {response.name}: {text}"}
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def _file_block(blob: types.Blob) -> Json:
    mime_type = (blob.mime_type or "").partition(";")[0]
    data = blob.data or b""
    if mime_type.startswith("text/"):
        return {"type": "text", "text": data.decode(errors="replace")}
    source = {"type": "base64", "media_type": mime_type, "data": base64.b64encode(data).decode()}
    return {"type": _block_type(mime_type), "source": source}


def _linked_file_block(file: types.FileData) -> Json:
    block_type = _block_type(file.mime_type or "")
    uri = file.file_uri or ""
    if not uri.startswith(("https://", "http://")):
        raise unreadable_file(file.mime_type or "")
    return {"type": block_type, "source": {"type": "url", "url": uri}}


def _block_type(mime_type: str) -> str:
    if mime_type.startswith("image/"):
        return "image"
    if mime_type == "application/pdf":
        return "document"
    raise unreadable_file(mime_type)
