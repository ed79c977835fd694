"""SessionAccess: loads and locks the sessions of an app for its Runner."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from runtime._write_scope import SessionKey, is_writing
from runtime.artifacts.borrowed_artifact_service import SessionArgs
from runtime.errors import AlreadyExistsError, NestedRunError, SessionNotFoundError
from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig
from runtime.sessions.session import Session


@dataclass(frozen=True)
class SessionAccess:
    """Sessions of an app."""

    service: BaseSessionService
    app_name: str

    def key(self, user_id: str, session_id: str) -> SessionKey:
        """Return the session's key among the sessions that running code writes to."""
        return (self.service, self.app_name, user_id, session_id)

    def one_writer(self, user_id: str, session_id: str) -> AbstractAsyncContextManager[None]:
        """Return the session service's guard against a second writer, whose events would interleave.

        Raises:
            NestedRunError: the caller is code of an invocation of this session.
        """
        if is_writing(self.key(user_id, session_id)):
            raise NestedRunError(
                f"This code is part of an invocation of session {session_id!r}, so it cannot wait for another one "
                "there. Use another session, as AgentTool does, or run it when this invocation has ended."
            )
        return self.service.exclusive_writer(app_name=self.app_name, user_id=user_id, session_id=session_id)

    async def load(
        self,
        user_id: str,
        session_id: str,
        *,
        without_superseded: bool = False,
        creates_missing: bool = False,
    ) -> Session:
        """Return the session.

        Args:
            without_superseded: True to leave out events replaced by rewinds or summaries.
            creates_missing: True to create a missing session.

        Raises:
            SessionNotFoundError: the session does not exist, and `creates_missing` is False.
        """
        args: SessionArgs = {"app_name": self.app_name, "user_id": user_id, "session_id": session_id}
        config = GetSessionConfig(without_superseded=without_superseded)
        session = await self.service.get_session(**args, config=config)
        if session is None and creates_missing:
            try:
                session = await self.service.create_session(**args)
            except AlreadyExistsError:  # A concurrent first message has just created the session.
                session = await self.service.get_session(**args, config=config)
        if session is None:
            raise SessionNotFoundError(
                f"Session not found: app {self.app_name!r} has no session {session_id!r} of user {user_id!r}. Create "
                "it with the session service's create_session first, or give the Runner auto_create_session=True."
            )
        return session
