"""Numbers of rows that belong to sessions or to a person, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from sessions_app.data_protection.personal_data import (
    KINDS,
    ROWS_OF_SESSION,
    account_acts_of,
    api_keys_of,
    artifacts_of,
    credentials_of,
    rows_of_sessions,
    sessions_of,
    user_states_of,
    webhooks_of,
)
from sessions_app.models import Session


def counts_of_sessions(sessions: QuerySet[Session]) -> Counter[str]:
    """Return the numbers of the sessions and of the rows that belong to them."""
    counts = {kind: rows_of_sessions(kind, sessions).count() for kind in ROWS_OF_SESSION}
    return Counter(sessions=sessions.count(), **counts)


def counts_of_person(user_pk: Any) -> Counter[str]:
    """Return the numbers of the person's sessions, of their rows, and of the rows that sessions share."""
    counts = counts_of_sessions(sessions_of(user_pk))
    counts["user_states"] = user_states_of(user_pk).count()
    counts["credentials"] = credentials_of(user_pk).count()
    counts["api_keys"] = api_keys_of(user_pk).count()
    counts["webhooks"] = webhooks_of(user_pk).count()
    counts["account_acts"] = account_acts_of(user_pk).count()
    counts["artifacts"] += artifacts_of(user_pk).filter(session__isnull=True).count()
    return counts


def as_text(counts: Mapping[str, int]) -> str:
    """Return the counts in words, such as "1 sessions, 20 events"."""
    return ", ".join(f"{counts[kind]} {kind.replace('_', ' ')}" for kind in KINDS if kind in counts)
