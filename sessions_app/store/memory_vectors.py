"""Vectors of texts: the memory entries nearest in meaning to a query, and the indexes that find them.

`prepare_vectors`, called by each `migrate`, makes what needs the rights of the owner of the tables: the extension, and
the indexes of each table for the model that the settings name first. `store/embedding` makes the vectors. An index is
for one model, whose vectors have one length. That of memory has parts: in one index of all people's entries, searches
among 200,000 of a million missed a tenth of the nearest. `contrib/knowledge` finds passages by the same functions.
"""

import asyncio
import logging
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from django.contrib.postgres.indexes import OpClass
from django.db import Error, connection, transaction
from django.db.models import Exists, FloatField, Model, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast
from pydantic import ValidationError

from runtime.models.rate_limit import embed
from runtime.models.registry import LLMRegistry
from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.models import EmbeddingModel, MemoryEntry, MemoryVector
from sessions_app.models.memory import memory_part
from sessions_app.process.threads import in_thread
from sessions_app.secrets.masking import mask_text
from sessions_app.store.embedded_tables import EMBEDDED_TABLES, EmbeddedTable
from sessions_app.store.sql.usage import Used, add_used_by

logger = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Model)
MAX_CHARACTERS = 6_000
"""Beginning of a text that its vector tells of: the limits of models begin at two thousand words."""
QUERY_SECONDS = 2.0
"""Longest time for the vector of a query."""
MOST_COMPARED = 20_000
"""Entries of a user that a search compares one by one, which loses none and takes 3 µs each. With more, it follows the
index of the user's part."""
CANDIDATES = 1_000
"""Entries that a step in the index keeps in view, the most that pgvector allows: with 200, an eighth of the nearest was
lost among 40,000 entries, in half the time."""
CANDIDATES_OF_INDEX = 200
"""Entries that are compared for the neighbours of an entry in the index. With 64, the default of pgvector, an eighth of
the nearest among 200,000 vectors could not be reached, however many a search kept in view."""
UNFINISHED = "_new"
"""End of the name of an index that is being built beside an older one."""
INDEXES_OF_TABLE = """
    SELECT c.relname, CASE WHEN indisvalid THEN coalesce(
        (SELECT option_value::int FROM pg_options_to_table(c.reloptions) WHERE option_name = 'ef_construction'), 64
    ) END
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE indrelid = %s::regclass AND c.relname LIKE %s
"""
MAX_SCANNED = 200_000
"""Entries in the index, of all its users, that a search looks at."""


@dataclass(frozen=True)
class Meaning:
    """Vector of a query, by the model whose vectors it is compared with."""

    model: EmbeddingModel
    vector: list[float]


def text_to_embed(text: str) -> str:
    """Return the beginning of the text without secrets: vectors are no secret, and other servers make them."""
    return mask_text(storable(text[: 2 * MAX_CHARACTERS]))[:MAX_CHARACTERS]


def used_for(model: EmbeddingModel, tokens: int) -> Used:
    """Return the use of tokens by a model, with their cost by the site's prices."""
    price = conf().price(model.name)
    return Used(tokens, 1e-6 * tokens * price.input if price else 0.0)


async def nearest_entries(app_name: str, user_pk: Any, query: str, limit: int) -> list[int]:
    """Return the keys of the user's entries whose meaning is nearest to that of the query, the nearest first.

    Empty if the site makes no vectors, the query gets none in time, or they cannot be compared.
    """
    meaning = await meaning_of(user_pk, query)
    if meaning is None:
        return []
    try:
        return await in_thread(nearest_to, meaning.model, app_name, user_pk, meaning.vector, limit)
    except Error as error:
        logger.warning("A search finds words only: %r", error)
        return []


async def meaning_of(user_pk: Any, query: str) -> Meaning | None:
    """Return the meaning of the query; None if the site makes no vectors, or the query gets none in time."""
    if not conf().embeddings or find_spec("pgvector") is None:
        return None
    model = await in_thread(_serving_model)
    if model is None:
        return None
    try:
        async with asyncio.timeout(QUERY_SECONDS):
            made = await embed(LLMRegistry.new_llm(model.name), [text_to_embed(query)], model.dimensions)
        await add_used_by(user_pk, used_for(model, made.tokens))
    except Exception as error:  # noqa: BLE001 - whatever fails, the words of the query find texts
        logger.warning("A search finds words only: %r", error)
        return None
    return Meaning(model, made.vectors[0])


def _serving_model() -> EmbeddingModel | None:
    """Return the newest model with vectors of all entries, else the newest; None if the settings name neither."""
    rows = EmbeddingModel.objects.order_by("-pk")
    named = [row for row in rows if conf().embeddings.get(row.name) == row.dimensions]
    complete = [row for row in named if row.completed_at is not None]
    return next(iter(complete or named), None)


def nearest_to(
    model: EmbeddingModel, app_name: str, user_pk: Any, vector: list[float], limit: int
) -> list[int]:
    """Return the keys of the user's entries with the nearest vectors, the nearest first."""
    entries = MemoryEntry.objects.of(app_name, user_pk)
    vectors = MemoryVector.objects.filter(entry__app_name=app_name, entry__user=user_pk)
    is_large = entries[: MOST_COMPARED + 1].count() > MOST_COMPARED
    if is_large:
        vectors = vectors.filter(part=memory_part(user_pk))
    with transaction.atomic():
        nearest = nearest_first(vectors, Meaning(model, vector), follows_index=is_large)
        return list(nearest.values_list("entry_id", flat=True)[:limit])


def nearest_first(vectors: QuerySet[Row], meaning: Meaning, *, follows_index: bool) -> QuerySet[Row]:
    """Return the vectors of the model, the nearest first. Read them in the same transaction.

    Args:
        follows_index: True to go through the index until it has found enough of `vectors`; False to compare each
            of them.
    """
    from pgvector.django import CosineDistance

    distance = CosineDistance(_as_vector(meaning.model), meaning.vector)
    of_model = vectors.filter(model=meaning.model)
    if not follows_index:
        # No index has this order. The index might end before it finds these.
        return of_model.order_by(distance + Value(0.0, output_field=FloatField()))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        cursor.execute("SELECT set_config('hnsw.ef_search', %s, true)", [str(CANDIDATES)])
        cursor.execute("SELECT set_config('hnsw.max_scan_tuples', %s, true)", [str(MAX_SCANNED)])
    return of_model.order_by(distance)


def _as_vector(model: EmbeddingModel) -> Cast:
    from pgvector.django import HalfVectorField

    return Cast("numbers", HalfVectorField(dimensions=model.dimensions))


def target_model() -> EmbeddingModel | None:
    """Return the model that makes vectors; None if there is none, or the settings name another one first.

    In the latter case `migrate` makes its row.
    """
    newest = EmbeddingModel.objects.order_by("-pk").first()
    named = next(iter(conf().embeddings.items()), None)
    if newest is None or named != (newest.name, newest.dimensions):
        return None
    return newest


def prepare_vectors() -> None:
    """Make the extension, and the row and the index of the model that the settings name first, unless they exist."""
    try:
        named = next(iter(conf().embeddings.items()), None)
    except ValidationError:  # `check_settings` reports it
        return
    if named is None or find_spec("pgvector") is None or not _make_extension():
        return
    model = target_model()
    if model is None:
        name, dimensions = named
        model = EmbeddingModel.objects.create(name=name, dimensions=dimensions)
    for table in EMBEDDED_TABLES:
        _drop_useless_indexes(table, model)
        for name, condition in table.indexes_of(model.pk).items():
            _make_index(table, model, name, condition)


def _make_extension() -> bool:
    """Make the extension if this server has it; return True if the database has it, in a version that will do."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
            cursor.execute(
                "SELECT string_to_array(extversion, '.')::int[] >= ARRAY[0, 8] FROM pg_extension"
                " WHERE extname = 'vector'"
            )
            return bool(cursor.fetchone()[0])
    except Error:  # the check of the database says how to install it
        return False


def _make_index(table: EmbeddedTable, model: EmbeddingModel, name: str, condition: Q) -> None:
    """Make an index, or make it anew if an older version has built it otherwise. Idempotent after an interruption.

    Searches use the old index until the new one is complete.
    """
    from pgvector.django import HnswIndex

    unfinished = f"{name}{UNFINISHED}"
    builds = _builds(table)
    if builds.get(name) == CANDIDATES_OF_INDEX:
        return
    if unfinished not in builds:
        expression = OpClass(_as_vector(model), name="halfvec_cosine_ops")
        index = HnswIndex(
            expression, name=unfinished, condition=condition, ef_construction=CANDIDATES_OF_INDEX
        )
        with connection.schema_editor(atomic=False) as editor:
            editor.add_index(table.vectors, index, concurrently=True)  # type: ignore[call-arg]
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        cursor.execute(f"ALTER INDEX {unfinished} RENAME TO {name}")


def _drop_useless_indexes(table: EmbeddedTable, newest: EmbeddingModel) -> None:
    """Drop the indexes of earlier models without vectors, and those whose making was interrupted."""
    vectors = table.vectors._default_manager.filter(model=OuterRef("pk"))
    models = EmbeddingModel.objects.filter(Exists(vectors) | Q(pk=newest.pk))
    useful = {name for model in models for name in table.indexes_of(model.pk)}
    for name, candidates in _builds(table).items():
        if candidates is None or name.removesuffix(UNFINISHED) not in useful:
            with connection.cursor() as cursor:
                cursor.execute(f"DROP INDEX CONCURRENTLY {connection.ops.quote_name(name)}")


def _builds(table: EmbeddedTable) -> dict[str, int | None]:
    """Return the `ef_construction` of the table's indexes by name; None for an index that is not complete."""
    with connection.cursor() as cursor:
        cursor.execute(INDEXES_OF_TABLE, [table.vectors._meta.db_table, f"{table.index}%"])
        return dict(cursor.fetchall())
