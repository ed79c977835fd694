"""Vectors of memory entries: the entries nearest in meaning to a query, and the index that finds them.

`prepare_vectors`, called by each `migrate`, makes what needs the rights of the owner of the tables: the extension, and
an index for the model that the settings name first. `store/embedding` makes the vectors. An index is made for one
model, whose vectors have one length.
"""

from __future__ import annotations

import asyncio
import logging
from importlib.util import find_spec
from typing import Any

from django.contrib.postgres.indexes import OpClass
from django.db import Error, connection, transaction
from django.db.models import FloatField, Q, Value
from django.db.models.functions import Cast
from pydantic import ValidationError

from runtime.models.rate_limit import embed
from runtime.models.registry import LLMRegistry
from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.models import EmbeddingModel, MemoryEntry, MemoryVector
from sessions_app.process.threads import in_thread
from sessions_app.secrets.masking import mask_text
from sessions_app.store.sql.usage import Used, add_used_by

logger = logging.getLogger(__name__)
MAX_CHARACTERS = 6_000
"""Beginning of a text that its vector tells of: the limits of models begin at two thousand words."""
QUERY_SECONDS = 2.0
"""Longest time for the vector of a query."""
MOST_COMPARED = 3_000
"""Entries of a user that a search compares one by one. With more, it follows the index of all users' entries."""
CANDIDATES = 1_000
"""Entries that a step in the index keeps in view, the most that pgvector allows: with 200, an eighth of the nearest was
lost among 40,000 entries, in half the time."""
MAX_SCANNED = 200_000
"""Entries, of all users, in the index that a search looks at."""


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
    if not conf().embeddings or find_spec("pgvector") is None:
        return []
    model = await in_thread(_serving_model)
    if model is None:
        return []
    try:
        async with asyncio.timeout(QUERY_SECONDS):
            made = await embed(LLMRegistry.new_llm(model.name), [text_to_embed(query)], model.dimensions)
        await add_used_by(user_pk, used_for(model, made.tokens))
        return await in_thread(nearest_to, model, app_name, user_pk, made.vectors[0], limit)
    except Exception as error:  # noqa: BLE001 - whatever fails, the words of the query find entries
        logger.warning("A search of memory finds words only: %r", error)
        return []


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
    from pgvector.django import CosineDistance

    entries = MemoryEntry.objects.of(app_name, user_pk)
    vectors = MemoryVector.objects.filter(model=model, entry__app_name=app_name, entry__user=user_pk)
    distance = CosineDistance(_as_vector(model), vector)
    with transaction.atomic(), connection.cursor() as cursor:
        if entries[: MOST_COMPARED + 1].count() > MOST_COMPARED:
            # The index goes on until it has found enough entries of this user.
            cursor.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            cursor.execute("SELECT set_config('hnsw.ef_search', %s, true)", [str(CANDIDATES)])
            cursor.execute("SELECT set_config('hnsw.max_scan_tuples', %s, true)", [str(MAX_SCANNED)])
            nearest = vectors.order_by(distance)
        else:
            # No index has this order. The index of all entries might end before it finds this user's.
            nearest = vectors.order_by(distance + Value(0.0, output_field=FloatField()))
        return list(nearest.values_list("entry_id", flat=True)[:limit])


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
    _drop_useless_indexes()
    _make_index(model)


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


def _make_index(model: EmbeddingModel) -> None:
    from pgvector.django import HnswIndex

    name = _index_name(model.pk)
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
        (exists,) = cursor.fetchone()
    if not exists:
        expression = OpClass(_as_vector(model), name="halfvec_cosine_ops")
        index = HnswIndex(expression, name=name, condition=Q(model=model.pk))
        with connection.schema_editor(atomic=False) as editor:
            editor.add_index(MemoryVector, index, concurrently=True)  # type: ignore[call-arg]


def _drop_useless_indexes() -> None:
    """Drop the indexes of models without vectors, and those whose making was interrupted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE i.indrelid = %s::regclass AND c.relname LIKE %s",
            [MemoryVector._meta.db_table, _index_name("%")],
        )
        for name, is_valid in cursor.fetchall():
            model_pk = int(name.removeprefix(_index_name("")))
            if not is_valid or not MemoryVector.objects.filter(model=model_pk).exists():
                cursor.execute(f"DROP INDEX CONCURRENTLY {connection.ops.quote_name(name)}")


def _index_name(model_pk: int | str) -> str:
    return f"memory_meaning_{model_pk}"
