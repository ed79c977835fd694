"""Rows that belong to sessions or to a person, by kind: what is counted, exported and erased with them."""

from __future__ import annotations

from typing import Any

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
KINDS = ("sessions", *ROWS_OF_SESSION, "user_states", "credentials", "api_keys", "webhooks", "account_acts")


def rows_of_sessions(kind: str, sessions: QuerySet[Session]) -> QuerySet[Any]:
    """Return the rows of a kind that belong to the sessions."""
    return ROWS_OF_SESSION[kind]._default_manager.filter(session__in=sessions.values("pk"))


def sessions_of(user_pk: Any) -> QuerySet[Session]:
    """Return the person's sessions."""
    return Session.objects.filter(user_id=user_pk)


def user_states_of(user_pk: Any) -> QuerySet[UserState]:
    """Return the state that the person's sessions share."""
    return UserState.objects.filter(user_id=user_pk)


def credentials_of(user_pk: Any) -> QuerySet[SavedCredential]:
    """Return the credentials that the person's tools have saved."""
    return SavedCredential.objects.filter(user_id=user_pk)


def artifacts_of(user_pk: Any) -> QuerySet[Artifact]:
    """Return the person's files: of the sessions, and those that the sessions share."""
    return Artifact.objects.filter(user_id=user_pk)


def api_keys_of(user_pk: Any) -> QuerySet[ApiKey]:
    """Return the person's API keys."""
    return ApiKey.objects.filter(user_id=user_pk)


def webhooks_of(user_pk: Any) -> QuerySet[Webhook]:
    """Return the webhooks about the person's sessions."""
    return Webhook.objects.filter(user_id=user_pk)


def account_acts_of(user_pk: Any) -> QuerySet[AccountAct]:
    """Return the acts on the person's API keys and webhooks."""
    return AccountAct.objects.filter(user_id=user_pk)
