"""Numbers of rows of sessions or of a user, by kind."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from sessions_app.data_protection.personal_data import (
    KINDS,
    ROWS_OF_SESSION,
    ROWS_OF_USER,
    rows_of_sessions,
    rows_of_user,
)
from sessions_app.models import Artifact, Session


def count_rows_of_sessions(sessions: QuerySet[Session]) -> Counter[str]:
    """Return the numbers of the sessions and of their rows."""
    counts = {kind: rows_of_sessions(kind, sessions).count() for kind in ROWS_OF_SESSION}
    return Counter(sessions=sessions.count(), **counts)


def count_rows_of_user(user_pk: Any) -> Counter[str]:
    """Return the numbers of the user's sessions, of their rows, and of the rows shared by the sessions."""
    counts = count_rows_of_sessions(rows_of_user(Session, user_pk))
    for kind, model in ROWS_OF_USER.items():
        counts[kind] = rows_of_user(model, user_pk).count()
    counts["artifacts"] += rows_of_user(Artifact, user_pk).filter(session__isnull=True).count()
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
