"""Convert an `LlmRequest` to the arguments of a chat completion."""

from __future__ import annotations

import base64
import json

from runtime import types
from runtime.models.call_ids import CallIds
from runtime.models.declared_functions import choice_of, functions_of, response_text, system_text
from runtime.models.json_schema import Json, closed, output_schema
from runtime.models.llm_request import LlmRequest
from runtime.models.request_contents import ending_with_user, part_text, unreadable_file

_TOOL_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def as_chat_completion(llm_request: LlmRequest, model: str, max_tokens_name: str) -> Json:
    """Return the arguments without the model; the request is not changed.

    Args:
        llm_request: the request.
        model: the model's name, for errors.
        max_tokens_name: the name of the argument that limits the tokens; OpenAI's differs from that of other servers.
    """
    config = llm_request.config
    options = {
        "temperature": config.temperature,
        "top_p": config.top_p,
        "stop": config.stop_sequences,
        "seed": config.seed,
        "presence_penalty": config.presence_penalty,
        "frequency_penalty": config.frequency_penalty,
        max_tokens_name: config.max_output_tokens,
        "reasoning_effort": _reasoning_effort(config),
        "response_format": _response_format(config),
        "extra_headers": config.http_options.headers if config.http_options else None,
        "extra_body": config.http_options.extra_body if config.http_options else None,
        **_tools(config, model),
    }
    return {
        "messages": _messages(llm_request),
        **{name: value for name, value in options.items() if value is not None},
    }


def _tools(config: types.GenerateContentConfig, model: str) -> Json:
    functions = functions_of(config, model)
    if not functions:
        return {}
    tools = [
        {
            "type": "function",
            "function": {
                "name": function.name,
                "description": function.description,
                "parameters": function.parameters,
            },
        }
        for function in functions
    ]
    choice = choice_of(config)
    return {"tools": tools, "tool_choice": None if choice == "auto" else _TOOL_CHOICES[choice]}


def _reasoning_effort(config: types.GenerateContentConfig) -> str | None:
    level = config.thinking_config.thinking_level if config.thinking_config else None
    is_set = level is not None and level is not types.ThinkingLevel.THINKING_LEVEL_UNSPECIFIED
    return str(level.value).lower() if level is not None and is_set else None


def _response_format(config: types.GenerateContentConfig) -> Json | None:
    schema = output_schema(config)
    if schema is not None:
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": closed(schema)}}
    return {"type": "json_object"} if config.response_mime_type == "application/json" else None


def _messages(llm_request: LlmRequest) -> list[Json]:
    instruction = system_text(llm_request.config)
    messages: list[Json] = [{"role": "system", "content": instruction}] if instruction else []
    ids = CallIds()
    for content in ending_with_user(llm_request.contents):
        parts = content.parts or []
        messages += _assistant_messages(parts, ids) if content.role == "model" else _user_messages(parts, ids)
    return messages


def _assistant_messages(parts: list[types.Part], ids: CallIds) -> list[Json]:
    """Return the message of a model, without its thoughts, which the protocol has no place for."""
    said = [part_text(part) for part in parts if not part.thought]
    text = "".join(filter(None, said))
    calls = [_tool_call(part.function_call, ids) for part in parts if part.function_call]
    if not text and not calls:
        return []
    return [{"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}]


def _tool_call(call: types.FunctionCall, ids: CallIds) -> Json:
    arguments = json.dumps(call.args or {}, ensure_ascii=False)
    return {
        "id": ids.of_call(call),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _user_messages(parts: list[types.Part], ids: CallIds) -> list[Json]:
    """Return a message for each result, then one with the other parts."""
    results: list[Json] = []
    others: list[Json] = []
    for part in parts:
        if part.function_response is None:
            others += _user_part(part)
            continue
        text = response_text(part.function_response)
        call_id = ids.of_response(part.function_response)
        if call_id is None:
            others.append(_text_part(f"Result of {part.function_response.name}: {text}"))
        else:
            results.append({"role": "tool", "tool_call_id": call_id, "content": text})
    if not others:
        return results
    is_plain = len(others) == 1 and others[0]["type"] == "text"
    return [*results, {"role": "user", "content": others[0]["text"] if is_plain else others}]


def _user_part(part: types.Part) -> list[Json]:
    if part.inline_data is not None:
        return [_file_part(part.inline_data)]
    if part.file_data is not None:
        mime_type = part.file_data.mime_type or ""
        uri = part.file_data.file_uri or ""
        if mime_type.startswith("image/") and uri.startswith(("https://", "http://")):
            return [{"type": "image_url", "image_url": {"url": uri}}]
        raise unreadable_file(mime_type)
    text = part_text(part)
    return [_text_part(text)] if text else []


def _file_part(blob: types.Blob) -> Json:
    mime_type = (blob.mime_type or "").partition(";")[0]
    data = blob.data or b""
    if mime_type.startswith("text/"):
        return _text_part(data.decode(errors="replace"))
    encoded = base64.b64encode(data).decode()
    uri = f"data:{mime_type};base64,{encoded}"
    if mime_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": uri}}
    if mime_type in _AUDIO_FORMATS:
        audio = {"data": encoded, "format": _AUDIO_FORMATS[mime_type]}
        return {"type": "input_audio", "input_audio": audio}
    if mime_type == "application/pdf":
        return {"type": "file", "file": {"filename": blob.display_name or "file.pdf", "file_data": uri}}
    raise unreadable_file(mime_type)


def _text_part(text: str) -> Json:
    return {"type": "text", "text": text}
