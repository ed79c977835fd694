"""Searches of memory and of knowledge among many texts: time of PostgreSQL, and recall of the approximate index.

`BENCH_ENTRIES` is the number of memory entries, 25,000 unless it is set, and of passages, up to 200,000. With
`BENCH_DATA_DIR` the data stays in a directory and is made once. The time is the CPU time of the server's process, in
which other work on the machine hardly shows; the call of the model and the work of Python are not in it. Needs Linux.

Texts have up to 60 words of a vocabulary in which few words are frequent, and vectors between those of two sentences of
`tests/embedded_sentences`.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test import override_settings

from sessions_app.contrib.knowledge import search
from sessions_app.models import (
    EmbeddingModel,
    KnowledgeBase,
    KnowledgePassage,
    KnowledgeVector,
    MemoryEntry,
    MemoryVector,
    Session,
)
from sessions_app.process.threads import in_thread
from sessions_app.store.embedded_tables import EMBEDDED_TABLES, MEMORY
from sessions_app.store.memory_service import RANKED
from sessions_app.store.memory_vectors import Meaning, nearest_first, nearest_to, prepare_vectors
from sessions_app.store.word_search import best_by_words
from tests.benchmarks.servers import postgres_cpu_seconds
from tests.embedded_sentences import DIMENSIONS, ENTRIES, QUESTIONS, vector_of

APP = "bench"
SEARCHES = 60
WORDS = 8
VOCABULARY = 20_000
NOISE = 5.0
"""Standard deviation of what the numbers of a vector have beside its sentences; those of a sentence are up to 127."""
PEOPLE = {"usual": 0.0025, "few": 0.02, "many": 0.2} | {f"other{n}": 0.0025 for n in range(311)}
"""Shares of the memory entries; a search looks for those of one of the first three people."""
BASES = {"searched": 0.5, "other": 0.5}
"""Shares of the passages, which have the texts and vectors of the first entries."""
MAX_PASSAGES = 200_000
MIXES = 8_192
NOISES = 4_096
"""Vectors that are made number by number. Each text has the sum of a mix and of two noises, which the database adds."""
INSERT_ENTRIES = """
    INSERT INTO sessions_app_memoryentry
        (app_name, user_id, session_id, event_id, author, said_at, content, words, embedded_by)
    SELECT 'bench', %(user)s, %(session)s, n, 'user', now(), '{"parts": []}', (
        SELECT string_agg(DISTINCT 'word' || floor(%(vocabulary)s * power(random() + 0 * (n + m), 3))::int, ' ')
        FROM generate_series(1, 60) m
    ), %(model)s
    FROM generate_series(1, %(number)s) n
"""
INSERT_PASSAGES = """
    INSERT INTO sessions_app_knowledgepassage (version_id, position, heading, text, words, embedded_by)
    SELECT %(version)s, id, '', repeat('text ', 200), words, %(model)s
    FROM sessions_app_memoryentry WHERE id > %(after)s ORDER BY id LIMIT %(number)s
"""
MAKE_MIXES = """
    CREATE TEMPORARY TABLE mix AS SELECT n AS id, (
        SELECT array_agg(one * share + other * (1 - share)) FROM unnest(a.numbers, b.numbers) AS numbers (one, other)
    )::vector AS numbers
    FROM (SELECT n, random() AS share FROM generate_series(0, %s) n) share
        JOIN centre a ON a.id = (hashint4(n) & 31)
        JOIN centre b ON b.id = (hashint4(n + 1) & 31)
"""
MAKE_NOISES = """
    CREATE TEMPORARY TABLE noise AS SELECT n AS id, (
        SELECT array_agg(random_normal(0, %s / sqrt(2)) + 0 * (n + m)) FROM generate_series(1, %s) m
    )::vector AS numbers
    FROM generate_series(0, %s) n
"""
INSERT_VECTORS = """
    INSERT INTO sessions_app_memoryvector (entry_id, model_id, part, numbers)
    SELECT entry.id, %s, adk_part_of(user_id::text), (mix.numbers + a.numbers + b.numbers)::real[]
    FROM sessions_app_memoryentry entry
        JOIN mix ON mix.id = (hashint8(entry.id) & %s)
        JOIN noise a ON a.id = (hashint8extended(entry.id, 1) & %s)
        JOIN noise b ON b.id = (hashint8extended(entry.id, 2) & %s)
"""
COPY_VECTORS = """
    INSERT INTO sessions_app_knowledgevector (passage_id, model_id, numbers)
    SELECT passage.id, model_id, numbers
    FROM sessions_app_knowledgepassage passage JOIN sessions_app_memoryvector ON entry_id = position
"""
INDEXES_OF_WORDS = ("memory_entry_words", "knowledge_passage_words")


async def measure() -> list[str]:
    """Return lines for the making of the indexes, and for the searches of two people and of a base."""
    return await in_thread(_measure)


def _measure() -> list[str]:
    number = int(os.environ.get("BENCH_ENTRIES", "25000"))
    lines = []
    with override_settings(ADK={**settings.ADK, "embeddings": {"gemini-embedding-001": DIMENSIONS}}):
        prepare_vectors()
        model = EmbeddingModel.objects.get()
        if not MemoryEntry.objects.exists():
            lines = _fill(number, model)
        with connection.cursor() as cursor:
            # The CPU time of other processes would not be counted.
            cursor.execute("SET max_parallel_workers_per_gather = 0")
        for name in ("usual", "few", "many"):
            lines += _of_person(get_user_model()._default_manager.get(username=name), model)
        lines += _of_base(KnowledgeBase.objects.get(name="searched"), model)
    return lines


def _fill(number: int, model: EmbeddingModel) -> list[str]:
    """Store the texts with their vectors, then make the indexes as `migrate` does; return lines about both."""
    passages = min(number, MAX_PASSAGES)
    started = postgres_cpu_seconds()
    with connection.cursor() as cursor:
        # No checks of foreign keys, row by row.
        cursor.execute("SET session_replication_role = replica; SET work_mem = '64MB'")
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = ANY(%s)", [[*INDEXES_OF_WORDS]])
        indexes_of_words = [definition for (definition,) in cursor.fetchall()]
        indexes = [
            *INDEXES_OF_WORDS,
            *(name for table in EMBEDDED_TABLES for name in table.indexes_of(model.pk)),
        ]
        cursor.execute(f"DROP INDEX {', '.join(indexes)}")
        _insert_texts(cursor, number, passages, model)
        _insert_vectors(cursor, model)
        for definition in indexes_of_words:
            cursor.execute(definition)
        cursor.execute("VACUUM ANALYZE")
        texts_made = postgres_cpu_seconds()
        # Enough for the graph of the part with the person who has a fifth of a million vectors.
        cursor.execute("SET maintenance_work_mem = '512MB'")
        begin = time.perf_counter()
        prepare_vectors()
        seconds = time.perf_counter() - begin
        names = [*MEMORY.indexes_of(model.pk)]
        cursor.execute("SELECT sum(pg_relation_size(name)) FROM unnest(%s::text[]) name", [names])
        (size,) = cursor.fetchone() or (0,)
    return [
        f"{number:,} entries and {passages:,} passages made in {texts_made - started:.0f} s of CPU",
        f"HNSW indexes of {number + passages:,} vectors of {DIMENSIONS} numbers, made in {seconds:.0f} s, "
        f"{postgres_cpu_seconds() - texts_made:.0f} s of CPU, {size / number:,.0f} bytes a vector",
    ]


def _insert_texts(cursor: CursorWrapper, number: int, passages: int, model: EmbeddingModel) -> None:
    values: dict[str, Any] = {"model": model.pk, "vocabulary": VOCABULARY, "after": 0}
    for name, share in PEOPLE.items():
        person = get_user_model()._default_manager.create(username=name)
        session = Session.objects.create(app_name=APP, user=person)
        values |= {"number": round(share * number), "user": person.pk, "session": session.pk}
        cursor.execute(INSERT_ENTRIES, values)
    for name, share in BASES.items():
        document = KnowledgeBase.objects.create(name=name).documents.create(name="many.txt")
        version = document.versions.create(number=1, size=1, status="current")
        values |= {"number": round(share * passages), "version": version.pk}
        cursor.execute(INSERT_PASSAGES, values)
        values["after"] = KnowledgePassage.objects.latest("position").position


def _insert_vectors(cursor: CursorWrapper, model: EmbeddingModel) -> None:
    cursor.execute("CREATE TEMPORARY TABLE centre (id int, numbers real[])")
    centres = [(index, vector_of(text)) for index, text in enumerate(ENTRIES)]
    cursor.executemany("INSERT INTO centre VALUES (%s, %s)", centres)
    cursor.execute(MAKE_MIXES, [MIXES - 1])
    cursor.execute(MAKE_NOISES, [NOISE, DIMENSIONS, NOISES - 1])
    cursor.execute("ANALYZE mix, noise")
    cursor.execute(INSERT_VECTORS, [model.pk, MIXES - 1, NOISES - 1, NOISES - 1])
    cursor.execute(COPY_VECTORS)


def _of_person(person: Any, model: EmbeddingModel) -> list[str]:
    entries = MemoryEntry.objects.of(APP, person.pk)

    def by_words(words: Sequence[str], meaning: Meaning) -> None:
        best_by_words(entries, words, RANKED, "-said_at", "-id")

    def by_meaning(words: Sequence[str], meaning: Meaning) -> None:
        nearest_to(model, APP, person.pk, meaning.vector, RANKED)

    def by_both(words: Sequence[str], meaning: Meaning) -> None:
        by_words(words, meaning)
        by_meaning(words, meaning)

    vectors = MemoryVector.objects.filter(entry__app_name=APP, entry__user=person.pk)

    def recall(meaning: Meaning) -> float:
        exact = nearest_first(vectors, meaning, follows_index=False)
        found = nearest_to(model, APP, person.pk, meaning.vector, RANKED)
        return len({*found} & {*exact.values_list("entry_id", flat=True)[:RANKED]}) / RANKED

    title = f"memory, {entries.count():,} of {MemoryEntry.objects.count():,} entries"
    return _lines(title, model, {"words": by_words, "meaning": by_meaning, "both": by_both}, recall)


def _of_base(base: KnowledgeBase, model: EmbeddingModel) -> list[str]:
    def by_words(words: Sequence[str], meaning: Meaning) -> None:
        search.find_passages([base.pk], " ".join(words), None, 5)

    def by_meaning(words: Sequence[str], meaning: Meaning) -> None:
        search.find_passages([base.pk], "?", meaning, 5)

    def by_both(words: Sequence[str], meaning: Meaning) -> None:
        search.find_passages([base.pk], " ".join(words), meaning, 5)

    passages = KnowledgePassage.objects.current_in([base.pk])
    vectors = KnowledgeVector.objects.filter(passage__in=passages)

    def recall(meaning: Meaning) -> float:
        exact = nearest_first(vectors, meaning, follows_index=False)
        found = search.find_passages([base.pk], "?", meaning, RANKED)
        nearest = {*exact.values_list("passage_id", flat=True)[:RANKED]}
        return len({row.pk for row in found} & nearest) / RANKED

    title = f"knowledge, {passages.count():,} of {KnowledgePassage.objects.count():,} passages"
    return _lines(title, model, {"words": by_words, "meaning": by_meaning, "both": by_both}, recall)


def _lines(
    title: str,
    model: EmbeddingModel,
    kinds: dict[str, Callable[[Sequence[str], Meaning], None]],
    recall: Callable[[Meaning], float],
) -> list[str]:
    """Return a line with the times of each kind of search, and the recall of the first `RANKED`."""
    chance = random.Random(7)
    asked = []
    for number in range(SEARCHES):
        words = [f"word{int(VOCABULARY * chance.random() ** 3)}" for _ in range(WORDS)]
        near = vector_of(QUESTIONS[number % len(QUESTIONS)][0])
        asked.append((words, Meaning(model, [value + chance.gauss(0, NOISE) for value in near])))
    lines = [title]
    for name, run in kinds.items():
        times = [_server_ms(lambda: run(words, meaning)) for words, meaning in asked]  # noqa: B023
        percentiles = quantiles(times, n=20)
        lines.append(f"  by {name}: half up to {percentiles[9]:.0f} ms, 95 % up to {percentiles[18]:.0f} ms")
    recalls = [recall(meaning) for _, meaning in asked]
    lines.append(f"  recall of the nearest {RANKED}: {sum(recalls) / len(recalls):.3f}")
    return lines


def _server_ms(run: Callable[[], None]) -> float:
    """Return the CPU time of the server's process for this connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone() or (0,)
    clock = Path(f"/proc/{pid}/schedstat")
    begin = int(clock.read_text().split()[0])
    run()
    return (int(clock.read_text().split()[0]) - begin) / 1e6
