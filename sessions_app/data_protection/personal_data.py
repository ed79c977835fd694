"""Rows of sessions and of a user by kind, for the counts, exports and erasures of both.

A test finds each table with a reference to a session and asks for its place here or a reason to leave it out.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet, Sum

from sessions_app import models

ROWS_OF_SESSION: dict[str, type[Model]] = {
    "events": models.Event,
    "invocations": models.Invocation,
    "jobs": models.ToolJob,
    "scheduled_tasks": models.ScheduledTask,
    "memory_entries": models.MemoryEntry,
    "artifacts": models.Artifact,
    "feedback": models.Feedback,
    "annotations": models.Annotation,
    "share_links": models.ShareLink,
    "acts": models.SessionAct,
    "call_errors": models.CallError,
    "knowledge_searches": models.KnowledgeSearch,
    "evaluated_cases": models.EvaluatedCase,
}
ROWS_OF_USER: dict[str, type[Model]] = {
    "user_states": models.UserState,
    "credentials": models.SavedCredential,
    "api_keys": models.ApiKey,
    "webhooks": models.Webhook,
    "linked_accounts": models.LinkedAccount,
    "memory_pauses": models.MemoryPause,
    "account_acts": models.AccountAct,
}
KINDS = ("sessions", *ROWS_OF_SESSION, *ROWS_OF_USER)
M = TypeVar("M", bound=Model)


def rows_of_sessions(kind: str, sessions: QuerySet[models.Session]) -> QuerySet[Any]:
    """Return the rows of a kind of the sessions."""
    return ROWS_OF_SESSION[kind]._default_manager.filter(session__in=sessions.values("pk"))


def rows_of_user(model: type[M], user_pk: Any) -> QuerySet[M]:
    """Return the user's rows of a table; of `Artifact`, also the files shared by all sessions of the user."""
    return model._default_manager.filter(user_id=user_pk)


def count_rows_of_sessions(sessions: QuerySet[models.Session]) -> Counter[str]:
    """Return the numbers of the sessions and of their rows."""
    counts = {kind: rows_of_sessions(kind, sessions).count() for kind in ROWS_OF_SESSION}
    packed = sessions.filter(packed_at__isnull=False).order_by()
    counts["events"] += packed.aggregate(events=Sum("last_seq"))["events"] or 0
    return Counter(sessions=sessions.count(), **counts)


def count_rows_of_user(user_pk: Any) -> Counter[str]:
    """Return the numbers of the user's sessions, of their rows, and of the rows shared by the sessions."""
    counts = count_rows_of_sessions(rows_of_user(models.Session, user_pk))
    for kind, model in ROWS_OF_USER.items():
        counts[kind] = rows_of_user(model, user_pk).count()
    counts["artifacts"] += rows_of_user(models.Artifact, user_pk).filter(session__isnull=True).count()
    return counts


def as_text(counts: Mapping[str, int]) -> str:
    """Return the counts in words, such as "1 session, 20 events"."""
    words = []
    for kind in KINDS:
        if kind in counts:
            noun = kind.replace("_", " ")
            if counts[kind] == 1:
                noun = noun.replace("entries", "entry").removesuffix("s")
            words.append(f"{counts[kind]} {noun}")
    return ", ".join(words)
