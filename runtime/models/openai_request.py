"""Convert an `LlmRequest` to the arguments of a chat completion."""

import base64
import json

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
    REASONING_CONTENT,
    SIGNED_IN_CHAT,
    ending_with_user,
    is_user_message,
    part_text,
    unreadable_file,
    with_files_from_user,
)

_TOOL_CHOICES = {"any": "required", "none": "none"}
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def as_chat_completion(llm_request: LlmRequest, model: str, max_tokens_name: str) -> Json:
    """Return the arguments except the model; the request is not changed.

    Args:
        model: the model's name, for errors.
        max_tokens_name: name of the argument that limits the tokens; OpenAI and other servers use different names.
    """
    config = llm_request.config
    options = {
        "messages": _messages(llm_request),
        "temperature": config.temperature,
        "top_p": config.top_p,
        "stop": config.stop_sequences,
        "seed": config.seed,
        "presence_penalty": config.presence_penalty,
        "frequency_penalty": config.frequency_penalty,
        max_tokens_name: config.max_output_tokens,
        "reasoning_effort": _reasoning_effort(config),
        "response_format": _response_format(config),
        **_tools(config, model),
    }
    return given_options(config, options)


def _tools(config: types.GenerateContentConfig, model: str) -> Json:
    functions = functions_of(config, model)
    if not functions:
        return {}
    tools = []
    for function in functions:
        declaration = {
            "name": function.name,
            "description": function.description,
            "parameters": function.parameters,
        }
        tools.append({"type": "function", "function": declaration})
    return {"tools": tools, "tool_choice": _TOOL_CHOICES.get(choice_of(config))}


def _reasoning_effort(config: types.GenerateContentConfig) -> str | None:
    if config.thinking_config is None:
        return None
    level = config.thinking_config.thinking_level
    if level is None or level is types.ThinkingLevel.THINKING_LEVEL_UNSPECIFIED:
        return None
    return str(level.value).lower()


def _response_format(config: types.GenerateContentConfig) -> Json | None:
    schema = output_schema(config)
    if schema is not None:
        # `closed`, because OpenAI refuses schemas of objects that allow further properties.
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": closed(schema)}}
    if config.response_mime_type == "application/json":
        return {"type": "json_object"}
    return None


def _messages(llm_request: LlmRequest) -> list[Json]:
    messages: list[Json] = []
    instruction = system_text(llm_request.config)
    if instruction:
        messages.append({"role": "system", "content": instruction})
    ids = CallIds()
    turn_begins = -1
    for index, content in enumerate(llm_request.contents):
        if is_user_message(content):
            turn_begins = index
    contents = with_files_from_user(ending_with_user(llm_request.contents))
    for index, content in enumerate(contents):
        if content.role == "model":
            messages += _assistant_messages(content.parts or [], ids, in_turn=index > turn_begins)
        else:
            messages += _user_messages(content.parts or [], ids)
    return messages


def _assistant_messages(parts: list[types.Part], ids: CallIds, *, in_turn: bool) -> list[Json]:
    """Return the message of a model, if it has text or calls.

    The protocol has no field for thoughts, so they are left out.
    """
    text = "".join(part_text(part) for part in parts if not part.thought)
    calls = [_tool_call(part, ids) for part in parts if part.function_call]
    if not text and not calls:
        return []
    message: Json = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
        # DeepSeek requires the thoughts of the current turn in this field. The mark shows that the server has sent
        # the field; other servers get none.
        if in_turn and any(part.thought_signature == REASONING_CONTENT for part in parts):
            message["reasoning_content"] = "".join(part.text or "" for part in parts if part.thought)
    return [message]


def _tool_call(part: types.Part, ids: CallIds) -> Json:
    call = part.function_call or types.FunctionCall()
    arguments = json.dumps(call.args or {}, ensure_ascii=False)
    made: Json = {
        "id": ids.of_call(call),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    signature = part.thought_signature or b""
    if signature.startswith(SIGNED_IN_CHAT):
        google = {"thought_signature": signature.removeprefix(SIGNED_IN_CHAT).decode()}
        made["extra_content"] = {"google": google}
    return made


def _user_messages(parts: list[types.Part], ids: CallIds) -> list[Json]:
    """Return a message for each function response, then a message with the other parts."""
    results: list[Json] = []
    others: list[Json] = []
    for part in parts:
        if part.function_response is None:
            others += _user_part(part)
            continue
        text = response_text(part.function_response)
        call_id = ids.of_response(part.function_response)
        if call_id is None:
            # The protocol refuses a result whose call is not in the contents.
            others.append(_text_part(f"Result of {part.function_response.name}: {text}"))
        else:
            results.append({"role": "tool", "tool_call_id": call_id, "content": text})
    if len(others) == 1 and others[0]["type"] == "text":
        results.append({"role": "user", "content": others[0]["text"]})
    elif others:
        results.append({"role": "user", "content": others})
    return results


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
