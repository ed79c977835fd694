"""Files in an agent's answer: pictures, sound and documents of models and remote agents (contract F5)."""

from runtime import types
from runtime.artifacts.named_files import name_prefix, named_file
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.context import Context, InvocationContext
from runtime.events.calls import parts_of
from runtime.events.event import Event


async def save_files(ctx: InvocationContext, event: Event) -> None:
    """Save the files of an agent's event as artifacts, and replace their data by references.

    Empty files are left out, and so are drafts within the thoughts. Without an artifact service, change nothing.
    """
    parts = parts_of(event)
    if event.content is None or ctx.artifact_service is None or not any(part.inline_data for part in parts):
        return
    context = Context(ctx, event_actions=event.actions)
    prefix = name_prefix(event.author, event.id)
    kept: list[types.Part] = []
    saved = 0
    for part in parts:
        blob = part.inline_data
        if blob is None:
            kept.append(part)
        elif blob.data and not part.thought:
            saved += 1
            file = named_file(blob, f"{prefix}-{saved}")
            # Before the commit: a crash between the two leaves a version that no event names.
            version = await context.save_artifact(file.name, file.part)
            reference = ArtifactReference(file.name, version, file.mime_type).as_part()
            # Other fields stay: Gemini requires the signature of a picture in the next request.
            update = {"inline_data": None, "file_data": reference.file_data}
            kept.append(part.model_copy(update=update))
    event.content = event.content.model_copy(update={"parts": kept})
