"""Search of knowledge bases, by words and by meaning, in one snapshot of the database."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db import Error, IntegrityError, connection, transaction

from runtime.context import Context
from runtime.memory.memory_entry import distinct_words
from runtime.tools.retrieval.knowledge_toolset import Passage
from runtime.valid_text import storable
from sessions_app.base.codec import user_pk
from sessions_app.models import (
    Invocation,
    KnowledgeBase,
    KnowledgePassage,
    KnowledgeSearch,
    KnowledgeUse,
    KnowledgeVector,
)
from sessions_app.models.knowledge import MAX_PLACE_LENGTH, KnowledgePassageQuerySet
from sessions_app.process.json_logs import current_invocation_id
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sources import PASSAGE_SCHEME
from sessions_app.store.memory_service import MAX_QUERY_WORDS, RANKED, joined_by_rank
from sessions_app.store.memory_vectors import MOST_COMPARED, Meaning, meaning_of, nearest_first
from sessions_app.store.word_search import best_by_words

logger = logging.getLogger(__name__)
MAX_QUERY_LENGTH = 2_000
"""Characters of a query that are searched for and recorded."""
STOP_WORDS_OF = ("english", "german", "spanish", "french", "italian", "portuguese", "russian", "dutch")
"""Dictionaries of PostgreSQL whose stop words are no words to search for: nearly every passage has them."""


async def search_bases(
    *, query: str, bases: Sequence[str], limit: int, tool_context: Context
) -> list[Passage]:
    """Return the passages that fit the query, of those bases that the session's user may read now.

    Records the search for staff.
    """
    session = tool_context.session
    query = storable(query[:MAX_QUERY_LENGTH]).replace("\0", "")
    user = user_pk(session.user_id)
    readable = await in_thread(_readable, user, session.app_name, bases)
    found: list[KnowledgePassage] = []
    if readable and query:
        meaning = await meaning_of(user, query)
        found = await in_thread(find_passages, list(readable), query, meaning, limit)
    await in_thread(_record, tool_context.agent_name, query, list(readable.values()), found)
    return [Passage(row.text, source_of(row), f"{PASSAGE_SCHEME}:{row.pk}") for row in found]


def source_of(passage: KnowledgePassage) -> str:
    """Return the name of the document and the place in it."""
    return ", ".join(filter(None, (passage.version.document.name, passage.place)))


def _readable(user: Any, app_name: str, names: Sequence[str]) -> dict[int, str]:
    """Return the keys and names of the bases that the user may read."""
    # Not cached: the groups of a person may have changed since the conversation began.
    reader = get_user_model()._default_manager.filter(pk=user, is_active=True).first()
    if reader is None:
        return {}
    bases = KnowledgeBase.objects.readable_by(reader, app_name).filter(name__in=names)
    return dict(bases.values_list("pk", "name"))


def find_passages(
    bases: Sequence[int], query: str, meaning: Meaning | None, limit: int
) -> list[KnowledgePassage]:
    """Return the best passages of the current versions in the bases with these keys.

    Args:
        meaning: vector of the query; None to find words only.
    """
    passages = KnowledgePassage.objects.current_in(bases)
    with transaction.atomic():
        with connection.cursor() as cursor:
            # One snapshot: a version published during the search is not seen.
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        words = _telling_words(distinct_words(query)[:MAX_QUERY_WORDS])
        with_words = best_by_words(passages, words, RANKED, "pk")
        best = joined_by_rank([_nearest(passages, meaning), with_words])[:limit]
        rows = KnowledgePassage.objects.select_related("version__document").in_bulk(best)
    return [rows[pk] for pk in best]


def _nearest(passages: KnowledgePassageQuerySet, meaning: Meaning | None) -> list[int]:
    if meaning is None:
        return []
    is_large = passages[: MOST_COMPARED + 1].count() > MOST_COMPARED
    vectors = KnowledgeVector.objects.filter(passage__in=passages)
    try:
        with transaction.atomic():
            nearest = nearest_first(vectors, meaning, follows_index=is_large)
            return list(nearest.values_list("passage_id", flat=True)[:RANKED])
    except Error as error:
        logger.warning("A search of knowledge finds words only: %r", error)
        return []


def _telling_words(words: list[str]) -> list[str]:
    """Return the words without stop words; all of them if no other word is left."""
    is_stop = " OR ".join(f"ts_lexize('{language}_stem', word) = '{{}}'" for language in STOP_WORDS_OF)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT word FROM unnest(%s::text[]) word WHERE {is_stop}", [words])  # noqa: S608
        stop_words = {word for (word,) in cursor.fetchall()}
    return [word for word in words if word not in stop_words] or words


def _record(agent_name: str, query: str, bases: Sequence[str], found: Sequence[KnowledgePassage]) -> None:
    """Store the search in the session of the running invocation, if there is one."""
    # Not the tool's session: an agent that runs as a tool has one in memory only.
    running = Invocation.objects.filter(invocation_id=current_invocation_id()).first()
    if running is None:
        return
    values = {
        "session_id": running.session_id,
        "invocation_id": running.invocation_id,
        "agent_name": storable(agent_name)[:255],
        "bases": ", ".join(sorted(bases)),
        "query": query,
        "found": len(found),
    }
    ranked = list(enumerate(found, 1))
    try:
        _store(values, ranked)
    except IntegrityError:
        # Since the search a version was replaced, or a document deleted. Its passages are in the answer all the same.
        kept = KnowledgePassage.objects.in_bulk([row.pk for row in found])
        _store(values, [(rank, row) for rank, row in ranked if row.pk in kept])


def _store(values: Mapping[str, Any], ranked: Iterable[tuple[int, KnowledgePassage]]) -> None:
    """Store a search with the passages that it has found, by rank."""
    with transaction.atomic():
        search = KnowledgeSearch.objects.create(**values)
        KnowledgeUse.objects.bulk_create(
            KnowledgeUse(
                search=search,
                document_id=row.version.document_id,
                passage=row,
                version_number=row.version.number,
                place=row.place[:MAX_PLACE_LENGTH],
                rank=rank,
            )
            for rank, row in ranked
        )
