"""SaveFilesAsArtifactsPlugin: stores the files in a person's message as artifacts."""

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.artifacts.input_blobs import save_input_blobs
from runtime.context import Context, InvocationContext, session_args
from runtime.plugins.base_plugin import BasePlugin
from runtime.sessions.state import State


class SaveFilesAsArtifactsPlugin(BasePlugin):
    """Stores inline files of the message as artifacts and replaces each file with a text that names the artifact.

    The model sees only the names; give the agent `load_artifacts` or another tool to read the files. The first event of
    the agent records the versions. Needs an artifact service.
    """

    def __init__(self, name: str = "save_files_as_artifacts_plugin") -> None:
        super().__init__(name)

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Return the message with its files replaced, or None if it has no files.

        Raises:
            ConfigurationError: the message holds files, but there is no artifact service.
        """
        session = invocation_context.session
        saved = await save_input_blobs(
            invocation_context.artifact_service,
            session_args(session),
            user_message,
            invocation_context.invocation_id,
        )
        if not saved.artifact_delta:
            return None
        # The event of the message does not exist yet, and this hook cannot reach its actions.
        session.state[self._pending_key] = saved.artifact_delta
        return saved.content

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        delta = callback_context.session.state.pop(self._pending_key, {})
        callback_context.actions.artifact_delta.update(delta)

    @property
    def _pending_key(self) -> str:
        """State key of versions not yet recorded."""
        # `temp:` state is discarded at the end of the invocation.
        return f"{State.TEMP_PREFIX}{self.name}:unrecorded"
