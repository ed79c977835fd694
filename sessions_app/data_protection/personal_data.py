"""Rows of sessions and of a user by kind, for the counts, exports and erasures of both.

A test finds each table with a reference to a session and asks for its place here or a reason to leave it out.
"""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from sessions_app.models import (
    AccountAct,
    Annotation,
    ApiKey,
    Artifact,
    CallError,
    EvaluatedCase,
    Event,
    Feedback,
    Invocation,
    MemoryEntry,
    SavedCredential,
    ScheduledTask,
    Session,
    SessionAct,
    ShareLink,
    ToolJob,
    UserState,
    Webhook,
)

ROWS_OF_SESSION: dict[str, type[Model]] = {
    "events": Event,
    "invocations": Invocation,
    "jobs": ToolJob,
    "scheduled_tasks": ScheduledTask,
    "memory_entries": MemoryEntry,
    "artifacts": Artifact,
    "feedback": Feedback,
    "annotations": Annotation,
    "share_links": ShareLink,
    "acts": SessionAct,
    "call_errors": CallError,
    "evaluated_cases": EvaluatedCase,
}
ROWS_OF_USER: dict[str, type[Model]] = {
    "user_states": UserState,
    "credentials": SavedCredential,
    "api_keys": ApiKey,
    "webhooks": Webhook,
    "account_acts": AccountAct,
}
KINDS = ("sessions", *ROWS_OF_SESSION, *ROWS_OF_USER)
M = TypeVar("M", bound=Model)


def rows_of_sessions(kind: str, sessions: QuerySet[Session]) -> QuerySet[Any]:
    """Return the rows of a kind of the sessions."""
    return ROWS_OF_SESSION[kind]._default_manager.filter(session__in=sessions.values("pk"))


def rows_of_user(model: type[M], user_pk: Any) -> QuerySet[M]:
    """Return the user's rows of a table; of `Artifact`, also the files shared by all sessions of the user."""
    return model._default_manager.filter(user_id=user_pk)
