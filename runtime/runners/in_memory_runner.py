"""InMemoryRunner: a Runner for tests, scripts and notebooks."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.agents.base_agent import BaseAgent
from runtime.apps.app import App
from runtime.artifacts.in_memory_artifact_service import InMemoryArtifactService
from runtime.memory.in_memory_memory_service import InMemoryMemoryService
from runtime.plugins.base_plugin import BasePlugin
from runtime.runners.runner import Runner
from runtime.sessions.in_memory_session_service import InMemorySessionService


class InMemoryRunner(Runner):
    """Runner with services that keep all data in this process's memory (contract L9)."""

    def __init__(
        self,
        agent: BaseAgent | None = None,
        *,
        app_name: str | None = None,
        app: App | None = None,
        plugins: Iterable[BasePlugin] | None = None,
    ) -> None:
        super().__init__(
            app=app,
            app_name=app_name or (app.name if app else "InMemoryRunner"),
            agent=agent,
            plugins=plugins,
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
        )
