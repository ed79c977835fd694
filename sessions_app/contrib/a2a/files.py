"""Artifacts of a task: the texts of its agents, and their files within a limit of bytes."""

from collections.abc import Mapping

from a2a.types import Artifact, Part

from runtime import types
from runtime.a2a.parts import FileBudget, to_a2a
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.events.calls import parts_of
from runtime.events.event import Event as RuntimeEvent
from runtime.valid_text import valid_text
from sessions_app.api.tasks.site_task import SiteTask
from sessions_app.contrib.a2a.conversion import parts_of_event
from sessions_app.store.artifact_service import DjangoArtifactService

MAX_BYTES = 8_000_000
"""Maximum bytes of the files in a response. Of further files only the names are sent."""


class ArtifactMaker:
    """Make the artifacts of a task for one response.

    Args:
        budget: remaining bytes for files, shared by the tasks of the response; by default `MAX_BYTES`.
    """

    def __init__(self, task: SiteTask, budget: FileBudget | None = None) -> None:
        self._task = task
        self._budget = budget or FileBudget(MAX_BYTES)

    async def all(self) -> list[Artifact]:
        """Return the artifacts of the task: one per event with text or files, and one per job with files."""
        found = [await self.of_event(event) for event in self._task.events]
        for job in self._task.jobs:
            if job.artifacts:
                files = await self._files(job.artifacts)
                found.append(Artifact(artifact_id=str(job.pk), name=valid_text(job.tool_name), parts=files))
        return [artifact for artifact in found if artifact]

    async def of_event(self, event: RuntimeEvent) -> Artifact | None:
        """Return the artifact of an event; None for the user's events, and for events without text and files."""
        if event.author == "user":
            return None
        # Files that the event saved, and files that its text refers to: one entry each.
        saved = {**event.actions.artifact_delta}
        for part in parts_of(event):
            if reference := ArtifactReference.of_part(part):
                saved[reference.filename] = reference.version
        parts = [*parts_of_event(event), *await self._files(saved)]
        return Artifact(artifact_id=event.id, name=valid_text(event.author), parts=parts) if parts else None

    async def _files(self, saved: Mapping[str, int]) -> list[Part]:
        files = [to_a2a(await self._file(name, saved[name])) for name in sorted(saved)]
        return [file for file in files if file]

    async def _file(self, name: str, version: int) -> types.Part:
        stored = await DjangoArtifactService().load_artifact(
            **self._task.session.runtime_args,
            filename=name,
            version=version,
        )
        return self._budget.part_of(name, stored)
