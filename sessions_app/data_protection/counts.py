"""Numbers of rows that belong to sessions or to a person, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from sessions_app.models import (
    Artifact,
    Event,
    Invocation,
    MemoryEntry,
    ScheduledTask,
    Session,
    ToolJob,
    UserState,
)

ROWS_OF_SESSION = {
    "events": Event,
    "invocations": Invocation,
    "jobs": ToolJob,
    "scheduled_tasks": ScheduledTask,
    "memory_entries": MemoryEntry,
    "artifacts": Artifact,
}
KINDS = ("sessions", *ROWS_OF_SESSION, "user_states")


def counts_of_sessions(sessions: QuerySet[Session]) -> Counter[str]:
    """Return the numbers of the sessions and of the rows that belong to them."""
    ids = sessions.values("pk")
    counts = {
        kind: model._default_manager.filter(session__in=ids).count()
        for kind, model in ROWS_OF_SESSION.items()
    }
    return Counter(sessions=sessions.count(), **counts)


def counts_of_person(user_pk: Any) -> Counter[str]:
    """Return the numbers of the person's sessions, of their rows, and of the rows that sessions share."""
    counts = counts_of_sessions(Session.objects.filter(user_id=user_pk))
    counts["user_states"] = UserState.objects.filter(user_id=user_pk).count()
    counts["artifacts"] += Artifact.objects.filter(user_id=user_pk, session__isnull=True).count()
    return counts


def as_text(counts: Mapping[str, int]) -> str:
    """Return the counts in words, such as "1 sessions, 20 events"."""
    return ", ".join(f"{counts[kind]} {kind.replace('_', ' ')}" for kind in KINDS if kind in counts)
