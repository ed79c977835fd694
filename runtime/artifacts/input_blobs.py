"""Store the files in a user's message as artifacts (contract L10)."""

from dataclasses import dataclass, field

from runtime import types
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.artifacts.borrowed_artifact_service import SessionArgs
from runtime.errors import ConfigurationError


@dataclass(frozen=True)
class SavedMessage:
    """Message whose files were stored as artifacts.

    Attributes:
        content: the message, with a sentence that names the artifact for each file.
        artifact_delta: stored version of each artifact, by filename.
    """

    content: types.Content
    artifact_delta: dict[str, int] = field(default_factory=dict)


async def save_input_blobs(
    service: BaseArtifactService | None, args: SessionArgs, message: types.Content, invocation_id: str
) -> SavedMessage:
    """Store the message's inline files under their display names; name other files after the invocation.

    Raises:
        ConfigurationError: the message holds files, but there is no artifact service.
    """
    # A new content: the caller's message is not changed.
    saved = SavedMessage(message.model_copy(update={"parts": []}))
    parts: list[types.Part] = []
    for index, part in enumerate(message.parts or []):
        blob = part.inline_data
        if blob is None:
            parts.append(part)
            continue
        if service is None:
            raise ConfigurationError(
                "The message holds a file to store as an artifact, but no artifact service is set. "
                "Give the Runner an artifact_service."
            )
        name = blob.display_name or f"artifact_{invocation_id}_{index}"
        # Without the display name: Gemini refuses requests that carry it.
        file = types.Part(inline_data=types.Blob(data=blob.data, mime_type=blob.mime_type))
        version = await service.save_artifact(**args, filename=name, artifact=file)
        saved.artifact_delta[name] = version
        parts.append(types.Part(text=f"[A file was uploaded; it is saved as the artifact {name!r}.]"))
    saved.content.parts = parts
    return saved
