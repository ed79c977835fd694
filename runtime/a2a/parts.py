"""Parts of contents as parts of A2A messages, and back: pure functions (contract A10).

A2A knows texts, files and JSON data. ADK agents send function calls and their responses as data, with metadata under
the keys below that mark them. protobuf holds the data: it makes floats of all numbers and refuses lone surrogates, so
`_with_integers` and `valid_text` repair both.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from a2a.types import Part
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from runtime import types
from runtime.valid_text import json_text, valid_text

ADK_TYPE = "adk_type"
ADK_LONG_RUNNING = "adk_is_long_running"
ADK_THOUGHT = "adk_thought"
FUNCTION_CALL = "function_call"
FUNCTION_RESPONSE = "function_response"
F = TypeVar("F")
T = TypeVar("T")
ToA2a = Callable[[types.Part], Part | Sequence[Part] | None]
ToGenai = Callable[[Part], types.Part | Sequence[types.Part] | None]


def to_a2a(part: types.Part) -> Part | None:
    """Return the part as A2A sends it; None for an empty part and for a kind that A2A does not support."""
    if part.text:
        text = Part(text=valid_text(part.text))
        if part.thought:
            text.metadata.update({ADK_THOUGHT: True})
        return text
    if part.inline_data and part.inline_data.data is not None:
        blob = part.inline_data
        return _file_part(blob.mime_type, blob.display_name, raw=blob.data)
    if part.file_data and part.file_data.file_uri:
        file = part.file_data
        return _file_part(file.mime_type, file.display_name, url=valid_text(file.file_uri or ""))
    if part.executable_code and part.executable_code.code:
        return Part(text=valid_text(f"```\n{part.executable_code.code}\n```"))
    if part.code_execution_result and part.code_execution_result.output:
        return Part(text=valid_text(part.code_execution_result.output))
    return None


def to_genai(part: Part) -> types.Part | None:
    """Return the part for a content; None for an empty part, and for a call or response within a remote ADK agent."""
    match part.WhichOneof("content"):
        case "text" if part.text:
            return types.Part(text=part.text, thought=metadata_of(part).get(ADK_THOUGHT) is True or None)
        case "raw":
            mime_type = part.media_type or "application/octet-stream"
            blob = types.Blob(data=part.raw, mime_type=mime_type, display_name=part.filename or None)
            return types.Part(inline_data=blob)
        # As text: a model refuses a file whose address its provider cannot fetch.
        case "url" if part.url:
            return types.Part(text=": ".join(filter(None, [part.filename, part.url])))
        # As text: neither users nor models read JSON objects in a content.
        case "data" if metadata_of(part).get(ADK_TYPE) not in (FUNCTION_CALL, FUNCTION_RESPONSE):
            return types.Part(text=f"```json\n{json_of(part)}\n```")
    return None


def converted_by(convert: Callable[[F], T | Sequence[T] | None], part: F) -> list[T]:
    """Return the results of a converter for a part as a list."""
    made = convert(part)
    if made is None:
        return []
    if isinstance(made, Sequence):
        return list(made)
    return [made]


def data_part(value: dict[str, Any], metadata: dict[str, Any] | None = None) -> Part:
    """Return a part with a JSON object."""
    data = ParseDict(json.loads(valid_text(json_text(value))), Value())
    return with_metadata(Part(data=data), metadata or {})


def data_of(part: Part) -> Any:
    """Return the JSON value of a data part; None for all other parts."""
    if part.WhichOneof("content") != "data":
        return None
    return _with_integers(MessageToDict(part.data))


def json_of(part: Part) -> str:
    """Return the JSON text of a data part."""
    return json.dumps(data_of(part), ensure_ascii=False, indent=2, sort_keys=True)


def function_call_in(part: Part) -> types.FunctionCall | None:
    """Return the long-running call of an ADK agent in a data part; None for all other parts."""
    metadata = metadata_of(part)
    data = data_of(part)
    # Only a long-running call waits for our answer; the remote agent answers its other calls itself.
    is_call = metadata.get(ADK_TYPE) == FUNCTION_CALL and metadata.get(ADK_LONG_RUNNING) is True
    if not is_call or not isinstance(data, dict):
        return None
    name = data.get("name")
    call_id = data.get("id")
    args = data.get("args")
    if not isinstance(args, dict):
        args = {}
    if not isinstance(name, str) or not isinstance(call_id, str):
        return None
    return types.FunctionCall(id=call_id, name=name, args=args)


def function_call_part(call: types.FunctionCall) -> Part:
    """Return the data part for a pending call, as ADK agents send it."""
    data = {"id": call.id, "name": call.name, "args": call.args or {}}
    return data_part(data, {ADK_TYPE: FUNCTION_CALL, ADK_LONG_RUNNING: True})


def function_response_in(part: Part) -> types.FunctionResponse | None:
    """Return an ADK agent's answer to a call in a data part; None for all other parts."""
    data = data_of(part)
    if metadata_of(part).get(ADK_TYPE) != FUNCTION_RESPONSE or not isinstance(data, dict):
        return None
    name = data.get("name")
    call_id = data.get("id")
    response = data.get("response")
    if not isinstance(name, str) or not isinstance(call_id, str) or not isinstance(response, dict):
        return None
    return types.FunctionResponse(id=call_id, name=name, response=response)


def function_response_part(response: types.FunctionResponse) -> Part:
    """Return the data part for the answer to a call, as ADK agents read it."""
    data = {"id": response.id, "name": response.name, "response": response.response or {}}
    return data_part(data, {ADK_TYPE: FUNCTION_RESPONSE})


def metadata_of(part: Part) -> dict[str, Any]:
    if not part.HasField("metadata"):
        return {}
    found: dict[str, Any] = MessageToDict(part.metadata)
    return found


def with_metadata(part: Part, metadata: dict[str, Any]) -> Part:
    if metadata:
        part.metadata.update(metadata)
    return part


class FileBudget:
    """Limit for the bytes of all files in a message or response."""

    def __init__(self, most_bytes: int) -> None:
        # Choose it below the limit of a message: base64 adds a third.
        self._bytes_left = most_bytes

    def part_of(self, name: str, artifact: types.Part | None) -> types.Part:
        """Return the part with a stored file, or a text if the file is gone or does not fit."""
        if artifact is None:
            return types.Part(text=f"[The file {name!r} does not exist any more.]")
        blob = artifact.inline_data
        data = (blob and blob.data) or valid_text(artifact.text or "").encode()
        if len(data) > self._bytes_left:
            return types.Part(text=f"[The file {name!r} is too large to be sent.]")
        self._bytes_left -= len(data)
        mime_type = (blob and blob.mime_type) or "text/plain"
        return types.Part(inline_data=types.Blob(data=data, mime_type=mime_type, display_name=name))


def _file_part(mime_type: str | None, name: str | None, **content: Any) -> Part:
    part = Part(media_type=valid_text(mime_type or ""), **content)
    if name:
        part.filename = valid_text(name)
    return part


def _with_integers(value: Any) -> Any:
    """Return the JSON value with integers in place of whole floats."""
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
