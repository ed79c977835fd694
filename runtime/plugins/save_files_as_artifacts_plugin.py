"""Files in a person's message become artifacts."""

from __future__ import annotations

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.artifacts.input_blobs import save_input_blobs
from runtime.context import Context, InvocationContext
from runtime.plugins.base_plugin import BasePlugin
from runtime.sessions.state import State


class SaveFilesAsArtifactsPlugin(BasePlugin):
    """Stores inline files of the message as artifacts and names them in their place.

    The model sees the names; give the agent `load_artifacts`, or a tool of yours, to read the files. The versions
    are recorded with the first event of the agent. Needs an artifact service.
    """

    def __init__(self, name: str = "save_files_as_artifacts_plugin") -> None:
        super().__init__(name)

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """The message without its files.

        Raises:
            ConfigurationError: there are files, but no artifact service.
        """
        session = invocation_context.session
        saved = await save_input_blobs(
            invocation_context.artifact_service,
            {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id},
            user_message,
            invocation_context.invocation_id,
        )
        if not saved.artifact_delta:
            return None
        session.state[self._unrecorded] = saved.artifact_delta
        return saved.content

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        """Record the versions, once in an invocation."""
        delta = callback_context.session.state.pop(self._unrecorded, {})
        callback_context.actions.artifact_delta.update(delta)

    @property
    def _unrecorded(self) -> str:
        """Where the versions wait, in the state of this invocation only: they are gone with it, however it ends."""
        return f"{State.TEMP_PREFIX}{self.name}:unrecorded"
