"""Memory service on PostgreSQL: search of words and of meaning, joined by rank (contract F3, Q15).

Words are found by PostgreSQL's full text search, and texts of a like meaning by vectors, if the site makes any
(`store/memory_vectors`). Ranks are joined, because the measures of the two searches cannot be compared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from runtime import types
from runtime.errors import SessionNotFoundError
from runtime.events.event import Event as RuntimeEvent
from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.memory.memory_entry import MemoryEntry, distinct_words, entry_text, memory_entry_of
from runtime.sessions.session import Session as RuntimeSession
from runtime.valid_text import storable
from sessions_app import models
from sessions_app.base.codec import content_to_json, user_pk
from sessions_app.models.memory import MemoryEntryQuerySet
from sessions_app.models.remembering import is_in_pause
from sessions_app.process.threads import in_thread
from sessions_app.store.erasing import refuse_if_held
from sessions_app.store.memory_vectors import nearest_entries
from sessions_app.store.word_search import best_by_words

MAX_EVENT_WORDS = 10_000
"""Largest number of indexed words of an event: PostgreSQL limits a search vector to one megabyte."""
MAX_QUERY_WORDS = 200
"""Largest number of words to search for: `preload_memory` searches with whole messages."""
BATCH = 500
RANKED = 50
"""Entries of each search whose ranks are joined."""
DAMPING = 1
"""Constant of reciprocal rank fusion. With the usual 60 a place in both searches counts more than the first place in
one, and common words give any entry a place: of questions whose answers meaning alone found, a third were lost."""


class DjangoMemoryService(BaseMemoryService):
    """Remembers sessions of this site; deleting a session deletes its entries.

    Args:
        limit: largest number of entries returned by a search, best first.
        on_recall: called with the ids of all entries that an invocation has found so far; their use is counted.
            None for searches outside of invocations.
    """

    def __init__(self, *, limit: int = 20, on_recall: Callable[[list[str]], object] | None = None) -> None:
        self._limit = limit
        self._on_recall = on_recall
        self._recalled: list[str] = []

    async def add_session_to_memory(self, session: RuntimeSession) -> None:
        """Replace the session's memory entries by entries of its current events.

        Raises:
            SessionNotFoundError: the session is not stored here.
        """
        await in_thread(_replace, session)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[RuntimeEvent],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add entries of these events to the session's entries. The metadata is not used.

        Raises:
            SessionNotFoundError: the session is not stored here.
        """
        await in_thread(_add, app_name, user_id, session_id, events)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget the user's entry of the event with this id.

        Raises:
            NotFoundError: `user_id` is no valid primary key of a user.
        """
        entries = models.MemoryEntry.objects.of(app_name, user_pk(user_id))
        if memory_id is not None:
            await in_thread(forget_entries, entries.filter(event_id=storable(memory_id)))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the user's entries with any word of the query, or with a meaning near to that of the query.

        Raises:
            NotFoundError: `user_id` is no valid primary key of a user.
        """
        words = distinct_words(query)[:MAX_QUERY_WORDS]
        if not words:
            return SearchMemoryResponse()
        user = user_pk(user_id)
        nearest = await nearest_entries(app_name, user, query, RANKED)
        entries = models.MemoryEntry.objects.of(app_name, user)
        response = await in_thread(_search, entries, words, nearest, self._limit)
        if self._on_recall:
            await self._note_recall(entries, response)
        return response

    async def _note_recall(self, entries: MemoryEntryQuerySet, response: SearchMemoryResponse) -> None:
        """Count the use of the found entries, once in an invocation."""
        found = [entry.id for entry in response.memories if entry.id]
        new = [entry_id for entry_id in found if entry_id not in self._recalled]
        if new and self._on_recall:
            # Another list: the events so far keep theirs.
            self._recalled = [*self._recalled, *new]
            self._on_recall(self._recalled)
            used = entries.filter(event_id__in=new)
            await in_thread(used.update, uses=F("uses") + 1, last_used_at=Now())


def forget_entries(entries: MemoryEntryQuerySet) -> int:
    """Empty the entries and delete their vectors; return the number of entries that were not empty.

    The rows stay, empty and never found: a deleted entry would come back with the next call of
    `add_session_to_memory`.

    Raises:
        LegalHoldError: an entry is of a session or user under legal hold. Nothing is forgotten.
    """
    return _change_text(entries, content={"parts": []}, words="")


def correct_entry(entry: models.MemoryEntry, text: str) -> bool:
    """Replace the text of the entry; return False if it was forgotten meanwhile.

    Raises:
        LegalHoldError: the entry's session or user is under legal hold.
    """
    content = {**entry.content, "parts": [{"text": text}]}
    same = models.MemoryEntry.objects.filter(pk=entry.pk)
    return bool(_change_text(same, content=content, words=as_words(text), embedded_by=0))


def withdraw_entries(entries: MemoryEntryQuerySet) -> None:
    """Delete the entries with their vectors. Those under legal hold are kept, and not found any more."""
    holds = models.LegalHold.objects.active()
    of_sessions = holds.filter(session__isnull=False).values("session")
    of_users = holds.filter(user__isnull=False).values("user")
    is_held = Q(session__in=of_sessions) | Q(user__in=of_users)
    entries.filter(is_held).update(words="")
    entries.exclude(is_held).delete()


def as_words(text: str) -> str:
    """Return what the search looks at for an entry with this text."""
    return " ".join(distinct_words(text)[:MAX_EVENT_WORDS])


def _change_text(entries: MemoryEntryQuerySet, **values: Any) -> int:
    """Change entries that are not forgotten, and delete their vectors; return the number of entries."""
    with transaction.atomic():
        # Locked first: vectors that are being stored are deleted, too.
        remembered = entries.exclude(words="").order_by("pk").select_for_update()
        pks = list(remembered.values_list("pk", flat=True))
        changed = models.MemoryEntry.objects.filter(pk__in=pks)
        sessions, users = changed.values("session"), changed.values("user")
        refuse_if_held(models.LegalHold.objects.active().filter(Q(session__in=sessions) | Q(user__in=users)))
        models.MemoryVector.objects.filter(entry__in=pks).delete()
        return changed.update(**values)


def _replace(session: RuntimeSession) -> None:
    with transaction.atomic():
        owner = _locked(session.app_name, session.user_id, session.id)
        kept = _insert(owner, session.events)
        said = models.MemoryEntry.objects.filter(session=owner, source_event_id="")
        said.exclude(event_id__in=kept).delete()


def _add(app_name: str, user_id: str, session_id: str | None, events: Sequence[RuntimeEvent]) -> None:
    with transaction.atomic():
        _insert(_locked(app_name, user_id, session_id), events)


def _locked(app_name: str, user_id: str, session_id: str | None) -> models.Session:
    # Locked until the end of the transaction: replacements of the same session take turns. `no_key`: rows that refer to
    # the session, such as artifacts, can be inserted at the same time.
    stored = models.Session.objects.filter(app_name=app_name, user_id=user_pk(user_id), key=session_id)
    owner = stored.select_for_update(no_key=True).only("id", "app_name", "user_id").first()
    if owner is None:
        raise SessionNotFoundError(
            f"Session {session_id!r} of user {user_id!r} is not stored here, so it cannot be remembered."
        )
    return owner


def _insert(owner: models.Session, events: Sequence[RuntimeEvent]) -> list[str]:
    """Insert missing entries of the events; return the ids of those with text that were not said in a pause."""
    rows = []
    pauses = list(models.MemoryPause.objects.filter(user=owner.user_id))
    for event in events:
        entry = memory_entry_of(event)
        if entry and not is_in_pause(said_at(event), pauses):
            rows.append(_row(owner, event, entry))
    models.MemoryEntry.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    return [row.event_id for row in rows]


def _row(owner: models.Session, event: RuntimeEvent, entry: MemoryEntry) -> models.MemoryEntry:
    return models.MemoryEntry(
        app_name=owner.app_name,
        user_id=owner.user_id,
        session=owner,
        event_id=event.id,
        author=event.author,
        said_at=said_at(event),
        content=content_to_json(entry.content),
        words=as_words(entry_text(entry)),
    )


def said_at(event: RuntimeEvent) -> datetime:
    return datetime.fromtimestamp(event.timestamp, UTC)


def _search(
    entries: MemoryEntryQuerySet, words: list[str], nearest: list[int], limit: int
) -> SearchMemoryResponse:
    with_words = best_by_words(entries, words, max(limit, RANKED), "-said_at", "-id")
    best = joined_by_rank([nearest, with_words])[:limit]
    # A person may have forgotten an entry in the meantime.
    rows = entries.exclude(words="").in_bulk(best)
    return SearchMemoryResponse(memories=[_entry(rows[pk]) for pk in best if pk in rows])


def joined_by_rank(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Return all items of the rankings by the sum of `1 / (DAMPING + rank)`, the best first."""
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] += 1 / (DAMPING + rank)
    # Stable: of equal items, those of the first ranking come first.
    return sorted(scores, key=scores.__getitem__, reverse=True)


def _entry(row: models.MemoryEntry) -> MemoryEntry:
    return MemoryEntry(
        content=types.Content.model_validate(row.content),
        id=row.event_id,
        author=row.author,
        timestamp=row.said_at.isoformat(),
    )
