"""Results of tools as function responses, and the files in them (contract Q2, T5).

A model reads no base64, and the log should hold no bytes. `take_files` replaces each file by a description:
its `mimeType` and, once its caller has saved it as an artifact, `file` and `version`. `files_in` finds the descriptions
in a function response; `BaseTool.show_files` shows these files to the model.
"""

from dataclasses import dataclass
from typing import Any

import pydantic
import pydantic_core

from runtime import types
from runtime.artifacts.named_files import name_prefix, named_file, valid_file_name, valid_mime_type
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.errors import ConfigurationError, with_article
from runtime.events import calls
from runtime.valid_text import valid_values

_MAX_VERSION = 999_999_999
_ANY: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(Any)


@dataclass(frozen=True)
class ToolError:
    """A failure to return from a tool instead of raising.

    If a long-running tool returns a `ToolError`, or a dict with `status` `'error'` or `'failed'`, the invocation does
    not pause and the model sees the error in the next step (contract T5).
    """

    message: str

    def as_response(self) -> dict[str, Any]:
        """Return the function response for the model."""
        return calls.ResponseStatus.ERROR.with_error(self.message)


def is_failure(result: object) -> bool:
    """Return True if the result reports a failure: the invocation then does not pause on the call (contract T5)."""
    return isinstance(result, ToolError) or (isinstance(result, dict) and calls.reports_failure(result))


def as_response(tool_name: str, result: object) -> dict[str, Any]:
    """Return the function response for a result, as JSON values. Wrap a result other than a dict as `{'result': …}`.

    The response is a copy, so later changes to the result do not change the event.

    Raises:
        ConfigurationError: the result cannot be written as JSON.
    """
    if isinstance(result, ToolError):
        return result.as_response()
    try:
        value = pydantic_core.from_json(_to_json(result))  # Fails for numbers of more than 4,300 digits.
    except ValueError as error:
        raise ConfigurationError(
            f"Tool {tool_name!r} returned {with_article(type(result).__name__)} that is not JSON: {error}. Return "
            "dicts, lists, text, numbers, booleans, None, pydantic models or dataclasses of these."
        ) from error
    return value if isinstance(result, dict) else {"result": value}


def _to_json(result: object) -> bytes:
    """Return the result as JSON, with U+FFFD for lone surrogates."""
    try:
        return pydantic_core.to_json(result, inf_nan_mode="strings", bytes_mode="base64")
    except pydantic_core.PydanticSerializationError:
        # A lone surrogate, in a text, a key, or an object such as a path. Anything else fails again.
        values = valid_values(_ANY.dump_python(result))
        values = pydantic_core.to_jsonable_python(values, inf_nan_mode="strings", bytes_mode="base64")
        return pydantic_core.to_json(valid_values(values))


def file_description(reference: ArtifactReference) -> dict[str, Any]:
    """Return the description of a file that was saved before, for a result."""
    return {"mimeType": reference.mime_type, "file": reference.filename, "version": reference.version}


class ResultFile:
    """A file of a result, to be saved as an artifact.

    Attributes:
        part: content of the artifact.
    """

    def __init__(self, blob: types.Blob, name: str, description: dict[str, Any], data_key: str) -> None:
        """Write the MIME type into the description.

        Args:
            blob: the data, and the MIME type as its author wrote it.
            name: name for a blob without one, without extension.
            description: stands for the file in the result.
        """
        file = named_file(blob, name)
        self.name = file.name
        self.part = file.part
        self._description = description
        self._data_key = data_key
        description["mimeType"] = file.mime_type

    def note_version(self, version: int) -> None:
        """Replace the data by the saved version of the artifact."""
        del self._description[self._data_key]
        self._description["file"] = self.name
        self._description["version"] = version


def take_files(result: Any, tool_name: str, call_id: str | None) -> tuple[Any, list[ResultFile]]:
    """Return a copy of the result with a description for each file, and the files to save.

    Until `ResultFile.note_version`, the description holds the data.

    A file is a `types.Part` or `types.Blob` with data, in dicts, lists and tuples, too. A part with a text becomes the
    text, any other part a dict without its empty fields, and a `types.Content` the list of its parts.
    """
    taker = _FileTaker(name_prefix(tool_name, call_id))
    try:
        return taker.replaced(result), taker.files
    except RecursionError:
        # Nested too deeply, or in itself: `as_response` refuses the result by the tool's name.
        return result, []


def files_in(response: object) -> list[ArtifactReference]:
    """Return the files described in a function response. A name or version that no file can have is left out."""
    if isinstance(response, list):
        files: list[ArtifactReference] = []
        for item in response:
            files += files_in(item)
        return files
    if not isinstance(response, dict):
        return []
    match response:
        case {"file": str(name), "version": int(version), "mimeType": str(mime_type)}:
            # A server of others may write such an object itself, to have a file of the user shown.
            is_valid = name == valid_file_name(name) and 0 <= version <= _MAX_VERSION
            if not is_valid:
                return []
            return [ArtifactReference(name, version, mime_type)]
    return files_in(list(response.values()))


class _FileTaker:
    def __init__(self, prefix: str) -> None:
        self.files: list[ResultFile] = []
        self._prefix = prefix

    def replaced(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.replaced(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.replaced(item) for item in value]
        if isinstance(value, types.Content):
            return self.replaced(value.parts or [])
        if isinstance(value, types.Part):
            return self._replace_part(value)
        if isinstance(value, types.Blob):
            return self._description(value)
        return value

    def _replace_part(self, part: types.Part) -> Any:
        if part.inline_data is not None:
            return self._description(part.inline_data)
        if part.text is not None:
            return part.text
        return part.model_dump(mode="json", exclude_none=True)

    def _description(self, blob: types.Blob) -> dict[str, Any]:
        if not blob.data:
            return {"mimeType": valid_mime_type(blob.mime_type), "error": "The file is empty."}
        description: dict[str, Any] = {"data": blob.data}
        name = f"{self._prefix}-{len(self.files) + 1}"
        self.files.append(ResultFile(blob, name, description, "data"))
        return description
