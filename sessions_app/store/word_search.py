"""Search of texts by their words, in a time that hardly grows with the number of texts.

PostgreSQL computes the rank of each text that has one of the words. Frequent words make this most of the texts, and are
the least telling. So texts with a rare word come first, and those with frequent words only fill up; of either at most
`MOST_RANKED` get a rank. The statistics of PostgreSQL tell which words are frequent: none, before the first `ANALYZE`.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import F, Model

from sessions_app.models.memory import SearchableQuerySet

MOST_RANKED = 5_000
HITS_OF_WORDS = """
    SELECT word, reltuples * frequency
    FROM pg_class JOIN pg_stats
        ON tablename = relname AND schemaname = relnamespace::regnamespace::text AND attname = 'vector',
        unnest(most_common_elems::text::text[], most_common_elem_freqs) AS common (word, frequency)
    WHERE pg_class.oid = %s::regclass AND word = ANY(%s)
"""


def best_by_words(texts: SearchableQuerySet[Any], words: Sequence[str], limit: int, *order: str) -> list[int]:
    """Return the keys of up to `limit` texts with any of the words, the best first; of equal ones in this order."""
    rare, frequent = _by_frequency(texts.model, words)
    best = _ranked(texts, rare, words, limit, order)
    if len(best) < limit:
        best += _ranked(texts.exclude(pk__in=best), frequent, words, limit - len(best), order)
    return best


def _ranked(
    texts: SearchableQuerySet[Any],
    words: Sequence[str],
    all_words: Sequence[str],
    limit: int,
    order: tuple[str, ...],
) -> list[int]:
    if not words:
        return []
    some = texts.with_any_word(words)[:MOST_RANKED]
    ranked = texts.filter(pk__in=some.values("pk")).with_rank(all_words)
    return list(ranked.order_by(F("rank").desc(), *order).values_list("pk", flat=True)[:limit])


def _by_frequency(table: type[Model], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the rarest words, of which at most `MOST_RANKED` texts of the table have one, and the others."""
    with connection.cursor() as cursor:
        cursor.execute(HITS_OF_WORDS, [table._meta.db_table, list(words)])
        hits: dict[str, float] = dict(cursor.fetchall())
    rare: list[str] = []
    frequent: list[str] = []
    sum_of_hits = 0.0
    for word in sorted(words, key=lambda word: hits.get(word, 0.0)):
        sum_of_hits += hits.get(word, 0.0)
        if sum_of_hits <= MOST_RANKED:
            rare.append(word)
        else:
            frequent.append(word)
    return rare, frequent
